import { expect, it } from 'vitest';

import { readArguments } from '../../infra/cli/command-line.ts';
import { believableDay } from '../../infra/cli/demo/day.ts';
import { demoCommand, freshNumbers } from '../../infra/cli/demo/steps.ts';

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

const optionsOf = (...args: readonly string[]) => readArguments(demoCommand(Date.parse('2026-11-21T00:00:01Z')), args);

it('the options of the demo are yesterday and the address of npm start by default', () => {
  expect(optionsOf()).toEqual({ url: new URL('http://localhost:7071'), date: '2026-11-20' });
  expect(optionsOf('--date', '2026-11-21')).toMatchObject({ date: '2026-11-21' });
  expect(() => optionsOf('--date', '2026-02-30')).toThrow('2026-02-30 is not a day that exists');
  expect(() => optionsOf('--date', '2026-11-22')).toThrow('2026-11-22 is outside 2000-01-01 to today.');
  expect(() => optionsOf('--url', 'localhost')).toThrow('localhost is not a URL.');
});

it('every demo calls numbers of another area code, which belong to nobody', () => {
  const seconds = Array.from({ length: 784 }, (_, second) => freshNumbers(1_764_000_000_000 + second * 1_000));
  expect(new Set(seconds).size).toBe(784);
  for (const numbers of seconds) expect(numbers).toMatch(/^\+1[2-9]\d\d55501$/);
});
