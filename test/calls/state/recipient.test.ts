import { describe, expect, it } from 'vitest';

import type { AttemptEvent } from '../../../src/calls/state/attempt.ts';
import { parseCallId, newNotificationId } from '../../../src/calls/model/ids.ts';
import { parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import {
  afterEvent,
  afterMadeWay,
  claimed,
  looked,
  type ReachTerms,
  type Recipient,
  stopped,
} from '../../../src/calls/state/recipient.ts';
import { SET_UP_RETRY_MS } from '../../../src/calls/rules/whose-fault.ts';
import { viewOf } from '../../../src/calls/state/view.ts';

const [number, callId] = [parsePhoneNumber('+12065550100'), parseCallId('call-1')];
if (number === undefined || callId === undefined) throw new Error('malformed');
const START = Date.parse('2026-11-21T08:00:00Z');
const UUID = '3f0c0000-0000-4000-8000-0000000000e1';
const TERMS: ReachTerms = {
  allowedPrefixes: undefined,
  attempts: 3,
  retryMs: 60_000,
  line: { name: 'acs', isIdempotent: true },
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
const called = (calls: readonly Events[], terms: Partial<ReachTerms> = {}, redialAt?: number): Recipient => {
  const rules = { ...TERMS, ...terms };
  return calls.reduce((recipient, events) => {
    const id = `attempt ${recipient.attempts.length}`;
    const from = recipient.dueAt ?? START;
    return events.reduce(
      (known, event, index) => afterEvent(known, id, event, rules, from + (index + 1) * 1_000, redialAt).next,
      claimed(recipient, { attemptId: id }, rules, from).next,
    );
  }, WAITING);
};

const placed: AttemptEvent = { kind: 'placed', callId };
const speaking: Events = [placed, { kind: 'connected', callId }, { kind: 'play started', callId }];
const completed: AttemptEvent = { kind: 'play completed', callId, result: {} };
const hungUp: AttemptEvent = { kind: 'hung up' };
const heard: Events = [...speaking, completed, hungUp];
const key = (name: '1' | '3'): AttemptEvent => ({ kind: 'tone received', callId, key: { key: name, sequence: 1 } });
const saidGoodbye: AttemptEvent = { kind: 'play completed', callId, result: {}, speech: 9 };
const pressed: Events = [...speaking, key('1'), saidGoodbye, hungUp];
const unconfirmed: Events = [...speaking, completed, { kind: 'no key' }, { kind: 'disconnected', callId, result: {} }];
const cannotGo: Events = [...speaking, key('3'), { kind: 'disconnected', callId, result: {} }];
const failed = (meaning: 'busy' | 'declined' | 'refused' | 'no_line' | 'set_up' | 'no_answer'): Events => [
  placed,
  { kind: 'create failed', callId, result: { meaning } },
];

/** What whoever asks is told. */
const toldOf = (recipient: Recipient): string => {
  const id = newNotificationId(START, UUID);
  const about = { id, alertType: 'Custom', createdAt: START, deadlineAt: TERMS.deadlineAt } as const;
  const known = { notification: { ...about, wave: 1, finals: 0 }, recipients: [recipient] };
  const { status, recipients } = viewOf(known, at(9));
  return `${recipient.state}: ${status}, ${recipients[0]?.status}`;
};

describe('what follows attempts', () => {
  it.each<[what: string, calls: readonly Events[], terms: Partial<ReachTerms>, expected: Partial<Recipient>]>([
    ['heard: nothing', [heard], {}, { state: 'heard', dueAt: undefined }],
    ['busy: again after the pause', [failed('busy')], {}, { state: 'waiting', dueAt: at(62) }],
    ['no answer: again after the pause', [failed('no_answer')], {}, { state: 'waiting', dueAt: at(62) }],
    ['as often as the rules say', [failed('busy'), failed('busy'), failed('busy')], {}, { state: 'not_reached' }],
    ['declined: once more', [failed('declined')], {}, { state: 'waiting' }],
    ['declined twice: no more', [failed('declined'), failed('declined')], {}, { state: 'not_reached' }],
    ['refused: no more', [failed('refused')], {}, { state: 'failed' }],
    ['unconfirmed: again', [unconfirmed], { confirm: true }, { state: 'waiting' }],
    ['cannot go: nothing', [cannotGo], { confirm: true }, { state: 'cannot_go', dueAt: undefined }],
    ['cannot go at the second call: nothing', [unconfirmed, cannotGo], { confirm: true }, { state: 'cannot_go' }],
    ['confirmed: nothing', [pressed], { confirm: true }, { state: 'confirmed' }],
    ['nothing after the deadline', [failed('busy')], { deadlineAt: at(62) }, { state: 'not_reached' }],
    ['our set-up: later', [failed('set_up')], {}, { attempts: [], dueAt: at(2) + SET_UP_RETRY_MS }],
    // It costs no attempt, and keeps its place behind nobody.
    ['no line: when one is free', [failed('no_line')], {}, { attempts: [], isCounted: true, dueAt: START }],
  ])('%s', (_, calls, terms, expected) => {
    expect(called(calls, terms)).toMatchObject(expected);
  });

  it.each([
    ['where a line seemed free', false, 1],
    ['where lines were known to be full', true, 0],
  ])(
    'a call that may have been declined %s is dialled again when it is said, and counts among the calls of the day',
    (_, isProbe, noLine) => {
      const { next } = claimed(WAITING, { attemptId: 'a', isProbe }, TERMS, START);
      const [event] = failed('no_line').slice(-1);
      if (event === undefined) throw new Error('no event');
      const expected = {
        noLine,
        refusals: 1,
        isCounted: undefined,
        attempts: [],
        hadNoLine: true,
        dueAt: at(4),
        queuedAt: START,
      };
      expect(afterEvent(next, 'a', event, TERMS, at(2), at(4)).next).toMatchObject(expected);
    },
  );

  it('who made way for an urgent call keeps place and attempt, and its late events are not of a foreign call', () => {
    const again = called([[placed, { kind: 'make way' }, hungUp]]);
    expect(again).toMatchObject({
      state: 'waiting',
      attempts: [],
      queuedAt: START,
      dueAt: START,
      madeWay: 'attempt 0',
    });
    expect(again.isCounted).toBeUndefined();
  });

  it.each<[what: string, AttemptEvent, confirm: boolean, state: string]>([
    ['heard the message', completed, false, 'heard'],
    ['heard it and was to press a key', completed, true, 'waiting'],
    ['pressed 1', key('1'), true, 'confirmed'],
    ['pressed 3', key('3'), true, 'cannot_go'],
  ])('who made way, and was spoken to without the table, %s', (_, event, confirm, state) => {
    const again = called([[placed, { kind: 'make way' }, hungUp]]);
    const { next, isPast } = afterMadeWay(again, event, { ...TERMS, confirm }, at(60));
    expect(next).toMatchObject({ state, attempts: [{ id: 'attempt 0', state: 'over' }] });
    expect(next.madeWay).toBeUndefined();
    expect(isPast).not.toBe(true);
  });

  it.each<[what: string, AttemptEvent]>([
    ['its end', { kind: 'disconnected', callId, result: {} }],
    ['a key that nobody asked for', key('1')],
  ])('of a call that made way, %s changes nothing', (_, event) => {
    const again = called([[placed, { kind: 'make way' }, hungUp]]);
    expect(afterMadeWay(again, event, TERMS, at(60))).toEqual({ next: again, commands: [], isPast: true });
  });

  it('who is spoken to makes no way', () => {
    expect(called([[...speaking, { kind: 'make way' }]]).attempts[0]?.state).toBe('speaking');
  });

  describe('somebody who answers after a final word', () => {
    const gone: AttemptEvent = { kind: 'not spoken', why: 'gone', result: {} };
    const given = called([failed('declined'), failed('declined')]);

    it.each<[what: string, from: Recipient, Events, commands: string, told: readonly string[]]>([
      ['is spoken to, and hears it', given, [completed, hungUp], 'speak, hang up', ['calling', 'heard']],
      ['has gone, and waits for another call', given, [gone], 'speak', ['waiting']],
      ['after a stop is hung up, and not called again', stopped(given, at(199)), [hungUp], 'hang up', ['not_reached']],
    ])('%s', (_, from, events, commands, told) => {
      const asked: string[] = [];
      const seen = [{ kind: 'connected', callId } as const, ...events].reduce<readonly Recipient[]>(
        (known, event, index) => {
          const step = afterEvent(known.at(-1) ?? from, 'attempt 1', event, TERMS, at(200 + index));
          asked.push(...step.commands.map(({ command }) => command));
          return [...known, step.next];
        },
        [from],
      );
      expect(asked.join(', ')).toBe(commands);
      expect(seen.map(toldOf)).toEqual(
        ['not_reached', 'calling', ...told].map(
          (state) => `${state}: completed, ${state === 'heard' ? state : 'not_reached'}`,
        ),
      );
    });

    it('is told to be what was said last, if somebody stops while another call is waited for', () => {
      const answered = afterEvent(given, 'attempt 1', { kind: 'connected', callId }, TERMS, at(200)).next;
      const waiting = afterEvent(answered, 'attempt 1', gone, TERMS, at(201)).next;
      expect(
        [waiting, claimed(waiting, { attemptId: 'attempt 2' }, TERMS, at(400)).next, stopped(waiting, at(400))].map(
          toldOf,
        ),
      ).toEqual(['waiting', 'calling', 'not_reached'].map((state) => `${state}: completed, not_reached`));
    });
  });

  describe('a key that is reported late', () => {
    const confirm = { ...TERMS, confirm: true };
    const waiting = called([unconfirmed], { confirm: true });
    const dialling = claimed(waiting, { attemptId: 'attempt 1' }, confirm, at(400)).next;
    const ringing = afterEvent(dialling, 'attempt 1', { kind: 'placed', callId }, confirm, at(401)).next;

    it.each([
      ['1', 'confirmed'],
      ['3', 'cannot_go'],
    ] as const)('%s: nobody is called again, and a phone that rings already is hung up', (name, state) => {
      const late = (recipient: Recipient) => afterEvent(recipient, 'attempt 0', key(name), confirm, at(402));
      expect(late(waiting)).toMatchObject({ next: { state, dueAt: undefined }, commands: [] });
      expect(late(ringing).next.attempts[1]?.state).toBe('hanging_up');
      const over = afterEvent(late(ringing).next, 'attempt 1', hungUp, confirm, at(403)).next;
      expect(over.state).toBe(state);
      // What is claimed and not accepted yet is hung up as soon as it rings, and not sent again.
      const requested = late(dialling);
      expect(requested.commands).toEqual([]);
      expect(afterEvent(requested.next, 'attempt 1', { kind: 'placed', callId }, confirm, at(403)).commands).toEqual([
        { command: 'hang up', attemptId: 'attempt 1' },
      ]);
      expect(looked(requested.next, confirm, at(500)).commands).toEqual([]);
    });

    it('1 wins over a 3 that was final already', () => {
      const no = called([cannotGo], { confirm: true });
      expect(afterEvent(no, 'attempt 0', key('1'), confirm, at(500)).next.state).toBe('confirmed');
      const yes = called([pressed], { confirm: true });
      expect(afterEvent(yes, 'attempt 0', key('3'), confirm, at(500)).next).toBe(yes);
    });
  });

  it('late good news counts', () => {
    const waiting = called([[...speaking.slice(0, 2), { kind: 'disconnected', callId, result: {} }]]);
    expect(waiting).toMatchObject({ state: 'waiting', attempts: [{ outcome: 'unknown' }] });
    expect(afterEvent(waiting, 'attempt 0', completed, TERMS, at(20)).next).toMatchObject({ state: 'heard' });
  });
});
