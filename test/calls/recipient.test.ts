import { describe, expect, it } from 'vitest';

import type { AttemptEvent } from '../../src/calls/attempt.ts';
import { type CallId, parseCallId } from '../../src/calls/call-id.ts';
import { parsePhoneNumber, type PhoneNumber } from '../../src/calls/phone-number.ts';
import {
  afterEvent,
  dialled,
  looked,
  type ReachTerms,
  type Recipient,
  SET_UP_RETRY_MS,
  stopped,
} from '../../src/calls/recipient.ts';

const must = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new Error('malformed');
  return value;
};
const number: PhoneNumber = must(parsePhoneNumber('+12065550100'));
const callId: CallId = must(parseCallId('call-1'));
const START = Date.parse('2026-11-21T08:00:00Z');
const TERMS: ReachTerms = {
  attempts: 3,
  retryMs: 60_000,
  confirm: false,
  deadlineAt: START + 1_800_000,
  ringMs: 60_000,
  unitMs: 7_000,
  messageMs: 40_000,
};
const WAITING: Recipient = { state: 'waiting', number, wave: 1, attempts: [], queuedAt: START, dueAt: START };

const at = (seconds: number): number => START + seconds * 1_000;

/** The recipient after a call that came to these events, a second after another, beginning when it is due. */
const called = (
  recipient: Recipient,
  events: readonly AttemptEvent[],
  terms: Partial<ReachTerms> = {},
  beside?: number,
) => {
  const rules = { ...TERMS, ...terms };
  const id = `attempt ${recipient.attempts.length}`;
  const from = recipient.dueAt ?? START;
  let { next } = dialled(recipient, id, rules, from);
  events.forEach((event, index) => {
    ({ next } = afterEvent(next, id, event, rules, from + (index + 1) * 1_000, beside));
  });
  return next;
};

const failed = (
  meaning: 'busy' | 'declined' | 'refused' | 'no_line' | 'set_up' | 'no_answer',
): readonly AttemptEvent[] => [
  { kind: 'placed', callId },
  { kind: 'create failed', callId, result: { meaning } },
];
const heard: readonly AttemptEvent[] = [
  { kind: 'placed', callId },
  { kind: 'connected', callId },
  { kind: 'play started', callId },
  { kind: 'play completed', callId, result: {} },
  { kind: 'hung up' },
];

describe('what follows an attempt', () => {
  it('is nothing if it was heard', () => {
    expect(called(WAITING, heard)).toMatchObject({ state: 'heard', dueAt: undefined });
  });

  it.each(['busy', 'no_answer'] as const)('%s: again after the pause, as often as the rules say', (outcome) => {
    const once = called(WAITING, failed(outcome));
    expect(once).toMatchObject({ state: 'waiting', dueAt: at(62) });
    expect(called(called(once, failed(outcome)), failed(outcome))).toMatchObject({ state: 'not_reached' });
  });

  it('declined: once more, and no more after that', () => {
    const once = called(WAITING, failed('declined'));
    expect(once.state).toBe('waiting');
    expect(called(once, failed('declined'))).toMatchObject({ state: 'not_reached' });
  });

  it('refused: nobody is called again', () => {
    expect(called(WAITING, failed('refused'))).toMatchObject({ state: 'failed' });
  });

  it('unconfirmed: again; confirmed: nothing', () => {
    expect(called(WAITING, heard, { confirm: true })).toMatchObject({ state: 'waiting' });
    const pressed: readonly AttemptEvent[] = [
      ...heard.slice(0, 3),
      { kind: 'tone received', callId },
      ...heard.slice(3),
    ];
    expect(called(WAITING, pressed, { confirm: true })).toMatchObject({ state: 'confirmed' });
  });

  it('nothing after the deadline', () => {
    expect(called(WAITING, failed('busy'), { deadlineAt: at(62) })).toMatchObject({ state: 'not_reached' });
    const { next, asks } = dialled(WAITING, 'a', { ...TERMS, deadlineAt: START }, START);
    expect(next).toMatchObject({ state: 'not_reached', attempts: [{ outcome: 'unknown', reason: 'no time left' }] });
    expect(asks).toEqual([]);
  });

  it('late good news counts, and late bad news changes the reason', () => {
    const waiting = called(WAITING, [
      { kind: 'placed', callId },
      { kind: 'connected', callId },
      { kind: 'disconnected', callId, result: {} },
    ]);
    expect(waiting).toMatchObject({ state: 'waiting', attempts: [{ outcome: 'unknown' }] });
    const good = afterEvent(waiting, 'attempt 0', { kind: 'play completed', callId, result: {} }, TERMS, at(20)).next;
    expect(good).toMatchObject({ state: 'heard' });
  });
});

describe('a call without a line', () => {
  it('costs no attempt, and keeps its place behind nobody', () => {
    const again = called(WAITING, failed('no_line'));
    expect(again).toMatchObject({ state: 'waiting', attempts: [], isCounted: true });
    expect(again.dueAt).toBe(START);
  });

  it('that may have been declined is told beside how many others, and counts among the calls of the day', () => {
    const again = called(WAITING, failed('no_line'), {}, 2);
    expect(again).toMatchObject({ noLine: 1, refusedBeside: 2, isCounted: undefined, attempts: [] });
  });

  it('for our set-up is tried again later', () => {
    expect(called(WAITING, failed('set_up')).dueAt).toBe(at(2) + SET_UP_RETRY_MS);
  });
});

describe('a stop', () => {
  it('ends who waits, keeps who is called to the end of the call, and dials nobody', () => {
    expect(stopped(WAITING)).toMatchObject({ state: 'stopped', dueAt: undefined });
    const { next: calling } = dialled(WAITING, 'a', TERMS, START);
    const ringing = stopped(afterEvent(calling, 'a', { kind: 'placed', callId }, TERMS, at(1)).next);
    const { next, asks } = looked(ringing, TERMS, at(2));
    expect(asks).toEqual([{ ask: 'hang up', attemptId: 'a' }]);
    expect(afterEvent(next, 'a', { kind: 'hung up' }, TERMS, at(3)).next).toMatchObject({
      state: 'stopped',
      attempts: [{ outcome: 'no_answer' }],
    });
    let speaking = called(WAITING, heard.slice(0, 3));
    speaking = stopped(speaking);
    expect(looked(speaking, TERMS, at(5)).asks).toEqual([]);
    const completed = afterEvent(
      speaking,
      'attempt 0',
      { kind: 'play completed', callId, result: {} },
      TERMS,
      at(9),
    ).next;
    expect(afterEvent(completed, 'attempt 0', { kind: 'hung up' }, TERMS, at(9)).next.state).toBe('heard');
  });
});
