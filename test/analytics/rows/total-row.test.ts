import { FORMAT } from '../../../src/analytics/rows/format.ts';
import {
  EMPTY_CAMERA_LIST,
  withCameras,
  EMPTY_TOTAL,
  readTotal,
  totalWrites,
  type TotalRow,
  type StoredTotal,
} from '../../../src/analytics/rows/total-row.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { describe, expect, it } from 'vitest';

import { DamagedRow } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import { EMPTY_TALLY, plus, type Tally } from '../../../src/analytics/model/tally.ts';
import { lazily } from '../../../src/azure/lazily.ts';
import { CountingStorage } from '../counting.ts';

const one: Tally = {
  events: 1,
  reviewed: 1,
  annotated: 1,
  categories: new Map([['smoke', { detections: 2, reviewed: 1, annotations: 1 }]]),
};

const PARTITION = '2026-11-21_00';

const totalOf = (cameras: number, length: number): TotalRow => ({
  ...EMPTY_TOTAL,
  commit: 1,
  tally: one,
  cameras: withCameras(
    EMPTY_CAMERA_LIST,
    Array.from({ length: cameras }, (_, index) => String(index).padStart(length, 'x')),
  ),
});

const etagOf =
  (stored: StoredTotal | undefined) =>
  (key: string): string | undefined =>
    key === 'total' ? stored?.etag : stored?.lists[Number(key.slice(-4)) - 1]?.etag;

const write = async (table: Table, stored: StoredTotal | undefined, total: TotalRow): Promise<number> => {
  const writes = totalWrites(stored, total, etagOf(stored));
  await table.transact(
    PARTITION,
    writes.map((one_) => ({ ...one_, properties: { ...one_.properties, n: total.commit } })),
  );
  return writes.length;
};

describe("a shard's total", () => {
  it('is undefined where there are no events', async () => {
    const table = new Table(new AzureTable(lazily(() => new CountingStorage().client())), { format: FORMAT });
    expect(await readTotal(table, PARTITION)).toBeUndefined();
    expect(EMPTY_TOTAL).toMatchObject({ tally: EMPTY_TALLY, cameras: EMPTY_CAMERA_LIST, commit: 0, stripes: 1 });
  });

  it('is a row and a row of its camera list, read back unchanged, and only its own row is written again', async () => {
    const table = new Table(new AzureTable(lazily(() => new CountingStorage().client())), { format: FORMAT });
    const total = totalOf(1_300, 12);
    expect(await write(table, undefined, total)).toBe(2);
    const stored = await readTotal(table, PARTITION);
    const lists = [{ etag: expect.any(String), texts: total.cameras.texts }];
    expect(stored).toEqual({ ...total, etag: expect.any(String), lists });
    expect(await write(table, stored, { ...total, tally: plus(one, one), commit: 2 })).toBe(1);
    expect(await readTotal(table, PARTITION)).toMatchObject({ tally: { events: 2 }, commit: 2 });
  });

  it('of another stripe is another row', async () => {
    const storage = new CountingStorage();
    const table = new Table(new AzureTable(lazily(() => storage.client())), { format: FORMAT });
    await write(table, undefined, totalOf(3, 8));
    expect(await readTotal(table, PARTITION, 1)).toBeUndefined();
  });

  it('continues in further rows where they do not, and writes only the changed ones', async () => {
    const table = new Table(new AzureTable(lazily(() => new CountingStorage().client())), { format: FORMAT });
    const total = totalOf(6_000, 128);
    // A transaction takes 4 MiB and a row 1 MiB: the service adds a hundred cameras at a time at most.
    let stored: StoredTotal | undefined;
    for (const count of [2_000, 4_000, 6_000]) {
      const part = { ...total, cameras: withCameras(EMPTY_CAMERA_LIST, total.cameras.ids.slice(0, count)) };
      await write(table, stored, part);
      stored = await readTotal(table, PARTITION);
      expect(stored?.cameras).toEqual(part.cameras);
    }
    expect(stored?.lists).toHaveLength(2);
    const grown = { ...total, cameras: withCameras(total.cameras, ['one-more']) };
    const writes = totalWrites(stored, grown, etagOf(stored));
    expect(
      writes.map(({ rowKey, properties }) => [
        rowKey,
        Object.keys(properties).filter((name) => name.startsWith('cam')),
      ]),
    ).toEqual([
      ['total', []],
      ['cameras|0002', ['cameras_10']],
    ]);
    await table.transact(PARTITION, writes);
    expect((await readTotal(table, PARTITION))?.cameras.ids).toEqual([...total.cameras.ids, 'one-more']);
  });

  it('has its own cameras and not those that were appended to the list since', async () => {
    const storage = new CountingStorage();
    const table = new Table(new AzureTable(lazily(() => storage.client())), { format: FORMAT });
    const total = totalOf(4_000, 128);
    await write(table, undefined, {
      ...total,
      cameras: withCameras(EMPTY_CAMERA_LIST, total.cameras.ids.slice(0, 2_000)),
    });
    await write(table, await readTotal(table, PARTITION), total);
    // As a reader sees it who read the total just before the list grew.
    await storage
      .client()
      .updateEntity({ partitionKey: PARTITION, rowKey: 'total', active_cameras: 3_999 }, 'Merge', { etag: '*' });
    const read = await readTotal(table, PARTITION);
    expect(read?.cameras.ids).toEqual(total.cameras.ids.slice(0, 3_999));
    expect(read?.cameras.indexes.get(total.cameras.ids[3_999] ?? '')).toBeUndefined();
  });

  it.each<[string, Record<string, unknown>]>([
    ['fewer cameras than it says', { active_cameras: 4 }],
    ['a number of cameras that is text', { active_cameras: '3' }],
    ['a number of stripes that is text', { stripes: '2' }],
    ['no commit number', { n: 'one' }],
    ['a tally that is no JSON', { day: '{' }],
  ])('that is damaged is refused as a whole: %s', async (_damage, damage) => {
    const storage = new CountingStorage();
    const table = new Table(new AzureTable(lazily(() => storage.client())), { format: FORMAT });
    await write(table, undefined, totalOf(3, 8));
    const damaged = { partitionKey: PARTITION, rowKey: 'total', ...damage };
    await storage.client().updateEntity(damaged, 'Merge', { etag: '*' });
    const error: unknown = await readTotal(table, PARTITION).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DamagedRow);
    expect(error).toMatchObject({ partitionKey: PARTITION, rowKey: 'total' });
  });
});
