import { expect, it } from 'vitest';

import { readArguments } from '../../infra/command-line.ts';
import { scenarioOf } from '../../infra/local/acs-simulator/scenarios.ts';
import { freshCallees } from '../../infra/local/demo/callees.ts';
import { believableDay, CAMERAS } from '../../infra/local/demo/day.ts';
import { demoCommand } from '../../infra/local/demo/demo.ts';

it('a believable day is the same each time, has each message once, in the order of their time, and ends where it is told to', () => {
  const date = '2026-03-14';
  const day = believableDay(date, Infinity);
  const times = day.map(({ time }) => time);
  expect(new Set(day.map(({ id }) => id)).size).toBe(day.length);
  expect(times).toEqual([...times].sort());
  expect(believableDay('2026-03-15', Infinity)).not.toHaveLength(day.length);
  // Nothing is sent that has not happened yet.
  const noon = Date.parse(`${date}T12:00:00Z`);
  const sent = day.filter(({ time }) => Date.parse(time) < noon);
  expect(JSON.stringify(believableDay(date, noon))).toBe(JSON.stringify(sent));
});

it('a believable day has a frame a minute from twenty cameras, detections, reviews, and edits of both kinds', () => {
  const day = believableDay('2026-03-14', Infinity);
  const frames = day.filter(({ id }) => id.endsWith('-processed'));
  expect(new Set(frames.map(({ data }) => data.camera_id))).toEqual(new Set(CAMERAS));
  expect(frames.length).toBeGreaterThan(20 * 1440 * 0.95);
  expect(frames.length).toBeLessThanOrEqual(20 * 1440);
  expect(frames.every(({ data }) => data.ts_utc.startsWith('2026-03-14'))).toBe(true);
  const flagged = frames.filter(({ data }) => Object.keys(data.detections ?? {}).length > 0);
  expect(flagged.length).toBeGreaterThan(50);
  expect(flagged.length).toBeLessThan(day.length / 10);
  const edits = day.filter(({ id }) => id.endsWith('-edited')).map(({ data }) => data.annotations ?? {});
  expect(edits.some((annotations) => Object.keys(annotations).length === 0)).toBe(true);
  expect(edits.some((annotations) => (annotations['fire'] ?? 0) > 0)).toBe(true);
});

const optionsOf = (...args: readonly string[]) => readArguments(demoCommand(Date.parse('2026-11-21T00:00:01Z')), args);

it('the options of the demo are yesterday and the address of npm start by default', () => {
  expect(optionsOf()).toEqual({ url: new URL('http://localhost:7071'), date: '2026-11-20' });
  expect(optionsOf('--date', '2026-11-21')).toMatchObject({ date: '2026-11-21' });
  expect(() => optionsOf('--date', '2026-02-30')).toThrow('2026-02-30 is not a day that exists');
  expect(() => optionsOf('--date', '2026-11-22')).toThrow('2026-11-22 is outside 2000-01-01 to today.');
  expect(() => optionsOf('--url', 'localhost')).toThrow('localhost is not a URL.');
});

it('every demo calls other numbers on one simulator, nobody’s, and the same happens to them; it says when there are no more', () => {
  const scenarios = ['answered', 'no answer', 'presses a key in the middle of the message', 'answered'];
  const called = new Set<string>();
  for (let demo = 1; demo <= 50; demo += 1) {
    const { tested, alerted } = freshCallees(called);
    const callees = [tested, ...alerted];
    expect(callees.filter((number) => called.has(number))).toEqual([]);
    expect(callees.map((number) => scenarioOf(number).name)).toEqual(scenarios);
    expect(callees.every((number) => /^\+1[2-9]\d\d55501\d\d$/.test(number))).toBe(true);
    // One of them is enough to leave all four out.
    called.add(callees[demo % 4] ?? '');
  }
  const all = new Set(Array.from({ length: 800 }, (_, index) => `+1${String(206 + index)}5550100`));
  expect(() => freshCallees(all)).toThrow('Start the service again');
});
