import { describe, expect, it } from 'vitest';

import { readArguments } from '../../infra/command-line.ts';
import { believableDay, CAMERAS } from '../../infra/local/demo/day.ts';
import { demoCommand } from '../../infra/local/demo/options.ts';

const DATE = '2026-03-14';
const day = believableDay(DATE, Number.POSITIVE_INFINITY);

describe('a believable day', () => {
  it('is the same each time, and another one on another date', () => {
    expect(believableDay(DATE, Number.POSITIVE_INFINITY)).toEqual(day);
    expect(believableDay('2026-03-15', Number.POSITIVE_INFINITY)).not.toHaveLength(day.length);
  });

  it('has each message once, in the order of their time', () => {
    const times = day.map(({ time }) => time);

    expect(new Set(day.map(({ id }) => id)).size).toBe(day.length);
    expect(times).toEqual([...times].sort());
  });

  it('has a frame a minute from twenty cameras, the dark hours apart', () => {
    const frames = day.filter(({ id }) => id.endsWith('-processed'));

    expect(new Set(frames.map(({ data }) => data.camera_id))).toEqual(new Set(CAMERAS));
    expect(CAMERAS).toHaveLength(20);
    expect(frames.length).toBeGreaterThan(20 * 1440 * 0.95);
    expect(frames.length).toBeLessThanOrEqual(20 * 1440);
    expect(frames.every(({ data }) => data.ts_utc.startsWith(DATE))).toBe(true);
  });

  it('has detections, reviews, and edits that take annotations away and add some', () => {
    const edits = day.filter(({ id }) => id.endsWith('-edited'));
    const flagged = day.filter(({ data }) => Object.keys(data.detections ?? {}).length > 0);

    expect(flagged.length).toBeGreaterThan(50);
    expect(flagged.length).toBeLessThan(day.length / 10);
    expect(edits.some(({ data }) => Object.keys(data.annotations ?? {}).length === 0)).toBe(true);
    expect(edits.some(({ data }) => (data.annotations?.['fire'] ?? 0) > 0)).toBe(true);
  });

  it('ends where it is told to: nothing is sent that has not happened yet', () => {
    const noon = Date.parse(`${DATE}T12:00:00Z`);
    const morning = believableDay(DATE, noon);

    expect(morning).toEqual(day.filter(({ time }) => Date.parse(time) < noon));
    expect(morning.length).toBeGreaterThan(0);
  });
});

const optionsOf = (args: readonly string[]) => readArguments(demoCommand(Date.parse('2026-11-21T00:00:01Z')), args);

describe('the options of the demo', () => {
  it('are yesterday and the address of npm start by default', () => {
    expect(optionsOf([])).toEqual({ url: new URL('http://localhost:7071'), date: '2026-11-20' });
    expect(optionsOf(['--url', 'http://127.0.0.1:8000', '--date', '2026-11-21'])).toEqual({
      url: new URL('http://127.0.0.1:8000'),
      date: '2026-11-21',
    });
  });

  it.each([
    [['--date', '2026-02-30'], '2026-02-30 is not a date.'],
    [['--date', 'today'], 'today is not a date.'],
    [['--date', '2026-11-22'], '2026-11-22 is outside 2000-01-01 to today.'],
    [['--date', '1999-12-31'], '1999-12-31 is outside 2000-01-01 to today.'],
    [['--url', 'localhost'], 'localhost is not a URL.'],
    [['--cameras', '3'], "Unknown option '--cameras'"],
  ])('%j is refused', (args, message) => {
    expect(() => optionsOf(args)).toThrow(message);
  });
});
