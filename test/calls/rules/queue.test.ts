import * as fc from 'fast-check';
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

const NOW = Date.parse('2026-11-21T08:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ABC = ['a', 'b', 'c'];

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

/** What is decided, with `callsAtOnce` lines: `dial a`, `wait`, or `wait 1500` ms. */
const said = (
  queue: readonly Queued[],
  calls: readonly OpenCall[] = [],
  line: QueueState = {},
  callsAtOnce = 2,
): string => {
  const decided = next(queue, calls, line, { callsAtOnce }, NOW);
  if (decided.kind === 'dial') return `dial ${decided.who.who}`;
  return decided.until === undefined ? 'wait' : `wait ${decided.until - NOW}`;
};

describe('open calls', () => {
  it('are as many as CALLS_AT_ONCE allows', () => {
    expect(said([fire('c')], [open('a')])).toBe('dial c');
    expect(said([fire('c')], [open('a'), open('b', { heldUntil: NOW + 7_000 })])).toBe('wait 7000');
    expect(said([fire('c')], [], {}, 1)).toBe('dial c');
    expect(said([fire('c')], [open('a')], {}, 1)).toBe('wait 60000');
  });

  it('about other alerts leave one line free, if there are two or more', () => {
    expect(said([anomaly('c')], [other('a')])).toBe('wait 60000');
    expect(said([anomaly('c'), fire('f')], [other('a')])).toBe('dial f');
    expect(said([anomaly('c')], [open('a')])).toBe('dial c');
    expect(said([anomaly('c')], [], {}, 1)).toBe('dial c');
    expect(said([anomaly('c')], [other('a')], {}, 3)).toBe('dial c');
    expect(said([anomaly('c')], [other('a'), other('b')], {}, 3)).toBe('wait 60000');
  });

  it('hold their line until nothing more can be heard of them', () => {
    expect(said([fire('c')], [open('a', { heldUntil: NOW + 1 })], {}, 1)).toBe('wait 1');
    expect(said([fire('c')], [open('a', { heldUntil: NOW })], {}, 1)).toBe('dial c');
  });

  it('count for 1.5 s after their end, in the share of their kind', () => {
    const ended = (agoMs: number, isUrgent: boolean): QueueState => ({ ended: [{ at: NOW - agoMs, isUrgent }] });
    expect(said([fire('c')], [open('a')], ended(1_499, true))).toBe('wait 1');
    expect(said([fire('c')], [open('a')], ended(1_500, true))).toBe('dial c');
    expect(said([anomaly('c')], [], ended(1_499, false))).toBe('wait 1');
    expect(said([anomaly('c')], [], ended(1_500, false))).toBe('dial c');
    expect(said([anomaly('c')], [], ended(1, true))).toBe('dial c');
    const call = { isUrgent: false, claimedAt: NOW - 9_000 };
    const two = afterEnd(afterEnd({}, call, NOW - 1_500), { ...call, isUrgent: true }, NOW);
    expect(two.ended).toEqual([{ at: NOW, isUrgent: true }]);
    expect(afterEnd(afterEnd({}, call, NOW - 1_499), call, NOW).ended).toHaveLength(2);
  });
});

describe('the order', () => {
  it.each<[what: string, readonly Queued[], string]>([
    ['an urgent one first', [anomaly('a', { queuedAt: 0 }), fire('f', { position: 9 })], 'dial f'],
    ['one person of each before the second of any', [fire('b', { position: 1, queuedAt: 0 }), fire('a')], 'dial a'],
    ['then who has waited longest', [fire('b'), fire('a', { queuedAt: NOW - 1_001 })], 'dial a'],
    ['nobody before the time', [fire('a', { dueAt: NOW + 1 })], 'wait 1'],
    ['from the very time on', [fire('a', { dueAt: NOW })], 'dial a'],
    ['nobody at all', [], 'wait'],
  ])('%s', (_, queue, expected) => {
    expect(said(queue)).toBe(expected);
  });

  it('lets a number have one call at a time, and one who waits for a number blocks nobody', () => {
    expect(said([fire('a'), anomaly('b', { queuedAt: NOW })], [open('a')])).toBe('dial b');
    expect(said([fire('a')], [other('x', { number: '+a', heldUntil: NOW + 3_000 })])).toBe('wait 3000');
    expect(said([fire('a')], [other('x', { number: '+a', heldUntil: NOW })])).toBe('dial a');
  });

  it('lets one other of equal urgency pass who was refused last', () => {
    const line: QueueState = { refused: 'a' };
    expect(said([fire('a'), fire('b', { position: 1 })], [], line)).toBe('dial b');
    expect(said([fire('a'), anomaly('b')], [], line)).toBe('dial a');
    expect(said([fire('a')], [], line)).toBe('dial a');
    expect(said([fire('b'), fire('a', { position: 1 })], [], line)).toBe('dial b');
    expect(afterClaim(line, { callsAtOnce: 2 }, NOW).refused).toBeUndefined();
  });
});

describe('after a refusal', () => {
  it('all dialing pauses for 1, 2, 4, 8, then 15 s', () => {
    let line: QueueState = {};
    const pauses = Array.from({ length: 6 }, () => {
      line = afterRefusal(line, { who: 'a', isSure: true }, [], NOW);
      return said([fire('b')], [], line);
    });
    expect(pauses).toEqual(['wait 1000', 'wait 2000', 'wait 4000', 'wait 8000', 'wait 15000', 'wait 15000']);
    expect(line).toMatchObject({ refused: 'a', sureAt: NOW });
  });

  it('dialing pauses for as long as the line asks, up to 60 s', () => {
    const pauses = [500, 7_000, 60_000, HOUR].map((waitMs) =>
      said([fire('b')], [], afterRefusal({}, { who: 'a', isSure: true, waitMs }, [], NOW)),
    );
    expect(pauses).toEqual(['wait 1000', 'wait 7000', 'wait 60000', 'wait 60000']);
  });

  it('the pause ends early when a call is accepted, or an accepted call ends', () => {
    const line = afterRefusal({}, { who: 'a', isSure: true }, [], NOW);
    expect(afterAccepted(line)).toMatchObject({ pauseUntil: undefined, refusals: undefined });
    expect(afterEnd(line, open('x'), NOW)).toMatchObject({ pauseUntil: undefined, refusals: undefined });
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

describe('three recipients in a row without a line show that there are fewer', () => {
  /** Quick declines of these, while `calls` are open, so many milliseconds apart. */
  const declined = (who: string, calls: readonly OpenCall[] = [open('x')], apartMs = 1_000): QueueState =>
    who
      .split('')
      .reduce<QueueState>((line, one, index) => afterQuickDecline(line, one, calls, NOW + index * apartMs), {});

  it('as many as stay open, for ten minutes', () => {
    expect(declined('ab').limit).toBeUndefined();
    expect(declined('abc').limit).toEqual({ calls: 1, until: NOW + 2_000 + 10 * MINUTE });
    expect(declined('abc', [open('x'), open('y')]).limit?.calls).toBe(2);
    const line: QueueState = { limit: { calls: 1, until: NOW + 1 } };
    const allowed = (now: number) => callsAllowed(line, { callsAtOnce: 2 }, now);
    expect([allowed(NOW), allowed(NOW + 1)]).toEqual([1, 2]);
    expect(said([fire('c')], [open('a')], line)).toBe('wait 1');
    expect(callsAllowed({ limit: { calls: 5, until: NOW + 1 } }, { callsAtOnce: 2 }, NOW)).toBe(2);
  });

  it('of which none is counted twice', () => {
    expect(declined('abab').limit).toBeUndefined();
    expect(declined('ababc').limit?.calls).toBe(1);
  });

  it('not if they are more than 60 s apart', () => {
    expect(declined('abc', [open('x')], MINUTE).limit).toBeDefined();
    expect(declined('abc', [open('x')], MINUTE + 1).limit).toBeUndefined();
  });

  it('not if nobody was accepted and stays', () => {
    expect(declined('abc', []).limit).toBeUndefined();
    const leaving = [open('x', { acceptedAt: undefined }), open('y', { isEnding: true })];
    expect(declined('abc', leaving).limit).toBeUndefined();
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
    const after = afterEnd(declined('ab'), later, at);
    expect(after.suspects === undefined).toBe(isCleared);
    expect(afterQuickDecline(after, 'c', [open('x')], at).limit === undefined).toBe(isCleared);
    // It need not have ended.
    expect(afterQuickDecline(declined('ab'), 'c', [open('x'), later], at).limit === undefined).toBe(isCleared);
  });

  it('a lower number is never raised before its time', () => {
    const after = (until: number) =>
      ABC.reduce<QueueState>((line, who) => afterQuickDecline(line, who, [open('x'), open('y')], NOW), {
        limit: { calls: 1, until },
      });
    expect([after(NOW + 1), after(NOW)].map(({ limit }) => limit?.calls)).toEqual([1, 2]);
  });

  it('definite refusals count as well; for an hour after one, quick declines do not', () => {
    const refused = (isSure: boolean) =>
      ABC.reduce<QueueState>((line, who) => afterRefusal(line, { who, isSure }, [open('x')], NOW), {});
    expect(refused(true).limit).toEqual({ calls: 1, until: NOW + 10 * MINUTE });
    expect(refused(false)).toMatchObject({ pauseUntil: NOW + 4_000 });
    expect(refused(false)).not.toHaveProperty('limit');
    expect(refused(false)).not.toHaveProperty('sureAt');
    const sure: QueueState = { sureAt: NOW };
    expect(afterQuickDecline(sure, 'a', [open('x')], NOW + HOUR - 1)).toBe(sure);
    expect(afterQuickDecline(sure, 'a', [open('x')], NOW + HOUR).suspects).toHaveLength(1);
  });
});

it('a fault of our set-up pauses all dialing for 30 s; an operator is told every ten minutes', () => {
  const line = afterFault({}, 'no permission', NOW);
  expect(line.fault).toEqual({ until: NOW + 30_000, toldAt: NOW, reason: 'no permission' });
  expect(said([fire('f')], [], line)).toBe('wait 30000');
  expect(afterFault(line, 'x', NOW + 10 * MINUTE - 1).fault?.toldAt).toBe(NOW);
  expect(afterFault(line, 'x', NOW + 10 * MINUTE).fault?.toldAt).toBe(NOW + 10 * MINUTE);
});

it('an account starts so many calls a second: a claim may come 200 ms early', () => {
  const limits = { callsAtOnce: 9, callsPerSecond: 4 };
  const [first, second] = [afterClaim({}, limits, NOW), afterClaim(afterClaim({}, limits, NOW), limits, NOW)];
  expect([first.nextAt, second.nextAt]).toEqual([NOW + 250, NOW + 500]);
  expect([said([fire('f')], [], first), said([fire('f')], [], second)]).toEqual(['wait 50', 'wait 300']);
  expect(said([fire('f')], [], { nextAt: NOW + 200 })).toBe('dial f');
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

describe('of any queue and any open calls', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  const time = fc.integer({ min: NOW - 3_000, max: NOW + 3_000 });
  const queued = fc
    .record({ who: name, isUrgent: fc.boolean(), position: fc.nat({ max: 2 }), queuedAt: time, dueAt: time })
    .chain(({ who, ...more }) => name.map((number) => fire(who, { ...more, number: `+${number}` })));
  const queues = fc.uniqueArray(queued, { selector: ({ who }) => who, maxLength: 8 });
  const calls = fc.uniqueArray(
    fc
      .record({ number: name, isUrgent: fc.boolean(), heldUntil: time })
      .map(({ number, ...more }) => open(number, more)),
    { selector: ({ number }) => number, maxLength: 4 },
  );
  const lines = fc.record<QueueState>(
    {
      pauseUntil: time,
      refused: name,
      ended: fc.array(fc.record({ at: time, isUrgent: fc.boolean() }), { maxLength: 3 }),
      limit: fc.record({ calls: fc.integer({ min: 1, max: 3 }), until: time }),
      fault: fc.record({ until: time, toldAt: time }),
      nextAt: time,
    },
    { requiredKeys: [] },
  );
  const limits = fc.record({ callsAtOnce: fc.integer({ min: 1, max: 5 }) });

  it('a dialed recipient exceeds no limit, shares no number, and passes no urgent one that could be dialed', () => {
    fc.assert(
      fc.property(queues, calls, lines, limits, (queue, already, line, most) => {
        const decided = next(queue, already, line, most, NOW);
        if (decided.kind === 'wait') return;
        const { who } = decided;
        const held = already.filter(({ heldUntil }) => NOW < heldUntil);
        const inUse = new Set(held.map(({ number }) => number));
        expect(inUse.has(who.number)).toBe(false);
        expect(held.length).toBeLessThan(callsAllowed(line, most, NOW));
        if (who.isUrgent) return;
        const mostOthers = Math.max(1, most.callsAtOnce - 1);
        expect(held.filter(({ isUrgent }) => !isUrgent).length).toBeLessThan(mostOthers);
        const passed = queue.filter((one) => one.isUrgent && one.dueAt <= NOW && !inUse.has(one.number));
        expect(passed).toEqual([]);
      }),
    );
  });

  it('nothing changes before the time that is awaited, and in the end somebody is dialed', () => {
    fc.assert(
      fc.property(queues, calls, lines, limits, (queue, already, line, most) => {
        fc.pre(queue.length > 0);
        let now = NOW;
        for (let looks = 0; looks < 40; looks += 1) {
          const decided = next(queue, already, line, most, now);
          if (decided.kind === 'dial') return;
          const { until = now } = decided;
          expect(until).toBeGreaterThan(now);
          expect(next(queue, already, line, most, until - 1).kind).toBe('wait');
          now = until;
        }
        throw new Error('nobody is ever dialed');
      }),
    );
  });
});
