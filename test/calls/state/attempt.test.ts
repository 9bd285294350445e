import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  type Attempt,
  type AttemptEvent,
  CLAIM_LEASE_MS,
  type CallTerms,
  DIAL_LEASE_MS,
  isLive,
  lookAtOf,
  moveAttempt,
  UNCLEAR_MS,
} from '../../../src/calls/state/attempt.ts';
import { parseCallId } from '../../../src/calls/model/call-id.ts';

const callId = parseCallId('call-1');
if (callId === undefined) throw new Error('malformed');
const START = Date.parse('2026-11-21T08:00:00Z');
const TERMS: CallTerms = {
  confirm: false,
  isStopped: false,
  deadlineAt: START + 1_800_000,
  ringMs: 60_000,
  unitMs: 7_000,
  messageMs: 40_000,
};
const NEW: Attempt = { id: 'a', state: 'claimed', claimedAt: START };

/** Events in order; a number is the time of those after it, in seconds since the claim. */
type History = readonly (number | AttemptEvent)[];

/** The attempt after these events, and what was asked for. */
const play = (history: History, terms: Partial<CallTerms> = {}) => {
  let [attempt, seconds] = [NEW, 0];
  const asks: string[] = [];
  for (const step of history) {
    if (typeof step === 'number') {
      seconds = step;
      continue;
    }
    const { next, ask } = moveAttempt(attempt, step, { ...TERMS, ...terms }, START + seconds * 1_000);
    attempt = next;
    if (ask !== undefined) asks.push(ask);
  }
  return { attempt, asks: asks.join(', ') };
};

const placed: AttemptEvent = { kind: 'placed', callId };
const connected: AttemptEvent = { kind: 'connected', callId };
const accepted: AttemptEvent = { kind: 'speech accepted' };
const started: AttemptEvent = { kind: 'play started', callId };
const completed: AttemptEvent = { kind: 'play completed', callId, result: {} };
const canceled: AttemptEvent = { kind: 'play canceled', callId, result: {} };
const failed: AttemptEvent = { kind: 'play failed', callId, result: { code: 400, subCode: 8_535 } };
const disconnected: AttemptEvent = { kind: 'disconnected', callId, result: { code: 200, subCode: 0 } };
const hungUp: AttemptEvent = { kind: 'hung up' };
const tone: AttemptEvent = { kind: 'tone received', callId };
const look: AttemptEvent = { kind: 'look' };
const created = (meaning: 'busy' | 'declined' | 'refused' | 'set_up'): AttemptEvent => ({
  kind: 'create failed',
  callId,
  result: { code: 486, meaning, reason: meaning },
});
const notPlaced = (why: 'no_line' | 'set_up' | 'refused' | 'unclear'): AttemptEvent => ({
  kind: 'not placed',
  why,
  result: { reason: why },
});
const notSpoken = (why: 'gone' | 'failed' | 'unclear'): AttemptEvent => ({ kind: 'not spoken', why, result: {} });

const lease = CLAIM_LEASE_MS / 1_000;
const redial = DIAL_LEASE_MS / 1_000;
const unclear = notSpoken('unclear');

describe('an attempt is over with its outcome', () => {
  it.each<[what: string, outcome: string, History]>([
    ['a good call', 'heard', [0, placed, 9, connected, 10, accepted, started, 25, completed, 26, hungUp]],
    ['events before the answer to the call request', 'heard', [1, connected, 2, placed, started, 9, completed, hungUp]],
    ['the whole message, reported after the end', 'heard', [0, placed, 5, connected, 25, disconnected, 30, completed]],
    ['reports of a message that nobody asked for', 'unknown', [0, placed, 5, started, 6, completed, 7, look, hungUp]],
    ['no report of its start', 'unknown', [0, placed, 5, connected, 6, accepted, 60, disconnected]],
    ['a message that failed', 'unknown', [0, placed, 5, connected, 6, started, 9, failed, hungUp]],
    ['a callee who has gone before it', 'unknown', [0, placed, 5, connected, 6, notSpoken('gone')]],
    ['a message that the line refuses', 'unknown', [0, placed, 5, connected, 6, notSpoken('failed'), hungUp]],
    ['busy', 'busy', [0, placed, 5, created('busy'), disconnected]],
    ['busy, with the end first', 'busy', [0, placed, 5, disconnected, 6, created('busy')]],
    ['busy, with the end long before', 'busy', [0, placed, 5, disconnected, 12, look, 14, created('busy')]],
    ['the first reason stays', 'refused', [0, placed, 5, created('refused'), created('busy'), disconnected]],
    ['it rang long enough', 'no_answer', [0, placed, 60, look, 61, hungUp, created('declined')]],
    ['it rang long enough, and the end comes first', 'no_answer', [0, placed, 60, look, created('declined')]],
    ['an end without a reason', 'unknown', [0, placed, 5, disconnected, 11, look]],
    ['nothing is ever heard of it', 'unknown', [redial, look, 2 * redial, look, 2 * redial + UNCLEAR_MS / 1_000, look]],
    ['no line', 'no_line', [0, notPlaced('no_line')]],
    ['our set-up', 'set_up', [0, placed, 1, created('set_up')]],
  ])('%s: %s', (_, outcome, history) => {
    expect(play(history).attempt).toMatchObject({ state: 'over', outcome });
  });

  it.each([
    [6, false],
    [7, true],
  ])('cut short after %i s: a whole unit was spoken: %s', (seconds, hasHeardUnit) => {
    const { attempt } = play([0, placed, 5, connected, 10, started, 10 + seconds, canceled, 30, hungUp]);
    expect(attempt).toMatchObject({ outcome: 'cut_short', hasHeardUnit });
  });

  it.each<[string, string, History]>([
    ['before the start of the message', 'confirmed', [5, connected, tone, 6, started, 25, completed, hungUp]],
    ['after the end', 'confirmed', [5, connected, 6, started, 25, completed, hungUp, 26, tone]],
    ['twice', 'confirmed', [5, connected, 6, started, 7, tone, 8, tone, 25, completed, hungUp]],
    ['by somebody who was not spoken to', 'unknown', [5, tone, 6, disconnected, 12, look]],
    ['never', 'unconfirmed', [5, connected, 6, started, 25, completed, hungUp]],
  ])('with a key pressed %s: %s', (_, outcome, history) => {
    expect(play([0, placed, ...history], { confirm: true }).attempt).toMatchObject({ outcome });
  });
});

describe('what must be done', () => {
  it.each<[what: string, asks: string, History]>([
    [
      'all is reported twice',
      'speak, hang up',
      [0, placed, 9, connected, connected, started, 25, completed, completed],
    ],
    ['somebody answers after the end', 'speak', [0, placed, 4, created('busy'), 5, connected]],
    ['who was to speak has died', 'speak, speak', [5, connected, 4 + lease, look, 5 + lease, look]],
    ['the second one has died too', 'speak, speak, hang up', [5, connected, 5 + lease, look, 5 + 2 * lease, look]],
    ['the answer is lost, and it starts', 'speak', [5, connected, 15, unclear, 17, started, 20, look]],
    ['the answer is lost, and it does not start', 'speak, hang up', [5, connected, 15, unclear, 17, look, 20, look]],
    ['the end of the message is not reported', 'speak, hang up', [5, connected, 6, started, 46, look]],
    ['nothing is heard of the call', 'dial, dial', [redial, look, 2 * redial, look, 3 * redial, look]],
    ['nothing but its id is heard of the call', 'hang up', [5, started, redial, look, redial + 60, look]],
  ])('where %s: %s', (_, asks, history) => {
    expect(play(history).asks).toBe(asks);
  });

  it.each(['no_line', 'set_up', 'refused'] as const)('nothing is over by %s after an unclear answer', (why) => {
    const { attempt } = play([1, notPlaced('unclear'), redial, look, notPlaced(why)]);
    expect(attempt.state).toBe('claimed');
  });

  it.each<[what: string, asks: string, History, Partial<CallTerms>]>([
    ['after a stop somebody answers', 'hang up', [5, connected], { isStopped: true }],
    ['after a stop it rings', 'hang up', [0, placed, 5, look], { isStopped: true }],
    ['after a stop nothing is heard of the call', '', [redial, look], { isStopped: true }],
    ['after a stop nothing but its id is', 'hang up', [5, started, redial, look], { isStopped: true }],
    ['after the deadline nothing is heard of it', '', [redial, look], { deadlineAt: START + DIAL_LEASE_MS }],
  ])('where %s: %s', (_, asks, history, terms) => {
    expect(play(history, terms).asks).toBe(asks);
  });

  it('is nothing after a stop where the message is spoken', () => {
    const { attempt } = play([0, placed, 5, connected, 6, started]);
    const { next, ask } = moveAttempt(attempt, look, { ...TERMS, isStopped: true }, START + 7_000);
    expect([next.state, ask]).toEqual(['speaking', undefined]);
  });
});

describe('whatever happens in whatever order', () => {
  const event = fc.constantFrom<AttemptEvent>(
    placed, connected, accepted, started, completed, canceled, failed, disconnected, hungUp, tone, look,
    created('busy'), created('declined'), notPlaced('no_line'), notPlaced('unclear'), notSpoken('failed'), notSpoken('unclear'),
  ); // prettier-ignore
  const histories = fc
    .array(fc.tuple(fc.nat({ max: 200 }), event), { maxLength: 14 })
    .map((list) => list.toSorted(([one], [other]) => one - other).flat());

  it('a live attempt has a time when it is looked at; one that is left alone comes to its end, with an outcome', () => {
    fc.assert(
      fc.property(histories, fc.boolean(), fc.boolean(), (history, confirm, isStopped) => {
        let { attempt } = play(history, { confirm, isStopped });
        const terms = { ...TERMS, confirm, isStopped };
        for (let looks = 0; looks < 60 && isLive(attempt); looks += 1) {
          expect(attempt.outcome).toBeUndefined();
          attempt = moveAttempt(attempt, look, terms, Math.max(lookAtOf(attempt, terms) ?? NaN, START)).next;
        }
        expect(attempt.state).toBe('over');
        expect([lookAtOf(attempt, terms), attempt.outcome]).toEqual([undefined, expect.any(String)]);
      }),
    );
  });
});
