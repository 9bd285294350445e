import { describe, expect, it, vi } from 'vitest';

import { DayClosed } from '../../../src/analytics/errors.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom, now } from '../../../src/analytics/model/instant.ts';
import { shardOf } from '../../../src/analytics/model/shard.ts';
import { CLOSING_MARGIN } from '../../../src/analytics/rows/days.ts';
import { DAYS_PARTITION, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { all, DATE, frame, HOUR, MemoryStorage, SILENT, START } from '../counting.ts';
import { DAY } from '../oracle.ts';

const WHOLE = { start: START, end: START + 2n * DAY };
const frames = (from: bigint, cameras: number) => all(cameras).map((index) => frame(`ridge-${index}`, 'f', from));

/** Lets some milliseconds pass by each of the clocks of a process. */
const passed = (byWall: number, bySteady: number): void => {
  vi.spyOn(Date, 'now').mockReturnValue(1_795_248_000_000 + byWall);
  vi.spyOn(performance, 'now').mockReturnValue(1_000 + bySteady);
};

// The world of counting plays lost rows, holds and marks.
describe('the shards of a day', () => {
  it('are as many as COUNTER_SHARDS says when its first event comes, and stay as many when that changes', async () => {
    const storage = new MemoryStorage();
    await storage.process(4).record(frames(START, 40));
    const partitions = all(4).map((shard) => shardPartition(DATE, shard));
    expect(storage.connection.partitions()).toEqual([...partitions, DAYS_PARTITION]);
    const changed = storage.process(5);
    await changed.record([...frames(START, 50), ...frames(START + DAY, 30)]);
    const days = [DATE, dayOf(instantFrom(START + DAY))].map(async (day) => changed.days.find(day));
    expect(await Promise.all(days)).toMatchObject([{ shards: 4 }, { shards: 5 }]);
    expect(await changed.answer(WHOLE)).toMatchObject({ total_events: 80 });
  });

  it('cost one look and one row, however many requests come with the first events of the day; one that failed is tried again', async () => {
    const storage = new MemoryStorage();
    const { days } = storage.process(2);
    const reads = vi.spyOn(storage.connection, 'get').mockRejectedValueOnce(new DamagedRow('days', DATE, 'once'));
    const writes = vi.spyOn(storage.connection, 'transact');
    for (const status of ['rejected', 'fulfilled']) {
      const claims = await Promise.allSettled(all(20).map(async () => days.claim(DATE)));
      expect(new Set(claims.map((claim) => claim.status))).toEqual(new Set([status]));
    }
    // The read that failed; then no row, and the row that was written.
    expect(reads).toHaveBeenCalledTimes(3);
    expect(writes).toHaveBeenCalledTimes(1);
  });

  it('are looked up before the first event of a shard: after storage was emptied none is counted where nobody looks', async () => {
    const storage = new MemoryStorage();
    const recorder = storage.process(1, { pause: async () => undefined });
    await recorder.record(frames(START + HOUR, 1));
    storage.connection.drop();
    await storage.process(2).record(frames(START, 10).filter(({ cameraId }) => shardOf(cameraId, 2) === 1));
    expect(await recorder.record(frames(START, 10))).toHaveLength(10);
    expect(await storage.process().answer(WHOLE)).toMatchObject({ total_events: 10 });
  });
});

describe('a day that closes', () => {
  it('is announced an hour ahead, and takes no changes from then on, by the clock of each process: one that is wrong says so', async () => {
    const storage = new MemoryStorage();
    const start = Date.now();
    storage.now = () => start;
    const lines: unknown[] = [];
    const log = { info: () => undefined, error: () => undefined, warn: (...line: unknown[]) => void lines.push(line) };
    const clock = vi.spyOn(Date, 'now').mockReturnValue(start - 1_500_000);
    const behind = storage.process(1, { log });
    await behind.record(frames(START, 1));
    clock.mockReturnValue(start);
    const { closes = 0n } = (await storage.process().days.close(DATE)) ?? {};
    expect([closes, CLOSING_MARGIN]).toEqual([now() + HOUR, HOUR]);
    clock.mockReturnValue(start + 3_600_000 - 1);
    expect(await behind.record(frames(START, 2))).toEqual(['unchanged', 'recorded']);
    clock.mockReturnValue(start + 3_600_000);
    expect(await behind.record(frames(START, 1))).toMatchObject([{ code: 'day_closed' }]);
    expect(lines).toEqual([['clock is off', { ahead_seconds: -1_500 }]]);
  });

  it.each([60_000, -60_000])(
    'has no warning of an instance whose clock is %i ms off, but of one that is 1 s worse',
    async (off) => {
      const storage = new MemoryStorage();
      const warn = vi.fn();
      const { days } = storage.process(1, { log: { ...SILENT, warn } });
      vi.spyOn(Date, 'now').mockReturnValue(1_795_248_000_000);
      for (const aheadMs of [off, off + Math.sign(off) * 1_000]) {
        storage.now = () => Date.now() - aheadMs;
        await days.stored(DATE);
      }
      expect(warn.mock.calls).toEqual([['clock is off', { ahead_seconds: Math.sign(off) * 61 }]]);
    },
  );

  it.each([
    ['by its clock, although the machine was suspended and its steady clock stood still', 60_001, 0],
    ['by its steady clock, although its clock was set back', -3_600_000, 60_001],
  ])('is read again after a minute %s, so that no recorder misses it', async (_, wall, steady) => {
    const storage = new MemoryStorage();
    const { days } = storage.process(3);
    passed(0, 0);
    await days.claim(DATE);
    await storage.change(DATE, { closes: '1970-01-01T00:00:00.000000Z' }, DAYS_PARTITION);
    passed(59_999, 59_999);
    expect(await days.claim(DATE), 'a reading that is fresh').toMatchObject({ shards: 3 });
    passed(wall, steady);
    await expect(days.claim(DATE)).rejects.toThrow(DayClosed);
  });
});
