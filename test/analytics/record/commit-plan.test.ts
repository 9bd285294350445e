import { expect, it } from 'vitest';

import { EMPTY_TALLY, type DayTally } from '../../../src/analytics/model/tally.ts';
import { keyed, planCommit, type Snapshot } from '../../../src/analytics/record/commit-plan.ts';
import { EMPTY_CAMERA } from '../../../src/analytics/rows/camera-row.ts';
import { type DayRow, EMPTY_DAY } from '../../../src/analytics/rows/day-row.ts';
import { indexesOf } from '../../../src/analytics/rows/properties.ts';
import { all, MINUTE, SHARD, START, toEventMessage } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';

/** A shard without rows. */
const NOTHING: Snapshot = {
  partition: SHARD,
  stripe: 0,
  day: undefined,
  hours: new Map(),
  cameras: new Map(),
  events: new Map(),
  etags: new Map(),
  firstStripe: 'missing',
};

const message = (more: Partial<PlainMessage> = {}): PlainMessage => {
  const ts = START + 495n * MINUTE;
  return { cameraId: 'ridge-04', eventId: 'f-1', ts, time: START, ...more };
};

const CONFIGURED = new Set(['fire', 'smoke']);
const plan = (snapshot: Snapshot, messages: readonly Partial<PlainMessage>[]) => {
  const sent = messages.map((one) => keyed(toEventMessage(message(one))));
  const { outcomes, ...planned } = planCommit(snapshot, sent, CONFIGURED);
  return { ...planned, outcomes: outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : outcome.code)) };
};

/** A shard in which one message is recorded, by another stripe or the stripe of the snapshot. */
const after = (first: Partial<PlainMessage>, isElsewhere = false): Snapshot => {
  const { message: sent, eventKey } = keyed(toEventMessage(message(first)));
  const { counters, writes } = plan(NOTHING, [first]);
  const events = new Map([[eventKey, { ts: sent.ts, facets: sent.facets }]]);
  const etags = new Map(writes.map(({ rowKey }) => [rowKey, 'e']));
  if (counters === undefined || isElsewhere) return { ...NOTHING, stripe: 1, events, etags };
  return { ...NOTHING, ...counters, events, etags };
};
const withDay = (day: Partial<DayRow>): Snapshot => ({ ...NOTHING, day: { ...EMPTY_DAY, ...day } });

const named = (count: number): Record<string, number> =>
  Object.fromEntries(all(count).map((index) => [`c${index}`, 1]));
const NO_COUNTS = { reviewed: 0, annotations: 0, flagged: 0, confirmed: 0 };
const tallyOf = (counts: Record<string, number>): DayTally => ({
  ...EMPTY_TALLY,
  categories: new Map(Object.entries(counts).map(([name, detections]) => [name, { ...NO_COUNTS, detections }])),
});

it('a transaction folds the messages about one event, and begins with the day row', () => {
  const { outcomes, writes } = plan(NOTHING, [
    { time: START + 2n, annotations: { fire: 1 } },
    { time: START + 1n, annotations: { smoke: 5 } },
    { time: START + 1n, detections: { smoke: 1 } },
    { time: START + 2n, annotations: { fire: 1 } },
  ]);
  expect(outcomes).toEqual(['recorded', 'superseded', 'recorded', 'unchanged']);
  // A day row that is not as it was read shows at once that another writer is in the stripe.
  expect(writes.map(({ rowKey }) => rowKey)).toEqual([
    'day|00',
    'hour|08|00',
    'camera|ridge-04|00',
    'event|0815|ridge-04|f-1',
  ]);
});

it.each([
  ['striped', { kind: 'merge', etag: '*', properties: { striped: true } }],
  ['alone', { kind: 'merge', etag: '*', properties: { striped: true } }],
  ['missing', { kind: 'insert', properties: { striped: true, tally: expect.any(Uint8Array) } }],
] as const)('the first commit of another stripe says so in stripe 0, which is %s', (firstStripe, write) => {
  const first = plan({ ...NOTHING, stripe: 7, firstStripe }, [{}]).writes;
  expect(first.map(({ rowKey }) => rowKey)).toEqual([
    'day|07',
    'hour|08|07',
    'camera|ridge-04|07',
    'event|0815|ridge-04|f-1',
    'day|00',
  ]);
  expect(first.at(-1)).toMatchObject(write);
  // A stripe that has a row, but no count yet: a seal was taken away.
  const later = plan({ ...withDay({}), stripe: 7, firstStripe }, [{}]).writes;
  expect(later.some(({ rowKey }) => rowKey === 'day|00')).toBe(firstStripe !== 'striped');
});

it('a message that makes no difference to the counters writes them all the same: its camera is active', () => {
  const { outcomes, writes } = plan(NOTHING, [{ removed: true, detections: { smoke: 1 } }]);
  expect(outcomes).toEqual(['recorded']);
  expect(writes.map(({ rowKey }) => rowKey)).toContain('hour|08|00');
});

const EVENT = { detections: { smoke: 2 }, annotations: { fire: 1 }, reviewed: false };

it.each<readonly [string, Partial<PlainMessage>, string]>([
  ['repeated', EVENT, 'unchanged'],
  ['older', { time: START - 1n, detections: { smoke: 9 } }, 'superseded'],
  ['older in one facet and known in the others', { time: START - 1n, reviewed: true }, 'superseded'],
  ['of the same time with another value', { annotations: { fire: 2 } }, 'superseded'],
  ['the same, with a category that is 0', { annotations: { fire: 1, smoke: 0 } }, 'unchanged'],
  ['without a facet', { time: START - 1n }, 'unchanged'],
])('a message that is %s is told as such, and writes nothing', (_what, facets, outcome) => {
  expect(plan(after(EVENT), [facets])).toMatchObject({ outcomes: [outcome], writes: [] });
});

/** With the configured categories, which the camera has not sent yet. */
const FULL_CAMERA = { detections: named(64 - CONFIGURED.size) };
/** 64 other categories were sent before `fire` and `smoke` were configured. */
const LATE_CONFIGURED: Snapshot = {
  ...withDay({ cameras: indexesOf(['ridge-04']) }),
  cameras: new Map([['ridge-04', { ...EMPTY_CAMERA, tally: tallyOf(named(64)) }]]),
};
/** A stripe that is full, and another stripe has counted the event. */
const FULL: Snapshot = { ...after({ detections: { x: 2 } }, true), day: withDay({ tally: tallyOf(named(750)) }).day };
const CAMERAS_BUT_ONE = indexesOf(all(31_999).map((index) => index.toString(36)));
/** Ids of 128 characters: one more fits into the 200,000 characters. */
const IDS_BUT_ONE = indexesOf(all(1_549).map((index) => String(index).padStart(128, 'k')));
const [MORE, FIRE] = [{ more: 1 }, { fire: 1 }];

it.each<readonly [string, Snapshot, readonly Partial<PlainMessage>[], outcomes: string]>([
  [
    'another time of an event',
    after({}),
    [{ ts: START + 496n * MINUTE - 1n }, { eventId: 'f-2' }],
    'changed_time recorded',
  ],
  [
    'category 65 of a camera in one day, with the configured ones',
    after(FULL_CAMERA),
    [{ annotations: MORE }, { annotations: { c0: 1 } }, { cameraId: 'ridge-05', detections: MORE }],
    'too_many recorded recorded',
  ],
  [
    'category 65 of a camera in one transaction, and no configured category',
    NOTHING,
    [FULL_CAMERA, { annotations: MORE }, { detections: FIRE, annotations: { smoke: 1, c0: 1 } }],
    'recorded too_many recorded',
  ],
  [
    "category 751 of a shard's day, with the configured ones",
    withDay({ tally: tallyOf(named(750 - 3)) }),
    [{ detections: { x: 1 } }, { cameraId: 'b', detections: { y: 1 } }, { cameraId: 'c', detections: { x: 1, c5: 1 } }],
    'recorded too_many recorded',
  ],
  [
    "camera 32,001 of a shard's day",
    withDay({ cameras: CAMERAS_BUT_ONE }),
    [{ cameraId: 'NEW' }, { cameraId: 'OTHER' }, { cameraId: 'NEW', eventId: 'f-2' }, { cameraId: '5' }],
    'recorded too_many recorded recorded',
  ],
  [
    'an id after 200,000 characters of ids',
    withDay({ cameras: IDS_BUT_ONE }),
    [{ cameraId: 'n'.repeat(128) }, { cameraId: 'm'.repeat(128) }, { cameraId: [...IDS_BUT_ONE.keys()][5] ?? '' }],
    'recorded too_many recorded',
  ],
  [
    'no configured category of a camera whose others took the room before',
    LATE_CONFIGURED,
    [{ detections: { fire: 1, c0: 1 } }, { eventId: 'f-2', detections: { fire: 1, more: 1 } }],
    'recorded too_many',
  ],
  [
    'no configured category of a shard whose others took the room before',
    withDay({ tally: tallyOf(named(750)) }),
    [{ detections: FIRE }, { eventId: 'f-2', detections: MORE }],
    'recorded too_many',
  ],
  [
    'no edit that only takes counts away, although its stripe is full',
    FULL,
    [
      { time: START + 1n, detections: { x: 1 } },
      { eventId: 'f-2', detections: { x: 1 } },
    ],
    'recorded recorded',
  ],
  [
    'an edit that adds a category to a stripe that is full',
    FULL,
    [
      { time: START + 1n, detections: { y: 1 } },
      { time: START + 2n, detections: {} },
    ],
    'too_many recorded',
  ],
  ['65 categories in one message, and counts none of them', NOTHING, [{ detections: named(65) }], 'too_many'],
])('a recorder refuses %s', (_, snapshot, messages, outcomes) => {
  const planned = plan(snapshot, messages);
  expect(planned.outcomes.join(' ')).toBe(outcomes);
  expect(planned.writes.length > 0).toBe(outcomes.includes('recorded'));
});
