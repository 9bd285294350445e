import { describe, expect, it } from 'vitest';

import { busiest, type CameraOrder } from '../../../src/analytics/model/camera-order.ts';
import { withKnownCategories } from '../../../src/analytics/model/known-categories.ts';
import { MAX_SHARDS, shardOf } from '../../../src/analytics/model/shard.ts';
import { minus, plus, type Tally } from '../../../src/analytics/model/tally.ts';

/** A tally with three counts of events, and three of each category. */
const tallyOf = (counts: readonly number[], categories: Readonly<Record<string, readonly number[]>>): Tally => {
  const [events = 0, reviewed = 0, annotated = 0] = counts;
  return {
    events,
    reviewed,
    annotated,
    categories: new Map(
      Object.entries(categories).map(([name, [detections = 0, ofReviewed = 0, annotations = 0]]) => [
        name,
        { detections, reviewed: ofReviewed, annotations },
      ]),
    ),
  };
};

const ONE = tallyOf([1, 2, 3], { fire: [4, 5, 6] });

describe('tallies', () => {
  it('are added and subtracted counter by counter, with the categories of the first in their order', () => {
    const sum = plus(ONE, tallyOf([10, 20, 30], { smoke: [40, 50, 60], fire: [70, 80, 90] }));
    expect(sum).toEqual(tallyOf([11, 22, 33], { fire: [74, 85, 96], smoke: [40, 50, 60] }));
    expect([...sum.categories.keys()]).toEqual(['fire', 'smoke']);
    expect(minus(ONE, ONE), 'every category stays').toEqual(tallyOf([], { fire: [0, 0, 0] }));
  });

  it('have the known categories with 0 beside those that were counted, sorted', () => {
    const known = withKnownCategories(tallyOf([1], { smoke: [2], fog: [2] }), ['smoke', 'fire']);
    expect([...known.categories]).toEqual([...tallyOf([1], { fire: [], fog: [2], smoke: [2] }).categories]);
  });
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
    tally: tallyOf([events, reviewed, annotated], { smoke: [smoke, 9, 9] }),
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
