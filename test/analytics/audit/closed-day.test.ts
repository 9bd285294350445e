import { describe, expect, it } from 'vitest';

import { auditDay, type AuditReport } from '../../../src/analytics/audit/audit.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { inStripe } from '../../../src/analytics/rows/stripe-keys.ts';
import { toEventMessage } from '../counting.ts';
import {
  closeOn,
  day,
  MESSAGES,
  partitions,
  processOn,
  recordDay,
  SHARDS,
  tableOn,
} from '../retention/recorded-day.ts';
import { MemoryStorage } from '../stripes/memory-storage.ts';

const auditOf = async (storage: MemoryStorage, turn?: (request: string) => Promise<void>): Promise<AuditReport> => {
  const table = tableOn(storage, turn);
  return auditDay(table, new DayShards(table, SHARDS), day);
};

const differing = async (storage: MemoryStorage): Promise<readonly string[]> => {
  const { closed, differences } = await auditOf(storage);
  expect(closed).toBe(true);
  return differences.map(({ shard, counter }) => `shard ${shard}, ${counter}`);
};

/** The partition and the number of the shard that has several stripes. */
const stripedShard = (storage: MemoryStorage): { readonly partition: string; readonly shard: number } => {
  const shard = partitions.findIndex((own) => storage.get(own, inStripe(TOTAL_KEY, 1)) !== undefined);
  const partition = partitions[shard];
  if (partition === undefined) throw new Error('no shard has several stripes');
  return { partition, shard };
};

const breakRow = (storage: MemoryStorage, partition: string, rowKey: string): void =>
  void storage.transact(partition, [{ kind: 'merge', rowKey, etag: '*', properties: { day: '{' } }], 1);

describe('a day that is closed during its audit', () => {
  it.each([
    ['before its event rows are read', 'page event|', 1],
    ['before the minute rows of an hour are read', 'page minute|0800', 1],
    ['before the versions of the minute rows are read again', 'page minute|', 2],
  ])('%s is read again, as a closed day', async (_, awaited, times) => {
    const storage = new MemoryStorage();
    await recordDay(storage);
    let seen = 0;
    let closing: Promise<void> | undefined;
    const report = await auditOf(storage, async (request) => {
      if (request === awaited && (seen += 1) >= times) await (closing ??= closeOn(tableOn(storage)));
    });
    expect(closing).toBeDefined();
    expect(report).toMatchObject({ closed: true, differences: [] });
  });
});

describe('the audit of a closed day', () => {
  it.each([
    ['damaged', (storage: MemoryStorage, partition: string, key: string) => breakRow(storage, partition, key)],
    ['missing', (storage: MemoryStorage, partition: string, key: string) => storage.remove(partition, [key])],
  ])('reports a total of a stripe that is %s, and nothing that only its names could tell', async (_, damage) => {
    for (const stripe of [0, 1]) {
      const storage = new MemoryStorage();
      await recordDay(storage);
      await closeOn(tableOn(storage));
      const { partition, shard } = stripedShard(storage);
      damage(storage, partition, inStripe(TOTAL_KEY, stripe));
      const counter = stripe === 0 ? 'total' : 'total in stripe 01';
      expect(await differing(storage)).toEqual([`shard ${shard}, ${counter}`]);
    }
  });

  it('still finds a camera whose counters disagree where a total is damaged', async () => {
    const storage = new MemoryStorage();
    await recordDay(storage);
    await closeOn(tableOn(storage));
    const { partition, shard } = stripedShard(storage);
    const camera = storage.rows(partition).find(({ rowKey }) => rowKey.startsWith('camera|'));
    if (camera === undefined) throw new Error('the shard has no camera');
    const wrong = String(camera.properties['day']).replace('"events":', '"events":1');
    const { rowKey } = camera;
    storage.transact(partition, [{ kind: 'merge', rowKey, etag: '*', properties: { day: wrong } }], 1);
    breakRow(storage, partition, inStripe(TOTAL_KEY, 1));
    const name = rowKey.slice('camera|'.length).split(' ')[0];
    expect(await differing(storage)).toEqual([`shard ${shard}, camera ${name}`, `shard ${shard}, total in stripe 01`]);
  });

  it.each([
    ['damaged', (storage: MemoryStorage, partition: string) => breakRow(storage, partition, TOTAL_KEY)],
    ['missing', (storage: MemoryStorage, partition: string) => storage.remove(partition, [TOTAL_KEY])],
  ])('knows by the fence that the day is closed where its only total is %s', async (_, damage) => {
    const storage = new MemoryStorage();
    await processOn(storage).record(MESSAGES.map(toEventMessage));
    await closeOn(tableOn(storage));
    const shard = partitions.findIndex((own) => storage.get(own, TOTAL_KEY) !== undefined);
    damage(storage, partitions[shard] ?? '');
    expect(await differing(storage)).toEqual([`shard ${shard}, total`]);
  });
});
