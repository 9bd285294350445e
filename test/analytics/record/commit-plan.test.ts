import { describe, expect, it } from 'vitest';

import { EMPTY_TALLY, NO_COUNT, type Tally } from '../../../src/analytics/model/tally.ts';
import { keyed } from '../../../src/analytics/record/batch.ts';
import {
  type CommitPlan,
  planCommit,
  type ShardRow,
  type Snapshot,
  type Versioned,
} from '../../../src/analytics/record/commit-plan.ts';
import { EMPTY_CAMERA } from '../../../src/analytics/rows/camera-row.ts';
import { cameraKey, DAY_KEY } from '../../../src/analytics/rows/keys.ts';
import { EMPTY_STRIPE, NO_CAMERAS, type StripeRow, withCameras } from '../../../src/analytics/rows/stripe-row.ts';
import { all, MINUTE, SHARD, START, toEventMessage } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';

/** A shard with these rows. */
const withRows = (rows: Iterable<readonly [string, ShardRow]>): Snapshot => ({
  partition: SHARD,
  stripe: 0,
  rows: new Map(Array.from(rows, ([key, row]): [string, Versioned<ShardRow>] => [key, { ...row, etag: 'e' }])),
  sealed: undefined,
  elsewhere: new Map(),
});
const NOTHING = withRows([]);

const CONFIGURED = new Set(['fire', 'smoke']);

const plan = (snapshot: Snapshot, messages: readonly PlainMessage[]): CommitPlan =>
  planCommit(
    snapshot,
    messages.map((one) => keyed(toEventMessage(one))),
    CONFIGURED,
  );

/** A shard in which one message is recorded. */
const after = (one: PlainMessage): Snapshot => {
  const { message, eventKey } = keyed(toEventMessage(one));
  const event: ShardRow = { kind: 'event', value: { ts: message.ts, facets: message.facets } };
  return withRows([...plan(NOTHING, [one]).counters, [eventKey, event]]);
};
const withStripe = (stripe: Partial<StripeRow>): Snapshot =>
  withRows([[DAY_KEY, { kind: 'stripe', value: { ...EMPTY_STRIPE, ...stripe } }]]);

const message = (more: Partial<PlainMessage> = {}): PlainMessage => {
  const ts = START + 495n * MINUTE;
  return { cameraId: 'ridge-04', eventId: 'f-1', ts, time: START, ...more };
};

const named = (count: number): Record<string, number> =>
  Object.fromEntries(all(count).map((index) => [`c${index}`, 1]));

const tallyOf = (detections: Record<string, number>): Tally => ({
  ...EMPTY_TALLY,
  categories: new Map(Object.entries(detections).map(([name, count]) => [name, { ...NO_COUNT, detections: count }])),
});

it('a transaction writes nothing where nothing is new, folds the messages about one event, and begins with the day row', () => {
  const event = message({ detections: { smoke: 2 } });
  expect(plan(after(event), [event, message({ time: START - 1n, detections: { smoke: 9 } })])).toMatchObject({
    outcomes: ['unchanged', 'superseded'],
    writes: [],
  });
  const folded = plan(NOTHING, [
    message({ time: START + 2n, annotations: { fire: 1 } }),
    message({ time: START + 1n, annotations: { smoke: 5 } }),
    message({ time: START + 1n, detections: { smoke: 1 } }),
    message({ time: START + 2n, annotations: { fire: 1 } }),
  ]);
  expect(folded.outcomes).toEqual(['recorded', 'superseded', 'recorded', 'unchanged']);
  // A day row that is not as it was read shows at once that another writer is in the stripe. Only a new stripe has `day sealed`.
  const kinds = folded.writes.map(({ rowKey }) => rowKey.split('|')[0]);
  expect(kinds.join()).toBe('day,hour,minute,camera,event,day sealed');
});

it.each<readonly [string, Partial<PlainMessage>, string]>([
  ['older in one facet and known in the others', { time: START - 1n, reviewed: true }, 'superseded'],
  ['of the same time with another value', { annotations: { fire: 2 } }, 'superseded'],
  ['the same, with a category that is 0', { annotations: { fire: 1, smoke: 0 } }, 'unchanged'],
  ['without a facet', { time: START - 1n }, 'unchanged'],
])('a message that is %s is told as such', (_what, facets, outcome) => {
  const event = message({ detections: { smoke: 2 }, annotations: { fire: 1 }, reviewed: false });
  expect(plan(after(event), [message(facets)]).outcomes).toEqual([outcome]);
});

const refused = (said: string) => ({ code: expect.any(String), refused: expect.stringContaining(said) });

describe('a message that can never be recorded', () => {
  /** With the configured categories, which it has not sent yet. */
  const camera64 = { detections: named(64 - CONFIGURED.size) };
  const cameras = all(31_999).map((index) => index.toString(36));
  const longIds = all(1_549).map((index) => String(index).padStart(128, 'k'));
  /** A shard whose camera sent 64 categories before others were configured. */
  const full = withRows([
    [cameraKey('ridge-04'), { kind: 'camera', value: { ...EMPTY_CAMERA, tally: tallyOf(named(64)) } }],
    [DAY_KEY, { kind: 'stripe', value: { ...EMPTY_STRIPE, cameras: withCameras(NO_CAMERAS, ['ridge-04']) } }],
  ]);

  it.each<readonly [string, Snapshot, readonly Partial<PlainMessage>[], readonly unknown[]]>([
    [
      'is one whose event was first reported with another time',
      after(message()),
      [{ ts: message().ts + 1n, reviewed: true }, { eventId: 'f-2' }],
      [refused('data.ts_utc'), 'recorded'],
    ],
    [
      'has category 65 of a camera in one day, with the configured ones',
      after(message(camera64)),
      [{ annotations: { more: 1 } }, { annotations: { c0: 1 } }, { cameraId: 'ridge-05', detections: { more: 1 } }],
      [refused('64 categories'), 'recorded', 'recorded'],
    ],
    [
      'has category 65 of a camera in one transaction; a configured category is never refused',
      NOTHING,
      [camera64, { annotations: { more: 1 } }, { detections: { fire: 1 }, annotations: { smoke: 1, c0: 1 } }],
      ['recorded', refused('64 categories'), 'recorded'],
    ],
    [
      "has a category too many of a shard's day, in which there is room for the configured ones",
      withStripe({ tally: tallyOf(named(750 - 3)) }),
      [
        { detections: { x: 1 } },
        { cameraId: 'b', detections: { y: 1 } },
        { cameraId: 'c', detections: { x: 1, c5: 1 } },
      ],
      ['recorded', refused('750 categories'), 'recorded'],
    ],
    [
      "is of a camera too many of a shard's day",
      withStripe({ cameras: withCameras(NO_CAMERAS, cameras) }),
      [{ cameraId: 'NEW' }, { cameraId: 'OTHER' }, { cameraId: 'NEW', eventId: 'f-2' }, { cameraId: '5' }],
      ['recorded', refused('cameras'), 'recorded', 'recorded'],
    ],
    [
      'is of a camera for whose id the list has no room',
      withStripe({ cameras: withCameras(NO_CAMERAS, longIds) }),
      [{ cameraId: 'n'.repeat(128) }, { cameraId: 'm'.repeat(128) }, { cameraId: longIds[5] ?? '' }],
      ['recorded', refused('cameras'), 'recorded'],
    ],
    [
      'has no configured category, on a camera where others took the room before these were configured',
      full,
      [{ detections: { fire: 1, c0: 1 } }, { eventId: 'f-2', detections: { fire: 1, more: 1 } }],
      ['recorded', refused('64 categories')],
    ],
    [
      'has no configured category, in a shard where others took the room before these were configured',
      withStripe({ tally: tallyOf(named(750)) }),
      [{ detections: { fire: 1 } }, { eventId: 'f-2', detections: { more: 1 } }],
      ['recorded', refused('750 categories')],
    ],
  ])('%s', (_, snapshot, messages, outcomes) => {
    expect(plan(snapshot, messages.map(message)).outcomes).toEqual(outcomes);
  });

  it('changes no counter', () => {
    expect(plan(NOTHING, [message({ detections: named(65) })])).toMatchObject({ writes: [], counters: new Map() });
  });
});
