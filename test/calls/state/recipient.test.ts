import { describe, expect, it } from 'vitest';
import { parseCallId } from '../../../src/calls/model/ids.ts';
import type { CallResult } from '../../../src/calls/model/phone-line.ts';
import { maskPhoneNumber, parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { AttemptEvent } from '../../../src/calls/state/attempt.ts';
import {
  afterEvent,
  claimed,
  final,
  looked,
  postponed,
  type ReachTerms,
  type Recipient,
  stopped,
  waiting,
} from '../../../src/calls/state/recipient.ts';

const [number, callId] = [parsePhoneNumber('+12065550100'), parseCallId('call-1')];
if (number === undefined || callId === undefined) throw new Error('malformed');
const START = Date.parse('2026-11-21T08:00:00Z');
const TERMS: ReachTerms = {
  allowedPrefixes: undefined,
  attempts: 3,
  retryMs: 60_000,
  line: { name: 'acs', isIdempotent: true, speaksByItself: false },
  confirm: false,
  deadlineAt: START + 1_800_000,
  ringMs: 60_000,
  unitMs: 7_000,
  messageMs: 40_000,
};
const CONFIRM: ReachTerms = { ...TERMS, confirm: true };
const NOBODY: Recipient = { state: 'later', number, wave: 1, attempts: [] };
const WAITING = waiting(NOBODY, START);

const at = (seconds: number): number => START + seconds * 1_000;

type Events = readonly AttemptEvent[];

const claim = (recipient: Recipient, terms = TERMS, now = START, openThen = 0): Recipient =>
  claimed(recipient, { attemptId: `attempt ${recipient.attempts.length + 1}`, openThen }, terms, now);

/** The recipient after the events of its last attempt, each a second after another. */
const after = (recipient: Recipient, events: Events, terms = TERMS, from = START): Recipient =>
  events.reduce(
    (known, event, index) =>
      afterEvent(known, known.attempts.at(-1)?.id ?? '', event, terms, from + (index + 1) * 1_000),
    recipient,
  );

/** The recipient after calls that came to these events, each claimed when it was due. */
const called = (calls: readonly Events[], terms = TERMS, openThen = 0): Recipient =>
  calls.reduce((recipient, events) => {
    const from = recipient.state === 'waiting' ? recipient.dueAt : START;
    return after(claim(recipient, terms, from, openThen), events, terms, from);
  }, WAITING);

const placed: AttemptEvent = { kind: 'placed', callId };
const disconnected: AttemptEvent = { kind: 'disconnected', callId, result: {} };
const speaking: Events = [placed, { kind: 'connected', callId }, { kind: 'play started', callId }];
const completed: AttemptEvent = { kind: 'play completed', callId, result: {} };
const hungUp: AttemptEvent = { kind: 'hung up' };
const key = (name: '1' | '3'): AttemptEvent => ({ kind: 'tone received', callId, key: { key: name, sequence: 1 } });
const failed = (failure: CallResult['failure']): Events => [
  placed,
  { kind: 'create failed', callId, result: { failure, reason: failure } },
];
const noCall = (failure: CallResult['failure']): Events => [
  { kind: 'not placed', result: { failure, reason: failure } },
];
const unconfirmed: Events = [...speaking, completed, disconnected];
const cannotGo: Events = [...speaking, key('3'), disconnected];
const pressed: Events = [...speaking, key('1'), disconnected];

/** Calls that were declined at once, and whether each cost no attempt. */
const declined = (count: number, openThen = 1) =>
  called(Array<Events>(count).fill(failed('declined')), TERMS, openThen);
const isFree = (recipient: Recipient) => recipient.attempts.map((one) => one.state === 'over' && one.isFree);
const stop = (recipient: Recipient) => stopped(recipient, at(4));
/** Something becomes known of the first call. */
const toldOfFirst = (recipient: Recipient, event: AttemptEvent, terms = TERMS) =>
  afterEvent(recipient, 'attempt 1', event, terms, at(402));

describe('what follows calls', () => {
  it.each<[what: string, calls: readonly Events[], expected: object, terms?: ReachTerms]>([
    ['heard: nothing', [[...speaking, completed, hungUp]], { state: 'heard' }],
    ['busy: again after the pause', [failed('busy')], { state: 'waiting', dueAt: at(62), queuedAt: at(62) }],
    ['busy three times: no more', [failed('busy'), failed('busy'), failed('busy')], { state: 'not_reached' }],
    ['refused: no more', [failed('refused')], { state: 'failed' }],
    ['confirmed: nothing', [pressed], { state: 'confirmed' }, CONFIRM],
    ['cannot go: nothing', [cannotGo], { state: 'cannot_go' }, CONFIRM],
    ['the deadline: no more', [failed('busy')], { state: 'not_reached' }, { ...TERMS, deadlineAt: at(62) }],
  ])('%s', (_, calls, expected, terms) => {
    expect(called(calls, terms)).toMatchObject(expected);
  });

  it.each(['capacity', 'unreachable', 'set_up'] as const)(
    'no call by %s: it costs no attempt, and the recipient queues anew',
    (failure) => {
      const recipient = called([failed('busy'), noCall(failure)]);
      expect(recipient).toMatchObject({ state: 'waiting', dueAt: at(63), queuedAt: at(63), reason: failure });
      expect(recipient.attempts).toHaveLength(1);
    },
  );

  it('the first two quick declines beside other calls cost no attempt, and are dialed after the pause', () => {
    expect(declined(1)).toMatchObject({ state: 'waiting', dueAt: at(62) });
    expect(isFree(declined(4))).toEqual([true, true, undefined, undefined]);
    expect([declined(4), declined(5)].map(({ state }) => state)).toEqual(['waiting', 'not_reached']);
    expect(isFree(declined(2, 0))).toEqual([undefined, undefined]);
  });
});

describe('nobody is dialed', () => {
  it.each<[what: string, recipient: Recipient, expected: object]>([
    ['after the deadline', claim(WAITING, TERMS, TERMS.deadlineAt), { state: 'not_reached' }],
    ['if the number may not be called', claim(WAITING, { ...TERMS, allowedPrefixes: ['+64'] }), { state: 'failed' }],
    ['if it is done with', claim(final(WAITING, 'heard')), { state: 'heard' }],
    [
      'if its number is not kept any more',
      claim({ ...WAITING, number: maskPhoneNumber(number) }),
      { state: 'waiting' },
    ],
  ])('%s', (_, recipient, expected) => {
    expect(recipient).toMatchObject(expected);
    expect(recipient.attempts.every(({ state }) => state === 'over')).toBe(true);
  });

  it('before midnight, or the deadline, if the calls of the day are used up; it is told why', () => {
    const midnight = at(600);
    expect(postponed(WAITING, midnight, TERMS)).toMatchObject({ dueAt: midnight, isOverDayLimit: true });
    const late = postponed(WAITING, at(3_600), TERMS);
    expect(late).toMatchObject({ dueAt: TERMS.deadlineAt });
    expect(looked(late, true, TERMS, TERMS.deadlineAt)).toMatchObject({
      state: 'not_reached',
      attempts: [{ outcome: 'unknown', reason: 'the calls of this UTC day are used up: see CALLS_PER_DAY' }],
    });
    const redialed = called([failed('busy')]);
    expect(looked(redialed, true, TERMS, TERMS.deadlineAt)).toMatchObject({
      state: 'not_reached',
      attempts: [{ outcome: 'busy' }],
    });
  });
});

describe('a stop', () => {
  it.each<[state: string, what: string, before: Events, events: Events]>([
    ['stopped', 'if its phone rang', [placed], [hungUp]],
    ['stopped', 'if its call is accepted afterwards', [], [placed, hungUp]],
    ['stopped', 'if its request placed no call', [], noCall('capacity')],
    ['heard', 'if it hears the message to its end', speaking, [completed, hungUp]],
    ['stopped', 'if it hangs up before', speaking, [disconnected]],
  ])('a recipient is %s, %s', (state, _, before, events) => {
    expect(after(stop(called([before])), events, TERMS, at(4))).toMatchObject({ state });
  });
});

describe('late news', () => {
  it('of a message that was heard counts', () => {
    expect(toldOfFirst(called([[...speaking.slice(0, 2), disconnected]]), completed).state).toBe('heard');
  });

  it.each([
    ['1', 'confirmed'],
    ['3', 'cannot_go'],
  ] as const)('of the key %s ends the dialing: a phone that rings already is hung up', (name, state) => {
    const waits = called([unconfirmed], CONFIRM);
    expect(toldOfFirst(waits, key(name), CONFIRM).state).toBe(state);
    const requested = claim(waits, CONFIRM, at(400));
    // What is claimed and not accepted yet is hung up as soon as it rings, and not sent again.
    const late = toldOfFirst(requested, key(name), CONFIRM);
    expect(looked(late, true, CONFIRM, at(500)).attempts[1]).toMatchObject({ state: 'claimed', sent: 1 });
    expect(after(late, [placed], CONFIRM, at(403)).attempts[1]).toMatchObject({ unanswered: 'stopped' });
    const ringing = toldOfFirst(after(requested, [placed], CONFIRM, at(400)), key(name), CONFIRM);
    expect(ringing.attempts[1]).toMatchObject({ state: 'hanging_up', unanswered: 'stopped' });
    expect(after(ringing, [hungUp], CONFIRM, at(403)).state).toBe(state);
  });

  it('only improves a final state', () => {
    expect(toldOfFirst(called([cannotGo], CONFIRM), key('1'), CONFIRM).state).toBe('confirmed');
    const confirmed = called([pressed], CONFIRM);
    expect(toldOfFirst(confirmed, key('3'), CONFIRM)).toBe(confirmed);
    const given = called([failed('busy'), failed('busy'), failed('busy')]);
    const answers = after(
      given,
      [
        { kind: 'connected', callId },
        { kind: 'play started', callId },
      ],
      TERMS,
      at(500),
    );
    expect([answers.attempts[2]?.state, answers.state]).toEqual(['speaking', 'not_reached']);
    expect(after(answers, [disconnected], TERMS, at(502)).state).toBe('not_reached');
    expect(after(answers, [completed, hungUp], TERMS, at(510)).state).toBe('heard');
  });

  it('of an attempt that placed no call changes nothing', () => {
    const again = called([noCall('capacity')]);
    expect(toldOfFirst(again, disconnected)).toBe(again);
  });
});
