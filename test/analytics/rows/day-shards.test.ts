import { describe, expect, it, vi } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { shardOf } from '../../../src/analytics/model/shard.ts';
import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { repairDay } from '../../../src/analytics/audit/repair.ts';
import { DayClosed } from '../../../src/analytics/rows/day-shards.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
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

  it('cost one look and one manifest, however many requests come with the first events of the day; one that failed is tried again', async () => {
    const storage = new MemoryStorage();
    const { shards } = storage.process(2);
    const reads = vi.spyOn(storage.connection, 'get').mockRejectedValueOnce(new DamagedRow(DATE, SHARDS_KEY, 'once'));
    const writes = vi.spyOn(storage.connection, 'transact');
    const claims = async () => Promise.allSettled(all(20).map(async () => shards.claim(DATE)));
    expect(new Set((await claims()).map(({ status }) => status))).toEqual(new Set(['rejected']));
    const manifests = await claims();
    expect(new Set(manifests.map(({ status }) => status))).toEqual(new Set(['fulfilled']));
    // The one that failed; then none there, and what was written.
    expect(reads).toHaveBeenCalledTimes(3);
    expect(writes).toHaveBeenCalledTimes(2);
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

  it('are not made up where the manifest is lost, whatever COUNTER_SHARDS says by now: not by events, not by the timer', async () => {
    const storage = new MemoryStorage();
    await storage.process(4).record(frames(START, 40));
    await storage.connection.transact(DATE, [{ kind: 'delete', rowKey: SHARDS_KEY }]);
    const lowered = storage.process(1);
    // Damage is told: the endpoint answers 500 and names the row, the timer logs it.
    await expect(lowered.record(frames(START, 40))).rejects.toThrow('it is missing, and the day has rows');
    await expect(lowered.shards.close(DATE)).rejects.toThrow(DamagedRow);
    await expect(lowered.answer({ start: START, end: START + DAY })).rejects.toThrow(DamagedRow);
    const report = await auditDay(lowered.table, DATE);
    await repairDay(lowered.table, report, { say: () => undefined, pause: async () => undefined });
    expect(new Set(await lowered.record(frames(START, 40)))).toEqual(new Set(['unchanged']));
    expect(await storage.process().answer({ start: START, end: START + DAY })).toMatchObject({ total_events: 40 });
  });

  it.each([59_999, 60_001])('are those of a table that was made anew, %i ms after the last look', async (after) => {
    const storage = new MemoryStorage();
    const process = storage.process(2);
    passed(0, 0);
    await process.record(frames(START, 20));
    storage.connection.drop();
    passed(after, after);
    const isForgotten = after > 60_000;
    expect(new Set(await process.record(frames(START, 20)))).toEqual(new Set([isForgotten ? 'recorded' : 'unchanged']));
    const { total_events } = await process.answer({ start: START, end: START + DAY });
    expect(total_events).toBe(isForgotten ? 20 : 0);
  });

  it('are known within a minute to a process that only answers, once a repair has changed them', async () => {
    const storage = new MemoryStorage();
    await storage.process(4).record(frames(START, 40));
    const [manifest] = storage.connection.rows(DATE);
    const write = async (shards: number) =>
      storage.connection.transact(DATE, [
        { kind: 'merge', rowKey: manifest?.rowKey ?? '', etag: ANY_VERSION, properties: { shards } },
      ]);
    await write(1);
    passed(0, 0);
    const reader = storage.process();
    const total = async () => (await reader.answer({ start: START, end: START + DAY })).total_events;
    expect(await total()).toBeLessThan(40);
    await write(4);
    passed(60_001, 60_001);
    expect(await total()).toBe(40);
  });

  it('take no changes from the moment of the closing on, by the clock of storage: that of the process may be wrong, and says so', async () => {
    const storage = new MemoryStorage();
    const start = Date.now();
    storage.now = () => start;
    const lines: unknown[] = [];
    const log = { info: () => undefined, error: () => undefined, warn: (...line: unknown[]) => void lines.push(line) };
    vi.spyOn(Date, 'now').mockReturnValue(start - 180_000);
    const behind = new CountingProcess(storage.connection, 1, { log });
    await behind.record(frames(START, 1));
    await storage.process().shards.close(DATE);
    storage.now = () => start + 120_000;
    vi.spyOn(Date, 'now').mockReturnValue(start - 60_000);
    expect(await behind.record(frames(START, 1))).toEqual([
      { code: 'day_closed', refused: expect.stringContaining('is closed') },
    ]);
    expect(lines).toEqual([['clock is off', { ahead_seconds: -180 }]]);
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
