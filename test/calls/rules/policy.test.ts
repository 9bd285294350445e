import { expect, it } from 'vitest';

import { callsLeft, counted, type DayCalls, endOfDay, whyNotCallable } from '../../../src/calls/rules/policy.ts';
import { HOUR, phoneNumber } from '../new-case.ts';

it.each<[number: string, prefixes: readonly string[] | undefined, why: string | undefined]>([
  ['+12065550100', undefined, undefined],
  ['+12065550100', ['+64', '+1'], undefined],
  ['+12065550100', ['+64', '+1212'], 'not_allowed'],
  ['+12065550100', ['+12065550100'], undefined],
  ['+120655501', undefined, 'impossible_number'],
  ['+1206555010000', ['+44'], 'impossible_number'],
  ['+4402071234567', undefined, 'impossible_number'],
  // A country that is not known may exist.
  ['+99912345', undefined, undefined],
])('%s may be called where %j are allowed; if not: %s', (text, prefixes, why) => {
  expect(whyNotCallable(phoneNumber(text), prefixes)).toBe(why);
});

const NOON = Date.parse('2026-11-21T12:00:00Z');
const MIDNIGHT = NOON + 12 * HOUR;
const used = (calls: number, day = '2026-11-21'): DayCalls => ({ day, calls });

it.each<[used: DayCalls | undefined, perDay: number, now: number, urgent: number, others: number]>([
  [undefined, 1_000, NOON, 1_000, 800],
  [used(799), 1_000, NOON, 201, 1],
  [used(800), 1_000, NOON, 200, 0],
  [used(1_001), 1_000, NOON, 0, 0],
  // Of a few calls, the fifth is rounded down.
  [used(0), 4, NOON, 4, 4],
  [used(9), 10, MIDNIGHT - 1, 1, 0],
  [used(9), 10, MIDNIGHT, 10, 8],
])(
  'after %j of %i calls at %i, %i are left for urgent alerts, and %i for others',
  (day, perDay, now, urgent, others) => {
    expect([true, false].map((isUrgent) => callsLeft(day, perDay, isUrgent, now))).toEqual([urgent, others]);
  },
);

it('a day is one of UTC, and ends at the next midnight', () => {
  expect([NOON, MIDNIGHT - 1, MIDNIGHT].map(endOfDay)).toEqual([MIDNIGHT, MIDNIGHT, MIDNIGHT + 24 * HOUR]);
});

it.each<[before: DayCalls | undefined, calls: 1 | -1, now: number, after: DayCalls]>([
  [undefined, 1, NOON, used(1)],
  [used(3), 1, NOON, used(4)],
  [used(3), -1, NOON, used(2)],
  [used(3), 1, MIDNIGHT, used(1, '2026-11-22')],
  // Claimed before midnight, refused after it.
  [used(3), -1, MIDNIGHT, used(0, '2026-11-22')],
])('each claim is a call, also a redial; a refused one is none: %j and %i', (before, calls, now, after) => {
  expect(counted(before, calls, now)).toEqual(after);
});
