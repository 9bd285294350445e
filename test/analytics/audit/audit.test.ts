import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import type { TableClient } from '@azure/data-tables';
import { beforeAll, describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { CountingStorage } from '../counting.ts';
import {
  COUNTER_DAMAGES,
  damageRow,
  DAY,
  deleted,
  EVENT,
  MANIFEST_DAMAGES,
  messages,
  set,
  SHARD,
  STRAY_KEYS,
  without,
  type Damage,
} from '../damaged-day.ts';

describe('the audit names the counter', () => {
  const storage = new CountingStorage();
  const client: TableClient = storage.client();
  const process = storage.process(2);
  beforeAll(async () => {
    await process.record(messages);
  });

  /** The counters that differ while a row is damaged; the row is restored afterwards. */
  const differing = async (partitionKey: string, rowKey: string, damage: Damage): Promise<readonly string[]> => {
    const restore = await damageRow(storage, partitionKey, rowKey, damage);
    const before = await rowsOf(client);
    const { differences } = await auditDay(process.table, DAY);
    expect(await rowsOf(client)).toEqual(before);
    await restore();
    return differences.map(({ counter }) => counter);
  };

  it('only where one differs', async () => {
    const report = await auditDay(process.table, DAY);
    expect(report).toMatchObject({ shards: 2, events: messages.length, differences: [] });
    expect(report.byShard.map(({ shard }) => shard)).toEqual([0, 1]);
    expect(report.counters).toBe(report.byShard.reduce((sum, { counters }) => sum + counters, 0));
  });

  it.each(COUNTER_DAMAGES)('of $rowKey with $what', async ({ rowKey, damage, counters }) => {
    const differences = await differing(SHARD, rowKey, damage);
    const others = rowKey.startsWith('minute|') ? [] : differences.filter((counter) => !counters.includes(counter));
    expect(new Set(differences)).toEqual(new Set([...counters, ...others]));
  });

  const COUNTERS_OF_EVENT = [
    'total',
    'hour 08',
    'minute 08:00',
    'sample 08:00:00.000000 of ridge-0',
    'camera ridge-0',
    'camera ridge-0 hour 08',
    'camera ridge-0 minute 08:00',
  ];
  it.each<readonly [string, Damage, readonly string[]]>([
    ['detections', set('detections', '{"smoke":5}'), [...COUNTERS_OF_EVENT]],
    ['detections', set('detections', '{"smoke":'), [`row ${EVENT}`, ...COUNTERS_OF_EVENT]],
    ['detections_time', set('detections_time', 'soon'), [`row ${EVENT}`]],
    ['reviewed', set('reviewed', false), [...COUNTERS_OF_EVENT]],
    ['annotations', without('annotations'), [...COUNTERS_OF_EVENT]],
    ['ts_utc', set('ts_utc', '2026-03-14T08:01:00.000000Z'), [`row ${EVENT}`]],
    ['ts_utc', set('ts_utc', '2026-03-15T08:00:00.000000Z'), [`row ${EVENT}`]],
    ['whole row', deleted, [...COUNTERS_OF_EVENT, 'minute 08:00']],
  ])('of an event whose %s is wrong', async (_, damage, counters) => {
    expect(await differing(SHARD, EVENT, damage)).toEqual(expect.arrayContaining([...counters]));
  });

  it.each(MANIFEST_DAMAGES)('of a day whose number of shards is %s', async (_, damage, counter) => {
    expect(await differing(DAY, 'shards', damage)).toEqual(expect.arrayContaining([counter]));
  });

  it.each(STRAY_KEYS)('or the row, where %s is a row that the service never writes', async (rowKey) => {
    await client.createEntity({
      partitionKey: SHARD,
      rowKey,
      format: 1,
      day: '{}',
      ts_utc: '2026-03-14T08:00:00.000000Z',
    });
    const { differences } = await auditDay(process.table, DAY);
    expect(differences.map(({ counter }) => counter)).toEqual([`row ${rowKey}`]);
    await client.deleteEntity(SHARD, rowKey);
  });

  it('of rows that are stored although they have no events', async () => {
    const { etag: _, timestamp: __, ...hour } = await client.getEntity(SHARD, 'hour|08');
    await client.createEntity({ ...hour, partitionKey: SHARD, rowKey: 'hour|23' });
    const { differences } = await auditDay(process.table, DAY);
    expect(differences.map(({ counter }) => counter)).toEqual(expect.arrayContaining(['minute 23:00', 'minute 23:00']));
    await client.deleteEntity(SHARD, 'hour|23');
    const { etag: _e, timestamp: _t, ...minute } = await client.getEntity(SHARD, 'minute|0800|00');
    await client.createEntity({ ...minute, partitionKey: SHARD, rowKey: 'minute|2301|00' });
    const report = await auditDay(process.table, DAY);
    expect(report.differences.map(({ counter }) => counter)).toEqual(['sample 23:01:00.000000 of ridge-0']);
    await client.deleteEntity(SHARD, 'minute|2301|00');
  });
});

/** Every row with its version and time of writing. */
const rowsOf = async (client: TableClient): Promise<readonly unknown[]> => {
  const rows: unknown[] = [];
  for await (const row of client.listEntities()) rows.push(row);
  return rows;
};

/** A table with a bug: the camera rows that it reads cannot be used. */
class BuggyTable extends Table {
  override async *pages(...args: Parameters<Table['pages']>): AsyncGenerator<readonly StoredRow[]> {
    for await (const page of super.pages(...args)) {
      yield page.map(({ partitionKey, rowKey, etag }) => ({
        partitionKey,
        rowKey,
        etag,
        get properties(): never {
          throw new TypeError('a bug');
        },
      }));
    }
  }
}

describe('a bug of the audit', () => {
  it('is thrown and not reported as damage', async () => {
    const storage = new CountingStorage();
    await storage.process().record(messages);
    const table = new BuggyTable(new AzureTable(() => storage.client()), { format: FORMAT });
    await expect(auditDay(table, DAY)).rejects.toThrow(new TypeError('a bug'));
  });
});
