import { describe, expect, it, vi } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { shardOf } from '../../../src/analytics/model/shard.ts';
import { DayClosed } from '../../../src/analytics/rows/day-shards.ts';
import { dayPartition, SHARDS_KEY, shardPartition, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { ANY_VERSION } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { all, CountingProcess, DATE, frame, MemoryStorage, START } from '../counting.ts';
import { DAY } from '../oracle.ts';

const tomorrow = dayOf(instantFrom(START + DAY));

const frames = (from: bigint, cameras: number) => all(cameras).map((index) => frame(`ridge-${index}`, 'f', from));

/** So many milliseconds passed by each of the clocks of a process. */
const passed = (byWall: number, bySteady: number): void => {
  vi.spyOn(Date, 'now').mockReturnValue(1_795_248_000_000 + byWall);
  vi.spyOn(performance, 'now').mockReturnValue(1_000 + bySteady);
};

describe('the shards of a day', () => {
  it('are as many as COUNTER_SHARDS says when its first event comes, and stay as many when that changes', async () => {
    const storage = new MemoryStorage();
    const process = storage.process(4);
    expect(await process.shards.find(DATE)).toBeUndefined();
    await process.record(frames(START, 40));
    const totals = [0, 1, 2, 3, 4].map(async (shard) => process.table.get(shardPartition(DATE, shard), TOTAL_KEY));
    expect((await Promise.all(totals)).map((total) => total !== undefined)).toEqual([true, true, true, true, false]);

    const changed = storage.process(5);
    await changed.record([...frames(START, 50), ...frames(START + DAY, 30)]);
    expect([await changed.shards.find(DATE), await changed.shards.find(tomorrow)]).toEqual([4, 5]);
    expect(await changed.answer({ start: START, end: START + 2n * DAY })).toMatchObject({ total_events: 80 });
  });

  it('are the same for all processes, also if each is set to another number and all start at once', async () => {
    const storage = new MemoryStorage();
    const processes = [1, 2, 3, 64].map((shards) => storage.process(shards));
    const claimed = await Promise.all(processes.map(async ({ shards }) => shards.claim(DATE)));
    const counts = claimed.map(({ shards }) => shards);
    expect([1, 2, 3, 64]).toContain(counts[0]);
    expect(new Set([...counts, await storage.process().shards.find(DATE)]).size).toBe(1);
  });

  it('are told to a recorder that looked for them before others opened the day and announced its closing', async () => {
    const storage = new MemoryStorage();
    const others = storage.process(2);
    await others.record(frames(START, 4));
    await others.shards.close(DATE);
    vi.spyOn(storage.connection, 'get').mockResolvedValueOnce(undefined);
    expect(await storage.process(3).shards.claim(DATE)).toMatchObject({ shards: 2 });
  });

  it('are looked up again before the first event of a shard, so that none is counted where nobody looks after storage was emptied', async () => {
    const storage = new MemoryStorage();
    const recorder = new CountingProcess(storage.connection, 1, { pause: async () => undefined });
    await recorder.record(frames(START + 3_600_000_000n, 1));
    storage.connection.drop();
    const [inFirst, inSecond] = [0, 1].map((shard) =>
      frames(START, 10).filter(({ cameraId }) => shardOf(cameraId, 2) === shard),
    );
    await storage.process(2).record(inSecond ?? []);
    await recorder.record([...(inFirst ?? []), ...(inSecond ?? [])]).catch(() => undefined);
    await recorder.record(frames(START, 10));
    expect(await storage.process().differences(DATE)).toEqual([]);
    expect(await storage.process().answer({ start: START, end: START + DAY })).toMatchObject({ total_events: 10 });
  });

  it.each([
    ['by its clock, although the machine was suspended and its steady clock stood still', 60_001, 0],
    ['by its steady clock, although its clock was set back', -3_600_000, 60_001],
  ])('are read again after a minute %s, so that no recorder misses that the day closes', async (_, wall, steady) => {
    const memory = new MemoryTable();
    const { shards } = new CountingProcess(memory, 3);
    passed(0, 0);
    await shards.claim(DATE);
    const properties = { closes: '2001-01-01T00:00:00.000000Z' };
    await memory.transact(dayPartition(DATE), [{ kind: 'merge', rowKey: SHARDS_KEY, etag: ANY_VERSION, properties }]);
    passed(59_999, 59_999);
    expect(await shards.claim(DATE), 'a reading that is fresh').toMatchObject({ shards: 3 });
    passed(wall, steady);
    await expect(shards.claim(DATE)).rejects.toThrow(DayClosed);
  });
});
