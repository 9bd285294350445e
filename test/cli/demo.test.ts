import { expect, it } from 'vitest';

import { believableDay } from '../../infra/cli/demo/day.ts';
import { freshNumbers } from '../../infra/cli/demo/steps.ts';

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
