import { describe, expect, it } from 'vitest';

import { MAX_SHARDS, shardOf } from '../../../src/analytics/model/shard.ts';

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
