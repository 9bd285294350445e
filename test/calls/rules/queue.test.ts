import { describe, expect, it } from 'vitest';

import {
  afterAccepted,
  afterClaim,
  afterEnd,
  afterFault,
  afterQuickDecline,
  afterRefusal,
  callsAllowed,
  isQuickDecline,
  next,
  type OpenCall,
  type Queued,
  type QueueState,
  waitsFor,
} from '../../../src/calls/rules/queue.ts';
import { HOUR, START as NOW } from '../new-case.ts';

const MINUTE = 60_000;

const fire = (who: string, more: Partial<Queued> = {}): Queued => ({
  who,
  number: `+${who}`,
  isUrgent: true,
  position: 0,
  queuedAt: NOW - 1_000,
  dueAt: NOW - 1_000,
  ...more,
});
const anomaly = (who: string, more: Partial<Queued> = {}): Queued => fire(who, { isUrgent: false, ...more });

/** A call about a fire that has just been accepted. */
const open = (who: string, more: Partial<OpenCall> = {}): OpenCall => ({
  who,
  number: `+${who}`,
  isUrgent: true,
  claimedAt: NOW - 2_000,
  acceptedAt: NOW - 1_000,
  isEnding: false,
  heldUntil: NOW + MINUTE,
  ...more,
});
const other = (who: string, more: Partial<OpenCall> = {}): OpenCall => open(who, { isUrgent: false, ...more });
const ended = (agoMs: number, isUrgent: boolean): QueueState => ({ ended: [{ at: NOW - agoMs, isUrgent }] });
const X = [open('x')];

type Case = readonly [what: string, Queued[], OpenCall[], QueueState, callsAtOnce: number, expected: string];

/** The decision: `dial a`, `wait`, or `wait 1500` ms. */
const said = (queue: readonly Queued[], calls: readonly OpenCall[], line: QueueState, callsAtOnce = 2): string => {
  const decided = next(queue, calls, line, { callsAtOnce }, NOW);
  if (decided.kind === 'dial') return `dial ${decided.who.who}`;
  return decided.until === undefined ? 'wait' : `wait ${decided.until - NOW}`;
};

it.each<Case>([
  ['a second call of two', [fire('c')], [open('a')], {}, 2, 'dial c'],
  ['no third', [fire('c')], [open('a'), open('b', { heldUntil: NOW + 7_000 })], {}, 2, 'wait 7000'],
  ['the only call', [anomaly('c')], [], {}, 1, 'dial c'],
  ['no second call of one', [fire('c')], [open('a')], {}, 1, 'wait 60000'],
  ['an anomaly leaves one line of two', [anomaly('c')], [other('a')], {}, 2, 'wait 60000'],
  ['which a fire uses', [anomaly('c'), fire('f')], [other('a')], {}, 2, 'dial f'],
  ['an anomaly beside a fire', [anomaly('c')], [open('a')], {}, 2, 'dial c'],
  ['two anomalies on three lines', [anomaly('c')], [other('a')], {}, 3, 'dial c'],
  ['not three', [anomaly('c')], [other('a'), other('b')], {}, 3, 'wait 60000'],
  ['a call holds its line until then', [fire('c')], [open('a', { heldUntil: NOW + 1 })], {}, 1, 'wait 1'],
  ['and not longer', [fire('c')], [open('a', { heldUntil: NOW })], {}, 1, 'dial c'],
  ['an ended call counts', [fire('c')], [open('a')], ended(1_499, true), 2, 'wait 1'],
  ['for 1.5 s', [fire('c')], [open('a')], ended(1_500, true), 2, 'dial c'],
  ['also as an anomaly', [anomaly('c')], [], ended(1_499, false), 2, 'wait 1'],
  ['for 1.5 s, too', [anomaly('c')], [], ended(1_500, false), 2, 'dial c'],
  ['an ended fire is no anomaly', [anomaly('c')], [], ended(1, true), 2, 'dial c'],
  ['urgent first', [anomaly('a', { queuedAt: 0 }), fire('f', { position: 9 })], [], {}, 2, 'dial f'],
  ['the first of each', [fire('b', { position: 1, queuedAt: 0 }), fire('a')], [], {}, 2, 'dial a'],
  ['then by waiting time', [fire('b'), fire('a', { queuedAt: NOW - 1_001 })], [], {}, 2, 'dial a'],
  ['nobody before the time', [fire('a', { dueAt: NOW + 1 })], [], {}, 2, 'wait 1'],
  ['from the very time on', [fire('a', { dueAt: NOW })], [], {}, 2, 'dial a'],
  ['nobody at all', [], [], {}, 2, 'wait'],
  ['a number in use blocks no other', [fire('a'), anomaly('b', { queuedAt: NOW })], [open('a')], {}, 2, 'dial b'],
  [
    'a number in use',
    [fire('a', { dueAt: NOW })],
    [other('x', { number: '+a', heldUntil: NOW + 3_000 })],
    {},
    2,
    'wait 3000',
  ],
  ['a number that was in use', [fire('a')], [other('x', { number: '+a', heldUntil: NOW })], {}, 2, 'dial a'],
  ['one refused lets one pass', [fire('a'), fire('b', { position: 1 })], [], { refused: 'a' }, 2, 'dial b'],
  ['of equal urgency', [fire('a'), anomaly('b')], [], { refused: 'a' }, 2, 'dial a'],
  ['if there is one', [fire('a')], [], { refused: 'a' }, 2, 'dial a'],
  ['and not two', [fire('b'), fire('a', { position: 1 })], [], { refused: 'a' }, 2, 'dial b'],
  ['a lower number of calls', [fire('c')], [open('a')], { limit: { calls: 1, until: NOW + 1 } }, 2, 'wait 1'],
])('%s', (_, queue, calls, line, callsAtOnce, expected) => {
  expect(said(queue, calls, line, callsAtOnce)).toBe(expected);
});

it('of ended calls those of the last 1.5 s are kept', () => {
  const one = afterEnd({}, other('a'), NOW - 1_500);
  expect(afterEnd(one, open('b'), NOW).ended).toEqual([{ at: NOW, isUrgent: true }]);
  expect(afterEnd(one, open('b'), NOW - 1).ended).toHaveLength(2);
});

const refused = (line: QueueState, waitMs?: number) => afterRefusal(line, { who: 'a', isSure: true, waitMs }, [], NOW);

describe('after a refusal', () => {
  it('all dialing pauses for 1, 2, 4, 8, then 15 s', () => {
    let line: QueueState = {};
    for (const seconds of [1, 2, 4, 8, 15, 15]) {
      line = refused(line);
      expect(said([fire('b')], [], line)).toBe(`wait ${seconds * 1_000}`);
    }
    expect(line).toMatchObject({ refused: 'a', sureAt: NOW });
    expect(afterClaim(line, { callsAtOnce: 2 }, NOW).refused).toBeUndefined();
  });

  it('dialing pauses for as long as the line asks, up to 60 s', () => {
    const pauses = [500, 7_000, 60_000, HOUR].map((waitMs) => refused({}, waitMs).pauseUntil);
    expect(pauses).toEqual([1_000, 7_000, 60_000, 60_000].map((ms) => NOW + ms));
  });

  it('the pause ends early when a call is accepted, or an accepted call ends', () => {
    for (const line of [afterAccepted(refused({})), afterEnd(refused({}), open('x'), NOW)])
      expect(line).toMatchObject({ pauseUntil: undefined, refusals: undefined });
    const calm: QueueState = { sureAt: NOW };
    expect(afterAccepted(calm)).toBe(calm);
  });
});

it.each([
  [5_999, 1, true],
  [6_000, 1, false],
  [0, 0, false],
])('a decline after %i ms beside %i other calls may be a refusal of the network: %s', (rangMs, openThen, isQuick) => {
  expect(isQuickDecline({ acceptedAt: NOW - rangMs, endedAt: NOW, openThen })).toBe(isQuick);
});

const allowed = (calls: number, now: number) =>
  callsAllowed({ limit: { calls, until: NOW + 1 } }, { callsAtOnce: 2 }, now);

describe('three recipients in a row without a line show that there are fewer', () => {
  /** The limit after quick declines of these recipients, while `calls` are open. */
  const declined = (who: string, calls: readonly OpenCall[] = X, apartMs = 1_000, line: QueueState = {}) =>
    who.split('').reduce((before, one, index) => afterQuickDecline(before, one, calls, NOW + index * apartMs), line)
      .limit;

  it.each<[what: string, calls: number | undefined, ReturnType<typeof declined>]>([
    ['not two', undefined, declined('ab')],
    ['as many as stay open', 1, declined('abc')],
    ['as two', 2, declined('abc', [open('x'), open('y')])],
    ['not the same again', undefined, declined('abab')],
    ['but another', 1, declined('ababc')],
    ['60 s apart', 1, declined('abc', X, MINUTE)],
    ['not more', undefined, declined('abc', X, MINUTE + 1)],
    ['not if no call stays', undefined, declined('abc', [])],
    ['nor one that was accepted', undefined, declined('abc', [open('x', { acceptedAt: undefined })])],
    ['nor one that does not end', undefined, declined('abc', [open('x', { isEnding: true })])],
    ['never more than before', 1, declined('abc', [...X, open('y')], 0, { limit: { calls: 1, until: NOW + 1 } })],
    ['until its time is over', 2, declined('abc', [...X, open('y')], 0, { limit: { calls: 1, until: NOW } })],
    ['not for an hour after a definite refusal', undefined, declined('abc', X, 0, { sureAt: NOW - HOUR + 1 })],
    ['but then', 1, declined('abc', X, 0, { sureAt: NOW - HOUR })],
  ])('%s', (_, calls, limit) => {
    expect(limit?.calls).toBe(calls);
  });

  it('for ten minutes', () => {
    expect(declined('abc', X, 0)).toEqual({ calls: 1, until: NOW + 10 * MINUTE });
    expect([allowed(1, NOW), allowed(1, NOW + 1), allowed(5, NOW)]).toEqual([1, 2, 2]);
  });

  it.each<[what: string, isCleared: boolean, Partial<OpenCall>]>([
    ['that lasted 6 s', true, { acceptedAt: NOW + 4_000 }],
    ['that was answered', true, { acceptedAt: NOW + 9_500, answeredAt: NOW + 9_999 }],
    ['that was shorter', false, { acceptedAt: NOW + 4_001 }],
    ['that was not accepted', false, { acceptedAt: undefined }],
    ['that was claimed before', false, { claimedAt: NOW + 1_000, acceptedAt: NOW + 2_000 }],
  ])('after a later call %s: the row begins anew: %s', (_, isCleared, more) => {
    const later = open('z', { claimedAt: NOW + 1_001, ...more });
    const at = NOW + 10_000;
    const two = ['a', 'b'].reduce<QueueState>((line, who, s) => afterQuickDecline(line, who, X, NOW + s * 1_000), {});
    const after = afterEnd(two, later, at);
    expect(after.suspects === undefined).toBe(isCleared);
    // It need not have ended.
    for (const third of [afterQuickDecline(after, 'c', X, at), afterQuickDecline(two, 'c', [...X, later], at)])
      expect(third.limit === undefined).toBe(isCleared);
  });

  it('definite refusals count as well, but not a line that could not be reached', () => {
    const [sure, unsure] = [true, false].map((isSure) =>
      ['a', 'b', 'c'].reduce<QueueState>((line, who) => afterRefusal(line, { who, isSure }, X, NOW), {}),
    );
    expect(sure?.limit).toEqual({ calls: 1, until: NOW + 10 * MINUTE });
    expect(unsure).toEqual({ pauseUntil: NOW + 4_000, refusals: 3, refused: 'c' });
  });
});

it('a fault of our set-up pauses all dialing for 30 s; an operator is told every ten minutes', () => {
  const line = afterFault({}, 'no permission', NOW);
  expect(line.fault).toEqual({ until: NOW + 30_000, toldAt: NOW, reason: 'no permission' });
  expect(said([fire('f')], [], line)).toBe('wait 30000');
  const toldAt = [10 * MINUTE - 1, 10 * MINUTE].map((ms) => afterFault(line, 'x', NOW + ms).fault?.toldAt);
  expect(toldAt).toEqual([NOW, NOW + 10 * MINUTE]);
});

it('an account starts so many calls a second: a claim may come 200 ms early', () => {
  const limits = { callsAtOnce: 9, callsPerSecond: 4 };
  const [first, second] = [afterClaim({}, limits, NOW), afterClaim(afterClaim({}, limits, NOW), limits, NOW)];
  expect([first, second, { nextAt: NOW + 200 }].map((line) => said([fire('f')], [], line))).toEqual([
    'wait 50',
    'wait 300',
    'dial f',
  ]);
  expect(afterClaim({}, { callsAtOnce: 9 }, NOW).nextAt).toBeUndefined();
});

it.each<[code: string, Queued, readonly OpenCall[], QueueState]>([
  ['redial', fire('a', { dueAt: NOW + 1 }), [open('x', { number: '+a' })], {}],
  ['number', fire('a'), [open('x', { number: '+a' })], { fault: { until: NOW + 1, toldAt: NOW } }],
  ['set_up', fire('a'), [open('x')], { fault: { until: NOW + 1, toldAt: NOW }, pauseUntil: NOW + 1 }],
  ['pause', fire('a'), [], { fault: { until: NOW, toldAt: NOW }, pauseUntil: NOW + 1 }],
  ['line', fire('a'), [open('a'), open('x', { number: '+a', heldUntil: NOW })], { pauseUntil: NOW }],
])('a recipient waits for: %s', (code, one, calls, line) => {
  expect(waitsFor(one, calls, line, NOW)).toBe(code);
});
