import { describe, expect, it } from 'vitest';

import { FORMAT } from '../../../src/analytics/rows/format.ts';
import {
  EMPTY_CAMERA_LIST,
  EMPTY_TOTAL,
  readTotal,
  totalWrites,
  withCameras,
  type StoredTotal,
  type TotalRow,
} from '../../../src/analytics/rows/total-row.ts';
import { ANY_VERSION } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { ONE_FRAME } from '../arbitraries.ts';

const PARTITION = '2026-11-21_00';

const named = (count: number, length: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => String(index).padStart(length, 'x'));

const writesOf = (stored: StoredTotal | undefined, total: TotalRow): ReturnType<typeof totalWrites> =>
  totalWrites(stored, total, (key) =>
    key === 'total' ? stored?.etag : stored?.lists[Number(key.slice(-4)) - 1]?.etag,
  );

/** Writes a total as recorders do, and reads it again. */
const written = async (table: Table, ids: readonly string[], commit: number): Promise<StoredTotal | undefined> => {
  const total = { ...EMPTY_TOTAL, tally: ONE_FRAME, commit, cameras: withCameras(EMPTY_CAMERA_LIST, ids) };
  const writes = Array.from(writesOf(await readTotal(table, PARTITION), total), (write) => ({
    ...write,
    properties: { ...write.properties, n: commit },
  }));
  await table.transact(PARTITION, writes);
  const stored = await readTotal(table, PARTITION);
  expect(stored).toMatchObject({ commit, stripes: 1, tally: ONE_FRAME });
  expect([stored?.cameras.ids, [...(stored?.cameras.indexes ?? [])]]).toEqual([ids, [...total.cameras.indexes]]);
  return stored;
};

describe("a shard's total", () => {
  it('is read with the rows of its list, of which only the texts that changed are written again', async () => {
    const table = new Table(new MemoryTable(), { format: FORMAT });
    expect(await readTotal(table, PARTITION)).toBeUndefined();
    for (const [commit, count] of [1_300, 2_000, 6_000].entries()) await written(table, named(count, 128), commit + 1);
    const stored = await written(table, named(6_000, 128), 4);
    const grown = {
      ...EMPTY_TOTAL,
      ...stored,
      cameras: withCameras(stored?.cameras ?? EMPTY_CAMERA_LIST, ['one-more']),
    };
    const changed = writesOf(stored, grown).map(({ rowKey, properties }) => [rowKey, Object.keys(properties)]);
    expect(changed).toEqual([
      ['total', ['day', 'active_cameras']],
      ['cameras|0002', ['cameras_10']],
    ]);
    expect(await readTotal(table, PARTITION, 1), 'another stripe').toBeUndefined();
  });

  it('has its own cameras, and not those that were appended to the list since it was read', async () => {
    const table = new Table(new MemoryTable(), { format: FORMAT });
    await written(table, named(4_000, 128), 1);
    const earlier = {
      kind: 'merge',
      rowKey: 'total',
      etag: ANY_VERSION,
      properties: { active_cameras: 3_999 },
    } as const;
    await table.transact(PARTITION, [earlier]);
    const cameras = (await readTotal(table, PARTITION))?.cameras;
    expect(cameras?.ids).toEqual(named(3_999, 128));
    expect(cameras?.indexes.size).toBe(3_999);
  });
});
