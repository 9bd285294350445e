import { describe, expect, it } from 'vitest';
import { parseCallId } from '../../../src/calls/model/ids.ts';
import type { WaitingCode } from '../../../src/calls/model/notification-request.ts';
import { CALLS_USED_UP } from '../../../src/calls/rules/policy.ts';
import type { Attempt } from '../../../src/calls/state/attempt.ts';
import {
  acknowledged,
  hasWorsened,
  LONGEST_ATTENTION_MS,
  needsAttention,
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from '../../../src/calls/state/notification.ts';
import { final, type FinalState, type Recipient } from '../../../src/calls/state/recipient.ts';
import { bodyOf } from '../../../src/calls/state/view.ts';
import { callees, newCase } from '../new-case.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const HOUR = 3_600_000;
const WAVE_MS = 120_000;
const [firstId, callId] = [parseCallId('call-1'), parseCallId('call-2')];
if (firstId === undefined || callId === undefined) throw new Error('malformed');

const at = (ms: number): string => new Date(START + ms).toISOString();
const [{ number } = { number: undefined }] = callees(1);
if (number === undefined) throw new Error('nobody');

const base = { id: 'a', line: 'acs', claimedAt: START, openThen: 0, callIds: [firstId, callId] };
const CLAIMED: Attempt = { ...base, state: 'claimed', callIds: [], sent: 1, sentAt: START, checkAt: START };
const RINGING: Attempt = { ...base, state: 'ringing', placedAt: START };
const TALK = { answeredAt: START + 5, speech: { number: 0, askedAt: START + 5 }, repeatKeys: [] } as const;
const spokenTo = (talk: object = {}): Attempt => ({ ...RINGING, state: 'speaking', talk: { ...TALK, ...talk } });
const over = { state: 'over', endedAt: START + 9, heardUntil: START + 9 } as const;
const BUSY: Attempt = { ...RINGING, ...over, outcome: 'busy', code: 486, reason: 'busy' };

const about = { number, wave: 1 } as const;
const calling = (attempt: Attempt, isStopped?: true): Recipient => ({
  ...about,
  state: 'calling',
  attempts: [attempt],
  isStopped,
});
const waits = (attempts: readonly Attempt[], more: object = {}): Recipient => {
  const due = { dueAt: START, queuedAt: START };
  return { ...about, ...due, state: 'waiting', attempts, ...more };
};
const SOON = START + 60_000;
/** What is told of a recipient nine milliseconds after the start. */
const toldOf = (recipient: Recipient, why?: WaitingCode) => {
  const known = withRecipient(newCase(START, { waves: [callees(1)] }), 0, recipient, START);
  return bodyOf(known, START + 9, new Map(why === undefined ? [] : [[0, why]])).recipients[0];
};

it.each<[status: string, what: string, recipient: Recipient]>([
  ['waiting', 'while nothing is heard of its call', calling(CLAIMED)],
  ['ringing', 'when an event has named its call', calling({ ...CLAIMED, callIds: [callId] })],
  ['ringing', 'when the line has accepted it', calling(RINGING)],
  ['speaking', 'when somebody has answered', calling(spokenTo())],
  ['confirmed', 'as soon as 1 is pressed', calling(spokenTo({ confirmedAt: START + 7 }))],
  ['cannot_go', 'as soon as 3 is pressed', calling(spokenTo({ cannotGoAt: START + 7 }))],
  ['stopped', 'while its phone is hung up', calling(RINGING, true)],
  ['speaking', 'after a stop that does not end its message', calling(spokenTo(), true)],
  ['not_reached', 'in the end', final(calling(BUSY), 'not_reached')],
])('a recipient is %s %s', (status, _, recipient) => {
  expect(toldOf(recipient)).toMatchObject({ status, recipient: '+1206•••••00' });
});

it.each<[code: string, reason: string, since: number, recipient: Recipient, why?: WaitingCode]>([
  ['line', 'no line is free', 0, waits([])],
  ['number', 'another call to this number is under way', 0, waits([]), 'number'],
  ['pause', 'the phone service asked for a pause', 0, waits([]), 'pause'],
  ['set_up', 'no permission', 0, waits([], { reason: 'no permission' }), 'set_up'],
  ['redial', 'busy', 9, waits([{ ...BUSY, reason: 'no answer' }, BUSY], { dueAt: SOON, queuedAt: SOON })],
  ['day_limit', CALLS_USED_UP, 0, waits([], { dueAt: SOON, isOverDayLimit: true })],
  ['later_wave', 'its wave has not begun', 0, { state: 'later', number, wave: 2, attempts: [] }],
  ['line', 'is being dialed', 0, calling(CLAIMED)],
])('one that waits is told why: %s, %s', (code, reason, since, recipient, why) => {
  expect(toldOf(recipient, why)).toMatchObject({ status: 'waiting', code, reason, since: at(since) });
});

it('attempts are told when there is a call or an end, with what is known of them', () => {
  const told = toldOf(waits([BUSY, RINGING, CLAIMED], { dueAt: SOON }));
  expect(told).toMatchObject({ next_attempt_at: at(60_000) });
  expect(told?.attempts).toEqual([
    { call_connection_id: callId, placed_at: at(0), ended_at: at(9), outcome: 'busy', code: 486, reason: 'busy' },
    { call_connection_id: callId, placed_at: at(0) },
  ]);
  expect(toldOf(waits([], { dueAt: START + 1_800_000 }))?.next_attempt_at).toBeUndefined();
  const spoken = waits([spokenTo({ confirmedAt: START + 7 }), spokenTo({ answeredAt: START + 8 })]);
  expect(toldOf(spoken)).toMatchObject({ answered_at: at(5), confirmed_at: at(7) });
});

it('waves are counted from 1; a recipient of a later one is told when it is opened if nobody confirms', () => {
  const waves = [callees(1), callees(2, 1), callees(1, 3)];
  const { recipients, ...told } = bodyOf(newCase(START, { waves, confirm: true, waveMs: WAVE_MS }), START);
  expect(told).toMatchObject({ next_wave_at: at(WAVE_MS), confirmations_needed: 1, confirmed_by: [], reached: 0 });
  expect(recipients.map(({ wave, next_attempt_at: next }) => [wave, next])).toEqual([
    [1, undefined],
    [2, at(WAVE_MS)],
    [2, at(WAVE_MS)],
    [3, at(2 * WAVE_MS)],
  ]);
});

describe('attention', () => {
  const ended = (known: NotificationCase, index: number, state: FinalState): NotificationCase => {
    const recipient = known.recipients[index];
    return recipient === undefined ? known : withRecipient(known, index, final(recipient, state), START);
  };
  const two = newCase(START, { waves: [callees(2)] });
  const missed = ended(ended(two, 0, 'not_reached'), 1, 'failed');
  const needs = (known: NotificationCase, ms = 0) => needsAttention(known, START + ms);

  it('is needed until somebody is reached, or it is stopped, or for 24 hours after its end', () => {
    expect([needs(two), needs(ended(two, 0, 'heard')), needs(stoppedNotification(two, START))]).toEqual([
      true,
      false,
      false,
    ]);
    expect([needs(missed, 24 * HOUR - 1), needs(missed, 24 * HOUR)]).toEqual([true, false]);
    // The longest deadline is a day; its last calls end within two hours.
    expect(LONGEST_ATTENTION_MS).toBe((24 + 24 + 2) * HOUR);
  });

  it('is also needed if the message was heard where keys are asked for', () => {
    const confirm = newCase(START, { waves: [callees(1)], confirm: true });
    expect(needs(ended(confirm, 0, 'heard'))).toBe(true);
    expect(bodyOf(withRecipient(confirm, 0, calling(spokenTo({ confirmedAt: START })), START), START)).toMatchObject({
      reached: 1,
      confirmed_by: [0],
    });
  });

  it('is somebody’s until it becomes worse: more are not reached, or too few in the end', () => {
    const seen = acknowledged(two, 'Ana', START + 1);
    expect(bodyOf(seen, START + 2)).toMatchObject({ acknowledged_by: 'Ana', acknowledged_at: at(1) });
    expect([acknowledged(seen, 'Ana', START + 2), hasWorsened(seen)]).toEqual([seen, false]);
    const worse = ended(seen, 0, 'not_reached');
    expect([hasWorsened(worse), hasWorsened(ended(seen, 0, 'heard'))]).toEqual([true, false]);
    expect(bodyOf(worse, START)).toMatchObject({ worsened_since_acknowledged: true });
    const again = acknowledged(worse, 'Ana', START + 3);
    expect([again.notification.acknowledged?.times, hasWorsened(again)]).toEqual([2, false]);
    // Nobody more is not reached, and it ends with too few.
    const confirm = acknowledged(newCase(START, { waves: [callees(1)], confirm: true }), 'Ana', START);
    const confirmed = withRecipient(confirm, 0, calling(spokenTo({ confirmedAt: START })), START);
    expect([ended(confirm, 0, 'cannot_go'), confirmed].map(hasWorsened)).toEqual([true, false]);
  });
});
