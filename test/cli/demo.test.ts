import { expect, it } from 'vitest';

import { callSteps } from '../../infra/cli/demo/call-steps.ts';
import { believableDay } from '../../infra/cli/demo/day.ts';
import { freshNumbers } from '../../infra/cli/demo/steps.ts';
import { ScriptedService } from './scripted-service.ts';

it('the demo sends the same day each time, the one of the README, in the order of its time, until now', () => {
  const day = believableDay('2026-11-20', Infinity);
  expect(new Set(day.map(({ data }) => data.event_id)).size).toBe(28_481);
  expect(day.filter(({ data }) => data.reviewed)).toHaveLength(401);
  const annotated = new Map(day.map(({ data }) => [data.event_id, Object.keys(data.annotations ?? {}).length > 0]));
  expect([...annotated.values()].filter((is) => is)).toHaveLength(279);
  expect(day).toEqual(day.toSorted((one, other) => Date.parse(one.time) - Date.parse(other.time)));
  const noon = Date.parse('2026-11-20T12:00:00Z');
  expect(believableDay('2026-11-20', noon)).toEqual(day.filter(({ time }) => Date.parse(time) < noon));
});

it('every demo calls numbers of another area code, which belong to nobody', () => {
  const numbers = new Set(Array.from({ length: 784 }, (_, second) => freshNumbers(1_764_000_000_000 + second * 1_000)));
  expect(numbers.size).toBe(784);
  for (const number of numbers) expect(number).toMatch(/^\+1[2-9]\d\d55501$/);
});

it('the demo prints the steps of a call of Twilio when the answers to all its events are there', async () => {
  const to = '+12065550100';
  const end = { at: '2026-11-21T08:00:01.500Z', kind: 'event', text: 'completed' };
  const histories = [[], [end], [{ ...end, answer: '200' }]];
  const simulator = await ScriptedService.start(({ number }) => ({
    status: 200,
    body: JSON.stringify({ calls: [{ to, state: 'ended', steps: histories[number - 1] }] }),
  }));
  expect(await callSteps(simulator.url, to)).toEqual(['08:00:01.500  phone reports  completed → 200']);
});
