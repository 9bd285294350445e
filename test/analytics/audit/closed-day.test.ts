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
import { MemoryStorage, MemoryTable } from '../stripes/memory-storage.ts';

const auditOf = async (storage: MemoryStorage): Promise<AuditReport> => {
  const table = tableOn(storage);
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

/** A table that closes the day before it answers a query of one partition, when that is asked for so many times. */
class ClosingTable extends MemoryTable {
  readonly #storage: MemoryStorage;
  readonly #at: readonly [partition: string, from: string, times: number];
  #seen = 0;

  constructor(storage: MemoryStorage, ...at: readonly [partition: string, from: string, times: number]) {
    super(storage, async () => undefined);
    this.#storage = storage;
    this.#at = at;
  }

  override async page(...asked: Parameters<MemoryTable['page']>): ReturnType<MemoryTable['page']> {
    const [partition, from, times] = this.#at;
    if (asked[0] === partition && asked[1].from === from && (this.#seen += 1) === times) {
      await closeOn(tableOn(this.#storage));
    }
    return super.page(...asked);
  }

  get closed(): boolean {
    return this.#seen >= this.#at[2];
  }
}

describe('a day that is closed during its audit', () => {
  it.each([
    ['before its event rows are read', 'event|', 1],
    ['before the minute rows of an hour are read', 'minute|0800', 1],
    ['before the versions of the minute rows are read again', 'minute|', 2],
  ])('%s is read again, as a closed day', async (_, from, times) => {
    const storage = new MemoryStorage();
    await recordDay(storage);
    // The last shard with events: no other one is audited after it, and tells that the day is closed.
    const partition = partitions.findLast((own) => storage.get(own, TOTAL_KEY) !== undefined) ?? '';
    const table = new ClosingTable(storage, partition, from, times);
    const report = await auditDay(table, new DayShards(table, SHARDS), day);
    expect(table.closed).toBe(true);
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
