import { describe, expect, it } from 'vitest';

import type { AttemptEvent } from '../../src/calls/attempt.ts';
import { parseCallId } from '../../src/calls/call-id.ts';
import { newNotificationId } from '../../src/calls/notification-id.ts';
import { parsePhoneNumber } from '../../src/calls/phone-number.ts';
import { afterEvent, dialled, type ReachTerms, type Recipient, SET_UP_RETRY_MS } from '../../src/calls/recipient.ts';
import { viewOf } from '../../src/calls/view.ts';

const [number, callId] = [parsePhoneNumber('+12065550100'), parseCallId('call-1')];
if (number === undefined || callId === undefined) throw new Error('malformed');
const START = Date.parse('2026-11-21T08:00:00Z');
const UUID = '3f0c0000-0000-4000-8000-0000000000e1';
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

type Events = readonly AttemptEvent[];

/** The recipient after calls that came to these events, each when it is due, and its events a second after another. */
const called = (calls: readonly Events[], terms: Partial<ReachTerms> = {}, beside?: number): Recipient => {
  const rules = { ...TERMS, ...terms };
  return calls.reduce((recipient, events) => {
    const id = `attempt ${recipient.attempts.length}`;
    const from = recipient.dueAt ?? START;
    return events.reduce(
      (known, event, index) => afterEvent(known, id, event, rules, from + (index + 1) * 1_000, beside).next,
      dialled(recipient, id, rules, from).next,
    );
  }, WAITING);
};

const placed: AttemptEvent = { kind: 'placed', callId };
const speaking: Events = [placed, { kind: 'connected', callId }, { kind: 'play started', callId }];
const completed: AttemptEvent = { kind: 'play completed', callId, result: {} };
const hungUp: AttemptEvent = { kind: 'hung up' };
const heard: Events = [...speaking, completed, hungUp];
const pressed: Events = [...speaking, { kind: 'tone received', callId }, completed, hungUp];
const failed = (meaning: 'busy' | 'declined' | 'refused' | 'no_line' | 'set_up' | 'no_answer'): Events => [
  placed,
  { kind: 'create failed', callId, result: { meaning } },
];

describe('what follows attempts', () => {
  it.each<[what: string, calls: readonly Events[], terms: Partial<ReachTerms>, expected: Partial<Recipient>]>([
    ['heard: nothing', [heard], {}, { state: 'heard', dueAt: undefined }],
    ['busy: again after the pause', [failed('busy')], {}, { state: 'waiting', dueAt: at(62) }],
    ['no answer: again after the pause', [failed('no_answer')], {}, { state: 'waiting', dueAt: at(62) }],
    ['as often as the rules say', [failed('busy'), failed('busy'), failed('busy')], {}, { state: 'not_reached' }],
    ['declined: once more', [failed('declined')], {}, { state: 'waiting' }],
    ['declined twice: no more', [failed('declined'), failed('declined')], {}, { state: 'not_reached' }],
    ['refused: no more', [failed('refused')], {}, { state: 'failed' }],
    ['unconfirmed: again', [heard], { confirm: true }, { state: 'waiting' }],
    ['confirmed: nothing', [pressed], { confirm: true }, { state: 'confirmed' }],
    ['nothing after the deadline', [failed('busy')], { deadlineAt: at(62) }, { state: 'not_reached' }],
    ['our set-up: later', [failed('set_up')], {}, { attempts: [], dueAt: at(2) + SET_UP_RETRY_MS }],
    // It costs no attempt, and keeps its place behind nobody.
    ['no line: when one is free', [failed('no_line')], {}, { attempts: [], isCounted: true, dueAt: START }],
  ])('%s', (_, calls, terms, expected) => {
    expect(called(calls, terms)).toMatchObject(expected);
  });

  it('a call that may have been declined is told beside how many others, and counts among the calls of the day', () => {
    const again = called([failed('no_line')], {}, 2);
    expect(again).toMatchObject({ noLine: 1, refusedBeside: 2, isCounted: undefined, attempts: [] });
  });

  it('a final word stays while somebody who answered after all is spoken to, and gets better only', () => {
    const once = { ...TERMS, attempts: 1 };
    const after = (known: Recipient, event: AttemptEvent) => afterEvent(known, 'attempt 0', event, once, at(9)).next;
    const given = called([failed('busy')], once);
    const answered = after(given, { kind: 'connected', callId });
    const over = [{ kind: 'disconnected', callId, result: {} }, completed] as const;
    const told = [given, answered, ...over.map((event) => after(answered, event))].map((recipient) => {
      const about = {
        id: newNotificationId(START, UUID),
        alertType: 'Custom',
        createdAt: START,
        deadlineAt: at(9),
      } as const;
      const { status, recipients } = viewOf(
        { notification: { ...about, wave: 1, finals: 0 }, recipients: [recipient] },
        at(9),
      );
      return `${recipient.state}: ${status}, ${recipients[0]?.status}`;
    });
    expect(told).toEqual([
      'not_reached: completed, not_reached',
      'calling: completed, not_reached',
      'not_reached: completed, not_reached',
      'calling: completed, not_reached',
    ]);
    expect(over.reduce<Recipient>(after, answered)).toMatchObject({ state: 'heard', toldFinal: undefined });
  });

  it('late good news counts', () => {
    const waiting = called([[...speaking.slice(0, 2), { kind: 'disconnected', callId, result: {} }]]);
    expect(waiting).toMatchObject({ state: 'waiting', attempts: [{ outcome: 'unknown' }] });
    expect(afterEvent(waiting, 'attempt 0', completed, TERMS, at(20)).next).toMatchObject({ state: 'heard' });
  });
});
