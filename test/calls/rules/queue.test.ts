import { describe, expect, it } from 'vitest';

import type { Pauses } from '../../../src/calls/rules/pauses.ts';
import { next, type Queued, type Slot, waitsFor } from '../../../src/calls/rules/queue.ts';
import { START as NOW } from '../new-case.ts';

const fire = (who: string, more: Partial<Queued> = {}): Queued => ({
  who,
  number: `+${who}`,
  isUrgent: true,
  isCalledAgain: false,
  position: 0,
  queuedAt: NOW - 1_000,
  dueAt: NOW - 1_000,
  ...more,
});
const anomaly = (who: string, more: Partial<Queued> = {}): Queued => fire(who, { isUrgent: false, ...more });
const again = (who: string, more: Partial<Queued> = {}): Queued => fire(who, { isCalledAgain: true, ...more });

/** A line that a call has taken. */
const taken = (who: string, ms = 60_000): Slot => ({ who, number: `+${who}`, until: NOW + ms });

/** The decision: `dial a`, `wait`, or `wait 1500` ms. */
const said = (queue: readonly Queued[], slots: readonly Slot[], pauses: Pauses, callsAtOnce = 2): string => {
  const decided = next(queue, slots, pauses, { callsAtOnce }, NOW);
  if (decided.kind === 'dial') return `dial ${decided.recipient.who}`;
  return decided.until === undefined ? 'wait' : `wait ${decided.until - NOW}`;
};

describe.each<
  [rule: string, ...(readonly [what: string, Queued[], Slot[], Pauses, callsAtOnce: number, expected: string][])]
>([
  [
    'lines',
    ['a second call of two', [fire('c')], [taken('a')], {}, 2, 'dial c'],
    ['no third', [fire('c')], [taken('a'), taken('b', 7_000)], {}, 2, 'wait 7000'],
    ['no second call of one', [fire('c')], [taken('a')], {}, 1, 'wait 60000'],
    ['a line is taken until its time', [fire('c')], [taken('a', 1)], {}, 1, 'wait 1'],
    ['and not longer', [fire('c')], [taken('a', 0)], {}, 1, 'dial c'],
  ],
  [
    'the last line',
    ['an anomaly leaves one of two free', [anomaly('c')], [taken('a')], {}, 2, 'wait 60000'],
    ['which a fire uses', [anomaly('c'), fire('f')], [taken('a')], {}, 2, 'dial f'],
    ['also beside a fire', [anomaly('c')], [taken('fire')], {}, 2, 'wait 60000'],
    ['two anomalies on three lines', [anomaly('c')], [taken('a')], {}, 3, 'dial c'],
    ['not three', [anomaly('c')], [taken('a'), taken('b', 9_000)], {}, 3, 'wait 9000'],
    ['the only line', [anomaly('c')], [], {}, 1, 'dial c'],
  ],
  [
    'order',
    ['urgent first', [anomaly('a', { queuedAt: 0 }), again('f', { position: 9 })], [], {}, 2, 'dial f'],
    [
      'not called yet before called again',
      [again('a', { queuedAt: 0 }), fire('b', { position: 9 })],
      [],
      {},
      2,
      'dial b',
    ],
    ['then the first of each', [fire('b', { position: 1, queuedAt: 0 }), fire('a')], [], {}, 2, 'dial a'],
    ['then by waiting time', [fire('a'), fire('b', { queuedAt: NOW - 1_001 })], [], {}, 2, 'dial b'],
    ['then by name: all instances agree', [fire('b'), fire('a')], [], {}, 2, 'dial a'],
    ['nobody before the time', [fire('a', { dueAt: NOW + 1 })], [], {}, 2, 'wait 1'],
    ['from the very time on', [fire('a', { dueAt: NOW })], [], {}, 2, 'dial a'],
    ['nobody at all', [], [], {}, 2, 'wait'],
  ],
  [
    'one call at a time to a number',
    ['it waits until the number is free', [fire('a')], [taken('a', 5)], {}, 2, 'wait 5'],
    ['and blocks no other', [fire('a'), fire('b', { position: 9 })], [taken('a')], {}, 2, 'dial b'],
  ],
  [
    'who was refused last lets one other go first',
    ['of equal urgency', [fire('a'), fire('b', { position: 1 })], [], { refusedLast: 'a' }, 2, 'dial b'],
    ['not of less', [fire('a'), anomaly('b')], [], { refusedLast: 'a' }, 2, 'dial a'],
    ['alone it is dialed', [fire('a')], [], { refusedLast: 'a' }, 2, 'dial a'],
  ],
  [
    'pauses',
    ['after refusals', [fire('a')], [], { pauseUntil: NOW + 1 }, 2, 'wait 1'],
    ['are over at their end', [fire('a')], [], { pauseUntil: NOW }, 2, 'dial a'],
    ['after a fault', [fire('a')], [], { fault: { until: NOW + 9, alertedAt: NOW } }, 2, 'wait 9'],
    ['the pace of the account', [fire('a')], [], { nextStartAt: NOW + 201 }, 2, 'wait 1'],
    ['which 200 ms do not matter to', [fire('a')], [], { nextStartAt: NOW + 200 }, 2, 'dial a'],
    [
      'somebody due later comes first',
      [fire('a'), fire('b', { dueAt: NOW + 5 })],
      [],
      { pauseUntil: NOW + 9 },
      2,
      'wait 5',
    ],
  ],
])('%s', (_, ...cases) => {
  it.each(cases)('%s', (_what, queue, slots, pauses, callsAtOnce, expected) => {
    expect(said(queue, slots, pauses, callsAtOnce)).toBe(expected);
    expect(said(queue.toReversed(), slots, pauses, callsAtOnce)).toBe(expected);
  });
});

it.each<[reason: string, slots: Slot[], pauses: Pauses]>([
  ['line', [], {}],
  ['number', [{ ...taken('other'), number: '+a' }], { fault: { until: NOW + 1, alertedAt: NOW } }],
  ['line', [taken('a')], {}],
  ['set_up', [], { fault: { until: NOW + 1, alertedAt: NOW }, pauseUntil: NOW + 1 }],
  ['pause', [], { fault: { until: NOW, alertedAt: NOW }, pauseUntil: NOW + 1 }],
  ['line', [], { pauseUntil: NOW }],
])('a recipient that is due waits for: %s', (reason, slots, pauses) => {
  expect(waitsFor(fire('a'), slots, pauses, NOW)).toBe(reason);
});
