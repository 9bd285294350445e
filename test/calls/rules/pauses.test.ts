import { expect, it } from 'vitest';

import { afterAccepted, afterClaim, afterFault, afterRefusal, type Pauses } from '../../../src/calls/rules/pauses.ts';
import { START as NOW } from '../new-case.ts';

it.each([
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [4, 8_000],
  [5, 15_000],
  [9, 15_000],
])('after %d refusals in a row nobody is dialed for %d ms', (count, ms) => {
  const refused = Array.from({ length: count }).reduce<Pauses>((state) => afterRefusal(state, 'a', 0, NOW), {});
  expect(refused).toEqual({ refusals: count, pauseUntil: NOW + ms, refusedLast: 'a' });
});

it.each([
  [500, 1_000],
  [30_000, 30_000],
  [60_000, 60_000],
  [3_600_000, 60_000],
])('if the provider asks for a pause of %d ms, it is %d ms', (askedMs, ms) => {
  expect(afterRefusal<Pauses>({}, 'a', askedMs, NOW).pauseUntil).toBe(NOW + ms);
});

it('an accepted call ends the pause, and the next refusal is the first again', () => {
  const refused = afterRefusal(afterRefusal({}, 'a', 0, NOW), 'b', 0, NOW);
  expect(afterRefusal(afterAccepted(refused), 'c', 0, NOW)).toMatchObject({ refusals: 1, pauseUntil: NOW + 1_000 });
  const calm: Pauses = { nextStartAt: NOW };
  expect(afterAccepted(calm)).toBe(calm);
});

it('a fault of our set-up pauses dialing for 30 s, and is told at once and every ten minutes', () => {
  const first = afterFault<Pauses>({}, 'no permission', NOW);
  expect(first.fault).toEqual({ until: NOW + 30_000, alertedAt: NOW, reason: 'no permission' });
  expect(afterFault(first, 'x', NOW + 599_999).fault).toMatchObject({ until: NOW + 629_999, alertedAt: NOW });
  expect(afterFault(first, 'x', NOW + 600_000).fault?.alertedAt).toBe(NOW + 600_000);
});

it.each<[perSecond: number | undefined, before: number | undefined, next: number | undefined]>([
  [undefined, undefined, undefined],
  [2, undefined, 500],
  [2, 300, 800],
  [2, -5_000, 500],
])('with %s calls a second and a start at %s, the next call starts after %s ms', (perSecond, before, next) => {
  const state: Pauses = { refusedLast: 'a', nextStartAt: before === undefined ? undefined : NOW + before };
  const expected = next === undefined ? undefined : NOW + next;
  expect(afterClaim(state, perSecond, NOW)).toEqual({ refusedLast: undefined, nextStartAt: expected });
});
