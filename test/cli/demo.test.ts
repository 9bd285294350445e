import { expect, it } from 'vitest';

import { callStory } from '../../infra/cli/demo/call-story.ts';
import { believableDay } from '../../infra/cli/demo/day.ts';
import { freshNumbers } from '../../infra/cli/demo/steps.ts';
import { ScriptedService } from './scripted-service.ts';

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

it('every demo calls numbers of another area code, which belong to nobody', () => {
  const seconds = Array.from({ length: 784 }, (_, second) => freshNumbers(1_764_000_000_000 + second * 1_000));
  expect(new Set(seconds).size).toBe(784);
  for (const numbers of seconds) expect(numbers).toMatch(/^\+1[2-9]\d\d55501$/);
});

it.each(['CallDisconnected', 'completed'])('the demo tells the story of a call that ends with %s', async (text) => {
  const to = '+12065550100';
  const end = { at: '2026-11-21T08:00:01.500Z', kind: 'event', text };
  const calls = [[], [end], [{ ...end, answer: '200' }]].map((story) => ({ to, state: 'ended', story }));
  const simulator = await ScriptedService.start(({ number }) => ({
    status: 200,
    body: JSON.stringify({ calls: calls.slice(number - 1, number) }),
  }));
  expect(await callStory(simulator.url, to)).toEqual([`08:00:01.500  phone reports  ${text} → 200`]);
  expect(simulator.requests).toBe(3);
});
