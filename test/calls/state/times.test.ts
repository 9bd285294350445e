import { describe, expect, it } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { parseCallId } from '../../../src/calls/model/ids.ts';
import type { PhoneRules } from '../../../src/calls/rules/policy.ts';
import { speakingTimes } from '../../../src/calls/rules/message.ts';
import { type Attempt, type AttemptEvent, type CallTerms, lookAtOf } from '../../../src/calls/state/attempt.ts';
import { LONGEST_ATTENTION_MS, needsAttention } from '../../../src/calls/state/attention.ts';
import { foreignRef, isForeign, newForeignCall } from '../../../src/calls/state/foreign-call.ts';
import { moveAttempt } from '../../../src/calls/state/move-attempt.ts';
import {
  abandoned,
  lookedAt,
  type NotificationCase,
  stoppedNotification,
} from '../../../src/calls/state/notification.ts';
import { isFinal } from '../../../src/calls/state/recipient.ts';
import { step, termsOf } from '../../../src/calls/state/step.ts';
import { newCase, numbers } from '../new-case.ts';

// How long is waited for what, and how many are done at a time: each number where it takes effect.

const SECOND = 1_000;
const HOUR = 3_600_000;
const START = Date.parse('2026-11-21T08:00:00Z');
const LINE = { name: 'acs', isIdempotent: true, refusesSurely: false };
const TERMS: CallTerms = {
  line: LINE,
  confirm: false,
  isStopped: false,
  deadlineAt: START + HOUR,
  ringMs: 60 * SECOND,
  unitMs: 7 * SECOND,
  messageMs: 40 * SECOND,
};
const callId = parseCallId('call-1');
if (callId === undefined) throw new Error('malformed');
const CLAIMED: Attempt = { id: 'a', state: 'claimed', claimedAt: START };
const PLACED: Attempt = { ...CLAIMED, callId, state: 'placed', placedAt: START };
const SPEAKING: Attempt = { ...PLACED, state: 'speaking', answeredAt: START, speakingAt: START };
const HANGING_UP: Attempt = { ...SPEAKING, state: 'hanging_up', hangingUpAt: START, hangingUpSince: START };

const after = (attempt: Attempt, event: AttemptEvent, ms: number) => moveAttempt(attempt, event, TERMS, START + ms);
const looked = (attempt: Attempt, ms: number) => after(attempt, { kind: 'look' }, ms);

it.each<[what: string, seconds: number, Attempt]>([
  ['a call request', 25, CLAIMED],
  ['a call request that was sent again', 55, { ...CLAIMED, resentAt: START + 30 * SECOND }],
  ['somebody to answer, as long as the rules say', 60, PLACED],
  ['the reason of an end', 5, { ...PLACED, disconnectedAt: START }],
  ['a request to speak', 20, SPEAKING],
  ['the start of a message, after an unclear answer', 4.5, { ...SPEAKING, unclearAt: START }],
  ['the end of a message, as long as it takes at most', 40, { ...SPEAKING, acceptedAt: START }],
  ['whoever waits for keys, and a second more', 9, { ...SPEAKING, acceptedAt: START, quietSince: START }],
  ['the end of any call', 250, { ...SPEAKING, acceptedAt: START + 240 * SECOND }],
  ['a hang-up', 20, HANGING_UP],
])('%s is waited for so long: %s s', (_, seconds, attempt) => {
  expect(((lookAtOf(attempt, TERMS) ?? 0) - START) / SECOND).toBe(seconds);
});

describe('a call request without an answer', () => {
  it('is looked at ten seconds later', () => {
    const { next } = after(CLAIMED, { kind: 'not placed', why: 'unclear', result: {} }, 4 * SECOND);
    expect(next.lookAt).toBe(START + 14 * SECOND);
  });

  it('is sent again twice, and not later than a phone may ring after the first time', () => {
    const sent = (resent: number): Attempt => ({ ...CLAIMED, resent, resentAt: START });
    expect([0, 1, 2].map((times) => looked(sent(times), 30 * SECOND).command)).toEqual(['dial', 'dial', undefined]);
    expect(looked(CLAIMED, 115 * SECOND - 1).command).toBe('dial');
    expect(looked(CLAIMED, 115 * SECOND).command).toBeUndefined();
  });

  it('is not counted as sent again by a line that throttles: it has not looked at it', () => {
    const sent: Attempt = { ...CLAIMED, resent: 2, resentAt: START };
    const { next } = after(sent, { kind: 'not placed', why: 'no_line', result: {} }, SECOND);
    expect(next).toMatchObject({ state: 'claimed', resent: 1 });
  });

  it('may still ring or be answered for 145 s after it was sent last: then nothing was heard', () => {
    const sent: Attempt = { ...CLAIMED, resent: 2, resentAt: START };
    expect(looked(sent, 30 * SECOND).next).toMatchObject({ state: 'claimed', lookAt: START + 145 * SECOND });
    const waiting = { ...sent, lookAt: START + 145 * SECOND };
    expect(looked(waiting, 145 * SECOND - 1).next.state).toBe('claimed');
    expect(looked(waiting, 145 * SECOND).next).toMatchObject({ state: 'over', outcome: 'unknown' });
  });
});

it('a line that cannot be hung up is asked again for ten minutes', () => {
  const again = { ...HANGING_UP, hangingUpAt: START + 570 * SECOND };
  expect(looked(again, 600 * SECOND - 1).command).toBe('hang up');
  expect(looked(again, 600 * SECOND)).toMatchObject({ next: { state: 'over' } });
  expect(looked(again, 600 * SECOND).command).toBeUndefined();
});

const RULES: PhoneRules = {
  attempts: 3,
  retryMs: 60 * SECOND,
  deadlineMs: 2 * HOUR,
  ringMs: 60 * SECOND,
  allowedPrefixes: undefined,
  callsPerDay: 1_000,
  retentionMs: 24 * HOUR,
};

const fire = (people: number): NotificationCase =>
  newCase(START, { alertType: alertTypeOf('ConfirmedFire'), waves: [numbers(people)] });

/** Everybody's phone rings. */
const ringing = (people: number): NotificationCase => {
  const { notification, recipients } = fire(people);
  const calling = { state: 'calling', isGrouped: undefined, dueAt: START + 60 * SECOND, attempts: [PLACED] } as const;
  return { notification, recipients: recipients.map((one) => Object.assign({}, one, calling)) };
};

it('a unit was surely spoken two seconds after it should be: the clocks of two instances differ', () => {
  const policy = { rules: RULES, serviceName: 'Ridge Watch', line: LINE };
  const { unitMs } = speakingTimes('Ridge Watch', alertTypeOf('ConfirmedFire'));
  expect(termsOf(fire(1), policy).unitMs).toBe(unitMs + 2 * SECOND);
});

it.each<[what: string, Attempt]>([
  ['rings', PLACED],
  ['was perhaps not hung up', { ...PLACED, state: 'hanging_up', hangingUpAt: START, hangingUpSince: START }],
  ['was perhaps not spoken to', { ...SPEAKING, unclearAt: START }],
])('who %s when the table is back may be listening: as long as a message takes nobody hangs up', (_, attempt) => {
  const policy = { rules: RULES, serviceName: 'Ridge Watch', line: LINE };
  const { messageMs } = termsOf(fire(1), policy);
  const troubleAt = START + 50 * SECOND;
  const { notification, recipients } = ringing(1);
  const known = { notification, recipients: recipients.map((one) => Object.assign({}, one, { attempts: [attempt] })) };
  const look = (now: number) => step(known, { index: 0 }, { kind: 'look' }, { policy, troubleAt }, now);
  expect(look(troubleAt + messageMs - 1)).toEqual({ case: known, commands: [] });
  expect(look(troubleAt + messageMs).commands).toMatchObject([{ command: 'hang up' }]);
});

it('a phone must have rung for six seconds within two minutes, for a fire only', () => {
  expect(fire(1).notification.ringsBy).toBe(START + 120 * SECOND);
  expect(newCase(START).notification.ringsBy).toBeUndefined();
  const now = START + 120 * SECOND;
  const since = (ms: number): NotificationCase => {
    const { notification, recipients } = ringing(1);
    const attempts = [{ ...PLACED, placedAt: now - ms }];
    return lookedAt({ notification, recipients: recipients.map((one) => Object.assign({}, one, { attempts })) }, now);
  };
  expect(since(6 * SECOND - 1).notification.silentAt).toBe(now);
  expect(since(6 * SECOND).notification.silentAt).toBeUndefined();
});

it('who rings when it is stopped is hung up by another instance two seconds later, fifteen at a time', () => {
  const stopped = stoppedNotification(ringing(40), START);
  expect(stopped.notification.hungUpBy).toBe(START + 2 * SECOND);
  const now = START + 2 * SECOND;
  const takenOver = ({ recipients }: NotificationCase): number =>
    recipients.filter(({ attempts }) => attempts.some(({ hangingUpAt }) => hangingUpAt === now)).length;
  const first = lookedAt(stopped, now);
  expect([takenOver(first), first.notification.hungUpBy]).toEqual([15, now]);
  const second = lookedAt(first, now);
  expect([takenOver(second), second.notification.hungUpBy]).toEqual([30, now]);
  const third = lookedAt(second, now);
  expect([takenOver(third), third.notification.hungUpBy]).toEqual([40, undefined]);
});

const endedIn = ({ recipients }: NotificationCase): number => recipients.filter(isFinal).length;

it('a phone that is switched off ends thirty calls at a time', () => {
  const first = abandoned(ringing(40), START);
  expect(endedIn(first)).toBe(30);
  expect(endedIn(abandoned(first, START))).toBe(40);
});

it('a notification that reached too few needs attention until a day after its end', () => {
  const { notification, recipients } = abandoned(fire(1), START + HOUR);
  const known = { notification: { ...notification, stoppedAt: undefined }, recipients };
  expect(needsAttention(known, START + 25 * HOUR - 1)).toBe(true);
  expect(needsAttention(known, START + 25 * HOUR)).toBe(false);
  // The longest deadline is a day, and the last call and its end come after it.
  expect(LONGEST_ATTENTION_MS / HOUR).toBe(24 + 24 + 2);
});

it('a call of another system has rows under an id that follows from its own and sorts after all others', () => {
  const { notificationId } = foreignRef(callId);
  expect(notificationId).toMatch(/^ffffffffffff-[0-9a-f]{20}$/);
  expect(isForeign(notificationId)).toBe(true);
  expect(isForeign(fire(1).notification.id)).toBe(false);
  expect(newForeignCall(callId, 'Custom', START).notification.id).toBe(notificationId);
});
