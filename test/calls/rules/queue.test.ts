import { describe, expect, it } from 'vitest';

import type { LineState, OpenCall } from '../../../src/calls/rules/lines.ts';
import { next, type Queued, whyWaiting } from '../../../src/calls/rules/queue.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');

const fire = (number: string, more: Partial<Queued> = {}): Queued => ({
  number,
  isUrgent: true,
  position: 0,
  queuedAt: NOW - 1_000,
  dueAt: NOW - 1_000,
  ...more,
});
const anomaly = (number: string, more: Partial<Queued> = {}): Queued => fire(number, { isUrgent: false, ...more });
/** An urgent call that is spoken to. */
const open = (number: string, more: Partial<OpenCall> = {}): OpenCall => ({
  number,
  isUrgent: true,
  sentAt: NOW - 30_000,
  acceptedAt: NOW - 29_000,
  connectedAt: NOW - 20_000,
  ...more,
});
const ringing = (number: string, more: Partial<OpenCall> = {}): OpenCall =>
  open(number, { isUrgent: false, connectedAt: undefined, ...more });
const requested = (number: string, agoMs: number, more: Partial<OpenCall> = {}): OpenCall =>
  open(number, { sentAt: NOW - agoMs, acceptedAt: undefined, connectedAt: undefined, ...more });
const full = (known: number, more: Partial<LineState> = {}): LineState => ({
  known,
  refusedAt: NOW - 60_000,
  sureAt: NOW - 60_000,
  probeAt: NOW + 3_000,
  ...more,
});

const said = (queue: readonly Queued[], calls: readonly OpenCall[] = [], line: LineState = {}): string => {
  const decided = next(queue, calls, line, NOW);
  if (decided.kind === 'dial') {
    const over = decided.takesOver === undefined ? '' : ' over';
    return `dial ${decided.who.number}${decided.isProbe ? ' as a probe' : ''}${over}`;
  }
  if (decided.kind === 'hang up') return `hang up ${decided.call.number}`;
  return decided.until === undefined ? 'wait' : `wait ${decided.until - NOW}`;
};

describe('the order', () => {
  it.each<[what: string, readonly Queued[], string]>([
    ['an urgent one first', [anomaly('a', { queuedAt: 0 }), fire('f')], 'dial f'],
    ['one person of each before the second of any', [fire('b', { position: 1, queuedAt: 0 }), fire('a')], 'dial a'],
    ['then who has waited longest', [fire('b'), fire('a', { queuedAt: NOW - 1_001 })], 'dial a'],
    ['nobody before the time', [fire('a', { dueAt: NOW + 1 })], 'wait'],
    ['from the very time on', [fire('a', { dueAt: NOW })], 'dial a'],
  ])('%s', (_, queue, expected) => {
    expect(said(queue)).toBe(expected);
  });

  it('nobody else gets a line while an urgent one waits for one, also if that was just refused', () => {
    expect(said([fire('f', { hadNoLine: true, dueAt: NOW + 700 }), anomaly('a')])).toBe('wait 700');
    expect(said([fire('f'), anomaly('a')], [open('x')], full(1))).toBe('wait 3000');
  });

  it('one that waits only for its own number holds back nobody', () => {
    expect(said([fire('f'), anomaly('a')], [open('f')])).toBe('dial a');
  });

  it('nor gets one a call that is not urgent while it is not sure that an urgent one has its line', () => {
    expect(said([anomaly('a')], [requested('f', 500), open('x')])).toBe('wait 1500');
    const accepted = open('f', { acceptedAt: NOW - 500, connectedAt: undefined });
    expect(said([anomaly('a')], [accepted])).toBe('wait 1500');
    expect(said([anomaly('a')], [accepted], full(9, { sureAt: undefined }))).toBe('wait 5500');
    expect(said([anomaly('a')], [accepted], full(9))).toBe('dial a');
  });
});

it('nobody waits: nothing is awaited, though an urgent call has no answer yet', () => {
  expect(next([], [requested('1', 500)], {}, NOW)).toEqual({ kind: 'wait', until: undefined });
  expect(next([anomaly('2')], [requested('1', 500)], {}, NOW)).toEqual({ kind: 'wait', until: NOW + 1_500 });
});

describe('one call at a time to a number', () => {
  it.each<[what: string, Queued, OpenCall, string]>([
    ['the next one waits', fire('n'), open('n'), 'wait'],
    ['an urgent one hangs up a call that only rings', fire('n'), ringing('n'), 'hang up n'],
    ['not one that is spoken to', fire('n'), open('n', { isUrgent: false }), 'wait'],
    ['not an urgent one', fire('n'), ringing('n', { isUrgent: true }), 'wait'],
    ['one that is not urgent waits', anomaly('n'), ringing('n'), 'wait'],
    ['once asked to hang up, it is waited for', fire('n'), ringing('n', { hangUpAt: NOW - 9_999 }), 'wait 1'],
    ['for 10 s', fire('n'), ringing('n', { hangUpAt: NOW - 10_000 }), 'dial n over'],
    ['or until its own look is 10 s overdue', fire('n'), open('n', { lookAt: NOW - 10_000 }), 'dial n over'],
    ['and not sooner', fire('n'), open('n', { lookAt: NOW - 9_999 }), 'wait 1'],
    [
      'a request of another instance is asked about again',
      fire('n'),
      requested('n', 9_000, { isUrgent: false }),
      'wait 2000',
    ],
    ['that holds for urgent ones alone', anomaly('n'), open('n', { lookAt: NOW - 10_000 }), 'wait'],
  ])('%s', (_, one, call, expected) => {
    expect(said([one], [call])).toBe(expected);
  });
});

const under = (count: number) => Array.from({ length: count }, (_, index) => requested(`r${index}`, 1));

describe('the head alone, then more', () => {
  it('waits for the answer to the first request, for 2 s', () => {
    expect(said([fire('a')], [requested('x', 1_999)])).toBe('wait 1');
    expect(said([fire('a')], [requested('x', 2_000)])).toBe('dial a');
  });

  it('has twice as many requests under way as were accepted since the last refusal and are open', () => {
    const three = [requested('x', 1), requested('y', 2), requested('z', 3)];
    expect(said([fire('a')], [...three, open('1')])).toBe('wait 1997');
    expect(said([fire('a')], [...three, open('1'), open('2')])).toBe('dial a');
    const line = full(99, { refusedAt: NOW - 29_000 });
    expect(said([fire('a')], [requested('x', 1), open('1'), open('2')], line)).toBe('wait 1999');
  });

  it('has eight at most', () => {
    const calls = Array.from({ length: 20 }, (_, index) => open(String(index)));
    expect(said([fire('a')], [...calls, ...under(7)])).toBe('dial a');
    expect(said([fire('a')], [...calls, ...under(8)])).toBe('wait 1999');
  });
});

describe('lines', () => {
  it('are taken up to as many as are known, and then one more is tried when it is time', () => {
    expect(said([fire('a')], [open('x')], full(2))).toBe('dial a');
    expect(said([fire('a')], [open('x'), open('y')], full(2))).toBe('wait 3000');
    expect(said([fire('a')], [open('x'), open('y')], full(2, { probeAt: NOW }))).toBe('dial a as a probe');
    expect(said([fire('a')], [requested('x', 500), open('y')], full(2, { probeAt: NOW }))).toBe('wait 1500');
  });

  it('are not tried for with the one who was refused last, if another waits: of equal rank, or of the same urgency where no call is open', () => {
    const line = full(0, { probeAt: NOW, refused: 'a' });
    expect(said([fire('a'), fire('b', { queuedAt: NOW })], [], line)).toBe('dial b as a probe');
    expect(said([fire('a'), fire('b', { position: 1 })], [], line)).toBe('dial b as a probe');
    expect(said([fire('a'), anomaly('b')], [], line)).toBe('dial a as a probe');
    const oneOpen = full(1, { probeAt: NOW, refused: 'a' });
    expect(said([fire('a'), fire('b', { queuedAt: NOW })], [open('x')], oneOpen)).toBe('dial b as a probe');
    expect(said([fire('a'), fire('b', { position: 1 })], [open('x')], oneOpen)).toBe('dial a as a probe');
    expect(said([fire('a')], [], line)).toBe('dial a as a probe');
  });

  it('nobody serves to try for one more than three times', () => {
    const line = full(1, { probeAt: NOW });
    expect(said([fire('a', { refusals: 2 })], [open('x')], line)).toBe('dial a as a probe');
    expect(said([fire('a', { refusals: 3 }), fire('b', { position: 1 })], [open('x')], line)).toBe('dial b as a probe');
    expect(said([fire('a', { refusals: 3 })], [open('x')], line)).toBe('wait');
    // Nobody's end would wake anybody.
    expect(said([fire('a', { refusals: 3 })], [], full(0, { probeAt: NOW }))).toBe('dial a as a probe');
  });
});

describe('a fire takes the line of a phone that only rings', () => {
  it('of the youngest, if all are taken', () => {
    const calls = [ringing('old', { sentAt: NOW - 40_000 }), ringing('young', { sentAt: NOW - 20_000 })];
    expect(said([fire('f')], calls, full(2))).toBe('hang up young');
    expect(said([fire('f')], calls, full(3))).toBe('dial f');
    expect(said([anomaly('a')], calls, full(2))).toBe('wait 3000');
  });

  it('one at a time, another one after 5 s', () => {
    expect(said([fire('f')], [ringing('a'), ringing('b', { hangUpAt: NOW - 4_999 })], full(2))).toBe('wait 1');
    expect(said([fire('f')], [ringing('a'), ringing('b', { hangUpAt: NOW - 5_000 })], full(2))).toBe('hang up a');
  });

  it('never of who is spoken to, and not for one urgent call of another', () => {
    expect(said([fire('f')], [open('a', { isUrgent: false }), ringing('b', { isUrgent: true })], full(2))).toBe(
      'wait 3000',
    );
  });
});

describe('a fault of our set-up', () => {
  const line: LineState = { fault: { number: 'x', at: NOW - 1, until: NOW + 20_000, reason: 'no permission' } };

  it('holds back who is not urgent until it may have been mended', () => {
    expect(said([anomaly('a')], [], line)).toBe('wait 20000');
    expect(said([fire('f')], [], line)).toBe('dial f');
  });

  it('is why they wait', () => {
    expect(whyWaiting(anomaly('a'), [], [], line, NOW)).toBe('no permission');
  });
});

it.each<[why: string, Queued, readonly Queued[], readonly OpenCall[], LineState]>([
  ['another call to this number is under way', fire('n'), [], [open('n')], {}],
  ['urgent calls wait for a line', anomaly('a'), [fire('f')], [], {}],
  ['no line is free', fire('f'), [], [open('x')], full(1)],
  ['throttled', fire('f', { reason: 'throttled' }), [], [open('x')], full(1)],
  ['is about to be dialled', fire('f'), [], [], {}],
])('says why somebody waits: %s', (why, one, others, calls, line) => {
  expect(whyWaiting(one, [one, ...others], calls, line, NOW)).toBe(why);
});
