import { expect, it } from 'vitest';

import { afterAcceptedCall, afterCheck, checkDueAt } from '../../../src/calls/rules/provider-check.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');

it('the provider is checked every hour, and every minute while it refuses', () => {
  expect(checkDueAt(undefined)).toBe(0);
  expect(checkDueAt(afterCheck(undefined, undefined, NOW))).toBe(NOW + 3_600_000);
  expect(checkDueAt(afterCheck(undefined, 'no permission', NOW))).toBe(NOW + 60_000);
});

it('the start of its refusals is kept, until a check succeeds or a call is accepted', () => {
  const first = afterCheck({ at: NOW - 9 }, 'no permission', NOW);
  const second = afterCheck(first, 'no such number', NOW + 60_000);
  expect(second).toEqual({ at: NOW + 60_000, reason: 'no such number', since: NOW });
  expect(afterCheck(second, undefined, NOW + 120_000)).toEqual({ at: NOW + 120_000 });
  expect(afterAcceptedCall(second, NOW + 61_000)).toEqual({ at: NOW + 61_000 });
});

it('an accepted call is no news for a provider that refuses nothing', () => {
  const good = { at: NOW };
  expect(afterAcceptedCall(good, NOW + 1)).toBe(good);
  expect(afterAcceptedCall(undefined, NOW)).toBeUndefined();
});
