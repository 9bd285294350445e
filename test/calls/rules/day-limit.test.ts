import { expect, it } from 'vitest';

import { callsLeft, dayOf, endOfDay } from '../../../src/calls/rules/day-limit.ts';

const NOON = Date.parse('2026-11-21T12:00:00Z');

it('a fifth of the calls of a day is kept for urgent ones', () => {
  expect([callsLeft(0, 1_000, true), callsLeft(0, 1_000, false)]).toEqual([1_000, 800]);
  expect([callsLeft(800, 1_000, true), callsLeft(800, 1_000, false)]).toEqual([200, 0]);
  expect([callsLeft(1_001, 1_000, true), callsLeft(801, 1_000, false)]).toEqual([0, 0]);
});

it('a day is one of UTC, and ends at the next midnight', () => {
  expect(dayOf(NOON)).toBe('2026-11-21');
  const midnight = Date.parse('2026-11-22T00:00:00Z');
  expect([endOfDay(NOON), endOfDay(midnight - 1), endOfDay(midnight)]).toEqual([
    midnight,
    midnight,
    midnight + 24 * 3_600_000,
  ]);
});
