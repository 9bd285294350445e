import { expect, it } from 'vitest';
import { callsLeft, counted, type DayCalls, endOfDay } from '../../../src/calls/rules/policy.ts';

const NOON = Date.parse('2026-11-21T12:00:00Z');
const MIDNIGHT = Date.parse('2026-11-22T00:00:00Z');
const used = (calls: number): DayCalls => ({ day: '2026-11-21', calls });
/** How many are left: for urgent alerts, and for others. */
const left = (calls: number, perDay = 1_000, now = NOON) =>
  [true, false].map((isUrgent) => callsLeft(used(calls), perDay, isUrgent, now));

it('a fifth of the calls of a day is kept for urgent ones', () => {
  expect([left(0), left(799), left(800), left(1_001)]).toEqual([
    [1_000, 800],
    [201, 1],
    [200, 0],
    [0, 0],
  ]);
  // Of a few calls, the fifth is rounded down.
  expect(left(0, 4)).toEqual([4, 4]);
  expect(callsLeft(undefined, 1_000, true, NOON)).toBe(1_000);
});

it('a day is one of UTC, ends at the next midnight, and begins with no calls', () => {
  expect([endOfDay(NOON), endOfDay(MIDNIGHT - 1), endOfDay(MIDNIGHT)]).toEqual([
    MIDNIGHT,
    MIDNIGHT,
    MIDNIGHT + 24 * 3_600_000,
  ]);
  expect([left(9, 10, MIDNIGHT - 1), left(9, 10, MIDNIGHT)]).toEqual([
    [1, 0],
    [10, 8],
  ]);
});

it('each claim is a call, also a redial; a refused one is none', () => {
  expect(counted(undefined, 1, NOON)).toEqual(used(1));
  expect(counted(used(3), 1, NOON)).toEqual(used(4));
  expect(counted(used(3), -1, NOON)).toEqual(used(2));
  expect(counted(used(3), 1, MIDNIGHT)).toEqual({ day: '2026-11-22', calls: 1 });
  // Claimed before midnight, refused after it.
  expect(counted(used(3), -1, MIDNIGHT)).toEqual({ day: '2026-11-22', calls: 0 });
});
