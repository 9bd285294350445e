import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { dayPartition, FENCE_KEY, SHARDS_KEY, shardPartition, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import type { TableConnection } from '../../../src/storage/connection.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { CountingStorage } from '../counting.ts';
import { DAY } from '../oracle.ts';

const START = 20_778n * DAY;
const day = dayOf(instantFrom(START));
const tomorrow = dayOf(instantFrom(START + DAY));

const frames = (from: bigint, cameras: number) =>
  Array.from({ length: cameras }, (_, index) => ({ cameraId: `ridge-${index}`, eventId: 'f', ts: from, time: from }));

describe('the shards of a day', () => {
  it('are as many as COUNTER_SHARDS says when its first event comes, and each has rows of its own', async () => {
    const storage = new CountingStorage();
    const process = storage.process(4);
    expect(await process.shards.find(day)).toBeUndefined();

    await process.record(frames(START, 40));

    expect(await storage.process(1).shards.find(day)).toBe(4);
    for (let shard = 0; shard < 5; shard += 1) {
      const total = await process.table.get(shardPartition(day, shard), TOTAL_KEY);
      expect(total !== undefined).toBe(shard < 4);
    }
  });

  it('stay as many when COUNTER_SHARDS changes; a new day has the new number', async () => {
    const storage = new CountingStorage();
    await storage.process(1).record(frames(START, 3));
    const changed = storage.process(5);
    await changed.record([...frames(START, 30), ...frames(START + DAY, 30)]);
    expect([await changed.shards.find(day), await changed.shards.find(tomorrow)]).toEqual([1, 5]);
    expect(await changed.answer({ start: START, end: START + 2n * DAY })).toMatchObject({ total_events: 60 });
  });

  it('are the same for all processes, also where each is set to another number and all start at once', async () => {
    const storage = new CountingStorage();
    const processes = [1, 2, 3, 64].map((shards) => storage.process(shards));
    const claimed = await Promise.all(processes.map(async ({ shards }) => shards.claim(day)));
    expect(new Set(claimed).size).toBe(1);
    expect([1, 2, 3, 64]).toContain(claimed[0]);
    expect(await storage.process().shards.find(day)).toBe(claimed[0]);
  });

  it('that are damaged are refused: no number is guessed', async () => {
    for (const shards of ['4', 0, 65, 2.5]) {
      const storage = new CountingStorage();
      const process = storage.process();
      await process.table.insert(dayPartition(day), SHARDS_KEY, { shards });
      await expect(process.shards.find(day)).rejects.toThrow(DamagedRow);
      await expect(process.record(frames(START, 1))).rejects.toThrow(DamagedRow);
    }
  });

  it('are told to two recorders that open the day at once, also if the second one asked before the first one wrote', async () => {
    const memory = new MemoryTable();
    const written = Promise.withResolvers<undefined>();
    let second: Promise<number> | undefined;
    let readings = 0;
    const connection: TableConnection = {
      create: async () => memory.create(),
      page: async (partition, range, query) => memory.page(partition, range, query),
      transact: async (partition, writes) => {
        // The answer to the second one is on its way for longer than the first one's writing takes.
        if (writes.some(({ rowKey }) => rowKey === SHARDS_KEY)) setTimeout(() => written.resolve(undefined), 50);
        return memory.transact(partition, writes);
      },
      get: async (partition, key, selection) => {
        // The first recorder has found no manifest, and the second one asks now.
        if (key === FENCE_KEY) second ??= shards.claim(day);
        const row = await memory.get(partition, key, selection);
        readings += key === SHARDS_KEY ? 1 : 0;
        if (key === SHARDS_KEY && readings === 2) await written.promise;
        return row;
      },
    };
    const shards = new DayShards(new Table(connection, { format: FORMAT }), 3);
    expect(await shards.claim(day)).toBe(3);
    expect(await second).toBe(3);
  });
});
