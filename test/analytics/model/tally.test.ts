import { describe, expect, it } from 'vitest';

import { busiest, type CameraOrder } from '../../../src/analytics/model/camera-order.ts';
import { accuracyOf } from '../../../src/analytics/model/accuracy.ts';
import { withConfiguredCategories } from '../../../src/analytics/model/configured-categories.ts';
import { MAX_SHARDS, shardOf } from '../../../src/analytics/model/shard.ts';
import { NO_COUNT, type Tally } from '../../../src/analytics/model/tally.ts';

/** A tally with three counts of events, and how often each category was detected. */
const tallyOf = (
  [events = 0, reviewed = 0, annotated = 0]: readonly number[],
  detected: Readonly<Record<string, number>>,
): Tally => {
  const categories = Object.entries(detected).map(([name, detections]) => {
    return [name, { ...NO_COUNT, detections, reviewed: 9, annotations: 9 }] as const;
  });
  return { events, reviewed, annotated, categories: new Map(categories) };
};

it('a tally has the configured categories with 0 beside those that were counted, sorted', () => {
  const { categories } = withConfiguredCategories(tallyOf([1], { smoke: 2, fog: 2 }), ['smoke', 'fire']);
  expect(Array.from(categories, ([name, { detections }]) => `${name} ${detections}`)).toEqual([
    'fire 0',
    'fog 2',
    'smoke 2',
  ]);
  expect(categories.get('fire')).toEqual(NO_COUNT);
});

it.each([
  [
    { flagged: 4, confirmed: 3, reviewed: 5 },
    { missed: 2, precision: 0.75, recall: 0.6 },
  ],
  [
    { flagged: 2, confirmed: 0, reviewed: 0 },
    { missed: 0, precision: 0, recall: undefined },
  ],
  [
    { flagged: 0, confirmed: 0, reviewed: 1 },
    { missed: 1, precision: undefined, recall: 0 },
  ],
])('of the reviewed events %j the AI was as often right as %j', (counts, expected) => {
  expect(accuracyOf({ ...NO_COUNT, ...counts })).toMatchObject(expected);
});

it.each<[CameraOrder, string]>([
  ['total_events', 'ä a b Z'],
  ['reviewed_total_events', 'Z b a ä'],
  ['annotated_total_events', 'a b Z ä'],
  [{ category: 'smoke' }, 'Z a ä b'],
  [{ category: 'constructor' }, 'Z a b ä'],
])('cameras are in the order of %j, ties by id, as many as asked for', (order, expected) => {
  const counts = { b: [3, 1, 2, 0], a: [3, 0, 3, 5], Z: [1, 1, 1, 5], ä: [7, 0, 0, 1] };
  const cameras = Object.entries(counts).map(([cameraId, [events = 0, reviewed = 0, annotated = 0, smoke = 0]]) => ({
    cameraId,
    tally: tallyOf([events, reviewed, annotated], { smoke }),
  }));
  for (const limit of [1, 4, 10]) {
    const ids = busiest(cameras, order, limit).map(({ cameraId }) => cameraId);
    expect(ids).toEqual(expected.split(' ').slice(0, limit));
  }
});

describe('the shard of a camera', () => {
  it('never changes, because stored rows are found by it', () => {
    expect(['ridge-04', 'ridge-05', '見張り台', "o'brien's 🔥"].map((id) => shardOf(id, 64))).toEqual([26, 7, 13, 39]);
  });

  it.each([1, 2, 7, MAX_SHARDS])('is one of %i, each with about as many cameras', (shards) => {
    const cameras = Array.from({ length: 100 * shards }, (_, index) => shardOf(`ridge-${index}`, shards));
    const sizes = Array.from({ length: shards }, (_, shard) => cameras.filter((of) => of === shard).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(cameras.length);
    expect(Math.min(...sizes)).toBeGreaterThan(50);
  });
});
