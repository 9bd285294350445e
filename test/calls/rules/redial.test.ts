import { expect, it } from 'vitest';
import type { Outcome } from '../../../src/calls/model/outcomes.ts';
import { afterAttempts, type PastAttempt, type RedialTerms } from '../../../src/calls/rules/redial.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');
const RANG_6_S = { acceptedAt: NOW - 6_000, endedAt: NOW };
const TERMS: RedialTerms = { attempts: 3, retryMs: 60_000, confirm: false, deadlineAt: NOW + 1_800_000 };

const past = (outcome: Outcome, more: Partial<PastAttempt> = {}): PastAttempt => ({ outcome, ...RANG_6_S, ...more });
const SOONER = past('declined', { acceptedAt: NOW - 5_999 });
const said = (attempts: readonly PastAttempt[], terms: Partial<RedialTerms> = {}): string => {
  const follows = afterAttempts(attempts, { ...TERMS, ...terms });
  return follows.kind === 'final' ? follows.state : `again after ${follows.at - NOW}`;
};

it.each<[what: string, readonly PastAttempt[], terms: Partial<RedialTerms>, follows: string]>([
  ['heard', [past('heard')], {}, 'heard'],
  ['heard in an earlier call', [past('heard'), past('busy')], {}, 'heard'],
  ['the first unit heard', [past('cut_short', { hasHeardUnit: true })], {}, 'heard'],
  ['less than a unit heard', [past('cut_short', { hasHeardUnit: false })], {}, 'again after 60000'],
  ['heard and not confirmed', [past('heard')], { confirm: true }, 'again after 60000'],
  ['confirmed', [past('confirmed')], { confirm: true }, 'confirmed'],
  ['cannot go', [past('cannot_go')], { confirm: true }, 'cannot_go'],
  ['confirmed in an earlier call', [past('confirmed'), past('cannot_go')], { confirm: true }, 'confirmed'],
  ['refused', [past('refused')], {}, 'failed'],
  ['refused once', [past('refused'), past('busy')], {}, 'again after 60000'],
  ['two attempts', [past('busy'), past('unknown')], {}, 'again after 60000'],
  ['three attempts', [past('busy'), past('unknown'), past('stopped')], {}, 'not_reached'],
  ['three, one of them declined at once', [past('busy'), SOONER, past('busy')], {}, 'not_reached'],
  ['declined once', [past('declined')], {}, 'again after 60000'],
  ['declined twice after 6 s', [past('declined'), past('declined')], {}, 'not_reached'],
  ['declined twice, once sooner', [past('declined'), SOONER], {}, 'again after 60000'],
  ['the last moment before the deadline', [past('busy')], { deadlineAt: NOW + 60_001 }, 'again after 60000'],
  ['the deadline', [past('busy')], { deadlineAt: NOW + 60_000 }, 'not_reached'],
])('after %s', (_, attempts, terms, follows) => {
  expect(said(attempts, terms)).toBe(follows);
});
