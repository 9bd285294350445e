import { expect, it } from 'vitest';

import { parseCallId } from '../../../src/calls/model/ids.ts';
import type { WaitingCode } from '../../../src/calls/model/notification-request.ts';
import { CALLS_USED_UP } from '../../../src/calls/rules/policy.ts';
import type { Attempt } from '../../../src/calls/state/attempt.ts';
import { stoppedNotification, withRecipient } from '../../../src/calls/state/notification.ts';
import { final, type Recipient } from '../../../src/calls/state/recipient.ts';
import { bodyOf } from '../../../src/calls/state/view.ts';
import { at as moment, busy, callees, CALL_ID, CLAIMED, must, newCase, RINGING, spokenTo, START } from '../new-case.ts';

const at = (ms: number): string => new Date(START + ms).toISOString();
const BUSY = busy(START + 9);
const SOON = START + 60_000;

const about = { number: must(callees(1)[0]).number, wave: 1 } as const;
const THREE = spokenTo({ cannotGoAt: START + 7 });
const calling = (attempts: Attempt | readonly Attempt[]): Recipient => ({
  ...about,
  state: 'calling',
  attempts: [attempts].flat(),
});
const waits = (attempts: readonly Attempt[], more: object = {}): Recipient => {
  const due = { dueAt: START, queuedAt: START };
  return { ...about, ...due, state: 'waiting', attempts, ...more };
};
/** The recipient in the answer, nine milliseconds after the start. */
const toldOf = (recipient: Recipient, why?: WaitingCode, isStopped = false) => {
  const live = withRecipient(newCase(START), 0, recipient, moment(START));
  const shown = isStopped ? stoppedNotification(live, undefined, moment(START)) : live;
  return bodyOf(shown, START + 9, new Map(why && [[0, why]])).recipients[0];
};

it.each<[status: string, what: string, recipient: Recipient, isStopped?: true]>([
  ['waiting', 'while nothing is heard of its call', calling(CLAIMED)],
  ['ringing', 'when an event has named its call', calling({ ...CLAIMED, callIds: [CALL_ID] })],
  ['ringing', 'when the provider has accepted it', calling(RINGING)],
  ['speaking', 'when somebody has answered', calling(spokenTo())],
  ['confirmed', 'as soon as 1 is pressed', calling(spokenTo({ confirmedAt: START + 7 }))],
  ['cannot_go', 'as soon as 3 is pressed', calling(THREE)],
  ['confirmed', 'even if 3 is pressed in another call', calling([THREE, spokenTo({ confirmedAt: START + 7 })])],
  ['stopped', 'while its phone is hung up', calling(RINGING), true],
  ['speaking', 'after a stop that does not end its message', calling(spokenTo()), true],
  ['not_reached', 'in the end', final(calling(BUSY), 'not_reached')],
])('a recipient is %s %s', (status, _, recipient, isStopped) => {
  expect(toldOf(recipient, undefined, isStopped)).toMatchObject({ status, recipient: '+1206•••••00' });
});

it.each<[code: string, reason: string, since: number, recipient: Recipient, why?: WaitingCode]>([
  ['line', 'no line is free', 0, waits([])],
  ['number', 'another call to this number is under way', 0, waits([]), 'number'],
  ['pause', 'the phone service asked for a pause', 0, waits([]), 'pause'],
  ['set_up', 'no permission', 0, waits([], { reason: 'no permission' }), 'set_up'],
  ['redial', 'busy', 9, waits([BUSY], { dueAt: SOON, queuedAt: SOON })],
  ['day_limit', CALLS_USED_UP, 0, waits([], { dueAt: SOON, isOverDayLimit: true })],
  ['later_wave', 'its wave has not begun', 0, { ...about, state: 'later', wave: 2, attempts: [] }],
  ['line', 'is being dialed', 0, calling(CLAIMED)],
])('why a recipient waits: %s, %s', (code, reason, since, recipient, why) => {
  expect(toldOf(recipient, why)).toMatchObject({ status: 'waiting', code, reason, since: at(since) });
});

it('an attempt is shown when it has a call or an end, with what is live of it', () => {
  const second = must(parseCallId('call-2'));
  const told = toldOf(waits([{ ...BUSY, callIds: [CALL_ID, second] }, RINGING, CLAIMED], { dueAt: SOON }));
  expect(told).toMatchObject({ next_attempt_at: at(60_000) });
  expect(told?.attempts).toEqual([
    { call_connection_id: second, placed_at: at(0), ended_at: at(9), outcome: 'busy', code: 486, reason: 'busy' },
    { call_connection_id: CALL_ID, placed_at: at(0) },
  ]);
  expect(toldOf(waits([], { dueAt: START + 1_800_000 }))?.next_attempt_at).toBeUndefined();
  const spoken = waits([
    spokenTo({ answeredAt: START + 5, confirmedAt: START + 7 }),
    spokenTo({ answeredAt: START + 8 }),
  ]);
  expect(toldOf(spoken)).toMatchObject({ answered_at: at(5), confirmed_at: at(7) });
});

it('waves are counted from 1; a recipient of a later one is told when it is opened if nobody confirms', () => {
  const waves = [callees(1), callees(2, 1), callees(1, 3)];
  const { recipients, ...told } = bodyOf(newCase(START, { waves, confirm: true, waveMs: 120_000 }), START);
  expect(told).toMatchObject({ next_wave_at: at(120_000), confirmations_needed: 1, confirmed_by: [], reached: 0 });
  expect(recipients.map(({ wave, next_attempt_at: next }) => [wave, next])).toEqual([
    [1, undefined],
    [2, at(120_000)],
    [2, at(120_000)],
    [3, at(240_000)],
  ]);
});

it('the recipients that have confirmed are named by their position', () => {
  const live = newCase(START, { waves: [callees(2)], confirm: true });
  const confirmed = withRecipient(live, 1, calling(spokenTo({ confirmedAt: START })), moment(START));
  expect(bodyOf(confirmed, START)).toMatchObject({ reached: 1, confirmed_by: [1] });
});
