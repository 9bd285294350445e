import { describe, expect, it } from 'vitest';

import { MAX_CAMERA_CATEGORIES } from '../../../src/analytics/model/camera-event.ts';
import { EMPTY_TALLY, type Tally } from '../../../src/analytics/model/tally.ts';
import { keyed } from '../../../src/analytics/record/batch.ts';
import { planCommit, type CommitPlan } from '../../../src/analytics/record/commit-plan.ts';
import type { KnownRow, ShardRow, ShardSnapshot } from '../../../src/analytics/record/known-rows.ts';
import { MAX_CAMERAS_PER_SHARD } from '../../../src/analytics/rows/bitset.ts';
import { emptyCameraRow } from '../../../src/analytics/rows/camera-row.ts';
import { cameraKey, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { MAX_TALLY_CATEGORIES } from '../../../src/analytics/rows/properties.ts';
import { EMPTY_CAMERA_LIST, withCameras, EMPTY_TOTAL, type TotalRow } from '../../../src/analytics/rows/total-row.ts';
import { all, SHARD, START } from '../counting.ts';
import { toEventMessage } from '../counting-service.ts';
import type { PlainMessage } from '../oracle.ts';

/** A shard with these rows. */
const withRows = (rows: Iterable<readonly [string, ShardRow]>): ShardSnapshot => ({
  partition: SHARD,
  stripe: 0,
  rows: new Map(Array.from(rows, ([key, row]): [string, KnownRow] => [key, { ...row, etag: 'e' }])),
  fence: undefined,
  elsewhere: new Map(),
});
const NOTHING = withRows([]);

const KNOWN = new Set(['fire', 'smoke']);

const plan = (snapshot: ShardSnapshot, messages: readonly PlainMessage[]): CommitPlan =>
  planCommit(
    snapshot,
    messages.map((one) => keyed(toEventMessage(one))),
    KNOWN,
  );

const after = (...messages: readonly PlainMessage[]): ShardSnapshot => withRows(plan(NOTHING, messages).rows);
const withTotal = (total: Partial<TotalRow>): ShardSnapshot =>
  withRows([[TOTAL_KEY, { kind: 'total', value: { ...EMPTY_TOTAL, ...total } }]]);

const message = (more: Partial<PlainMessage> = {}): PlainMessage => ({
  eventId: 'f-1',
  cameraId: 'ridge-04',
  ts: START + 495n * 60_000_000n,
  time: START,
  ...more,
});

const named = (count: number, prefix = 'c'): Record<string, number> =>
  Object.fromEntries(all(count).map((index) => [`${prefix}${index}`, 1]));

const tallyOf = (categories: readonly string[]): Tally => ({
  ...EMPTY_TALLY,
  categories: new Map(categories.map((name) => [name, { detections: 1, reviewed: 0, annotations: 0 }])),
});

it('a transaction writes nothing where nothing is new, folds the messages about one event, and begins with the total', () => {
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
  // The event, and seven counter rows. A total that is not as it was read shows at once that another writer is in the stripe.
  expect([folded.writes[0]?.rowKey, folded.writes.length]).toEqual(['total', 8]);
});

it.each<readonly [string, Partial<PlainMessage>, string]>([
  ['older in one facet and known in the others', { time: START - 1n, reviewed: true }, 'superseded'],
  ['of the same time with another value', { annotations: { fire: 2 } }, 'superseded'],
  ['of the same time with another flag', { reviewed: true }, 'superseded'],
  ['the same again', { detections: { smoke: 2 }, annotations: { fire: 1 }, reviewed: false }, 'unchanged'],
  ['the same, with a category that is 0', { annotations: { fire: 1, smoke: 0 } }, 'unchanged'],
  ['without a facet', { time: START - 1n }, 'unchanged'],
])('a message that is %s is told as such', (_what, facets, outcome) => {
  const event = message({ detections: { smoke: 2 }, annotations: { fire: 1 }, reviewed: false });
  expect(plan(after(event), [message(facets)]).outcomes).toEqual([outcome]);
});

const refused = (said: string) => ({ code: expect.any(String), refused: expect.stringContaining(said) });

describe('a message that can never be recorded', () => {
  /** With the known ones, which it has not sent yet. */
  const camera64 = { detections: named(MAX_CAMERA_CATEGORIES - KNOWN.size) };
  const cameras = all(MAX_CAMERAS_PER_SHARD - 1).map((index) => `k${index}`);

  it.each<readonly [string, ShardSnapshot, readonly Partial<PlainMessage>[], readonly unknown[]]>([
    [
      'is one whose event was first reported with another time',
      after(message()),
      [{ ts: message().ts + 1n, reviewed: true }, { eventId: 'f-2' }],
      [refused('data.ts_utc'), 'recorded'],
    ],
    [
      'has category 65 of a camera in one day, with the known ones',
      after(message(camera64)),
      [{ annotations: { more: 1 } }, { annotations: { c0: 1 } }, { cameraId: 'ridge-05', detections: { more: 1 } }],
      [refused('64 categories'), 'recorded', 'recorded'],
    ],
    [
      'has category 65 of a camera in one transaction',
      NOTHING,
      [{ detections: named(60) }, { annotations: named(3, 'd') }, { annotations: named(2, 'd') }],
      ['recorded', refused('64 categories'), 'recorded'],
    ],
    [
      "has a category too many of a shard's day, in which there is room for the known ones",
      withTotal({ tally: tallyOf(Object.keys(named(MAX_TALLY_CATEGORIES - KNOWN.size - 1))) }),
      [
        { detections: { x: 1 } },
        { cameraId: 'b', detections: { y: 1 } },
        { cameraId: 'c', detections: { x: 1, c5: 1 } },
      ],
      ['recorded', refused(`${MAX_TALLY_CATEGORIES} categories`), 'recorded'],
    ],
    [
      "is of a camera too many of a shard's day",
      withTotal({ cameras: withCameras(EMPTY_CAMERA_LIST, cameras) }),
      [{ cameraId: 'a' }, { cameraId: 'b' }, { cameraId: 'a', eventId: 'f-2' }, { cameraId: 'k5' }],
      ['recorded', refused('cameras'), 'recorded', 'recorded'],
    ],
    [
      'has no known category: these are never refused on a camera',
      NOTHING,
      [
        camera64,
        { eventId: 'f-2', detections: { more: 1 } },
        { eventId: 'f-3', detections: { fire: 1 }, annotations: { smoke: 1 } },
        { eventId: 'f-4', detections: { more: 1 } },
      ],
      ['recorded', refused('64 categories'), 'recorded', refused('64 categories')],
    ],
    [
      'has no known category: these are never refused on a camera, also where others took the room before they were known',
      withRows([
        [
          cameraKey('ridge-04'),
          { kind: 'camera', value: { ...emptyCameraRow(0), tally: tallyOf(Object.keys(named(64))) } },
        ],
        [
          TOTAL_KEY,
          { kind: 'total', value: { ...EMPTY_TOTAL, cameras: withCameras(EMPTY_CAMERA_LIST, ['ridge-04']) } },
        ],
      ]),
      [{ detections: { fire: 1, c0: 1 } }, { eventId: 'f-2', detections: { fire: 1, more: 1 } }],
      ['recorded', refused('64 categories')],
    ],
    [
      'has no known category: these are never refused in a shard, also where others took the room before they were known',
      withTotal({ tally: tallyOf(Object.keys(named(MAX_TALLY_CATEGORIES))) }),
      [{ detections: { fire: 1 } }, { eventId: 'f-2', detections: { more: 1 } }],
      ['recorded', refused(`${MAX_TALLY_CATEGORIES} categories`)],
    ],
  ])('%s', (_, snapshot, messages, outcomes) => {
    expect(plan(snapshot, messages.map(message)).outcomes).toEqual(outcomes);
  });

  it('changes no counter', () => {
    const { writes, rows } = plan(NOTHING, [message({ detections: named(MAX_CAMERA_CATEGORIES + 1) })]);
    expect([writes, rows.size]).toEqual([[], 0]);
  });
});
