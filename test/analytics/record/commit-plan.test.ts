import { expect, it } from 'vitest';

import { EMPTY_TALLY, NO_COUNT, type Tally } from '../../../src/analytics/model/tally.ts';
import { keyed } from '../../../src/analytics/record/batch.ts';
import { planCommit, type ShardRow, type Snapshot } from '../../../src/analytics/record/commit-plan.ts';
import { EMPTY_CAMERA } from '../../../src/analytics/rows/camera-row.ts';
import { cameraKey, DAY_KEY } from '../../../src/analytics/rows/keys.ts';
import { EMPTY_STRIPE, NO_CAMERAS, type StripeRow, withCameras } from '../../../src/analytics/rows/stripe-row.ts';
import { all, MINUTE, SHARD, START, toEventMessage } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';

/** A shard with these rows. */
const withRows = (rows: Iterable<readonly [string, ShardRow]>): Snapshot => ({
  partition: SHARD,
  stripe: 0,
  rows: new Map(Array.from(rows, ([key, row]) => [key, { ...row, etag: 'e' }])),
  sealed: undefined,
  elsewhere: new Map(),
});
const NOTHING = withRows([]);

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

/** A shard in which one message is recorded. */
const after = (one: Partial<PlainMessage>): Snapshot => {
  const { message: sent, eventKey } = keyed(toEventMessage(message(one)));
  return withRows([
    ...plan(NOTHING, [one]).counters,
    [eventKey, { kind: 'event', value: { ts: sent.ts, facets: sent.facets } }],
  ]);
};
const withStripe = (stripe: Partial<StripeRow>): Snapshot =>
  withRows([[DAY_KEY, { kind: 'stripe', value: { ...EMPTY_STRIPE, ...stripe } }]]);

const named = (count: number): Record<string, number> =>
  Object.fromEntries(all(count).map((index) => [`c${index}`, 1]));
const tallyOf = (detections: Record<string, number>): Tally => ({
  ...EMPTY_TALLY,
  categories: new Map(Object.entries(detections).map(([name, count]) => [name, { ...NO_COUNT, detections: count }])),
});

it('a transaction folds the messages about one event, and begins with the day row', () => {
  const { outcomes, writes } = plan(NOTHING, [
    { time: START + 2n, annotations: { fire: 1 } },
    { time: START + 1n, annotations: { smoke: 5 } },
    { time: START + 1n, detections: { smoke: 1 } },
    { time: START + 2n, annotations: { fire: 1 } },
  ]);
  expect(outcomes).toEqual(['recorded', 'superseded', 'recorded', 'unchanged']);
  // A day row that is not as it was read shows at once that another writer is in the stripe. Only a new stripe has `day sealed`.
  const kinds = writes.map(({ rowKey }) => rowKey.split('|')[0]);
  expect(kinds.join()).toBe('day,hour,minute,camera,event,day sealed');
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
const LATE_CONFIGURED = withRows([
  [cameraKey('ridge-04'), { kind: 'camera', value: { ...EMPTY_CAMERA, tally: tallyOf(named(64)) } }],
  [DAY_KEY, { kind: 'stripe', value: { ...EMPTY_STRIPE, cameras: withCameras(NO_CAMERAS, ['ridge-04']) } }],
]);
const CAMERAS_BUT_ONE = withCameras(
  NO_CAMERAS,
  all(31_999).map((index) => index.toString(36)),
);
/** Ids of 128 characters: one more fits into the 200,000 characters. */
const IDS_BUT_ONE = withCameras(
  NO_CAMERAS,
  all(1_549).map((index) => String(index).padStart(128, 'k')),
);
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
    withStripe({ tally: tallyOf(named(750 - 3)) }),
    [{ detections: { x: 1 } }, { cameraId: 'b', detections: { y: 1 } }, { cameraId: 'c', detections: { x: 1, c5: 1 } }],
    'recorded too_many recorded',
  ],
  [
    "camera 32,001 of a shard's day",
    withStripe({ cameras: CAMERAS_BUT_ONE }),
    [{ cameraId: 'NEW' }, { cameraId: 'OTHER' }, { cameraId: 'NEW', eventId: 'f-2' }, { cameraId: '5' }],
    'recorded too_many recorded recorded',
  ],
  [
    'an id after 200,000 characters of ids',
    withStripe({ cameras: IDS_BUT_ONE }),
    [{ cameraId: 'n'.repeat(128) }, { cameraId: 'm'.repeat(128) }, { cameraId: IDS_BUT_ONE.ids[5] ?? '' }],
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
    withStripe({ tally: tallyOf(named(750)) }),
    [{ detections: FIRE }, { eventId: 'f-2', detections: MORE }],
    'recorded too_many',
  ],
  ['65 categories in one message, and counts none of them', NOTHING, [{ detections: named(65) }], 'too_many'],
])('a recorder refuses %s', (_, snapshot, messages, outcomes) => {
  const planned = plan(snapshot, messages);
  expect(planned.outcomes.join(' ')).toBe(outcomes);
  expect(planned.writes.length > 0).toBe(outcomes.includes('recorded'));
});
