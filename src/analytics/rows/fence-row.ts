import { DecodeError, decodingRow } from '../../storage/errors.ts';
import { type StoringWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { FENCE_KEY } from './keys.ts';
import { MAX_STRIPES } from './stripe-keys.ts';

/**
 * The `stripes` row of a shard. The shard's very first commit inserts it, and the first commit of every other stripe changes it
 * at the version that it read. So stripes appear one by one.
 */
export interface Fence {
  readonly etag: string;
  /** How many stripes the shard has, numbered from 0. */
  readonly stripes: number;
}

/** Reads the fence of a shard; undefined where it has no commit. @throws {StorageTrouble | DamagedRow} */
export const readFence = async (table: Table, partition: string): Promise<Fence | undefined> => {
  const row = await table.get(partition, FENCE_KEY);
  return row && fenceFrom(row);
};

/** What a fence says. @throws {DamagedRow} */
export const fenceFrom = (row: StoredRow): Fence =>
  decodingRow(row, () => {
    const { stripes } = row.properties;
    if (typeof stripes !== 'number' || stripes < 0 || stripes > MAX_STRIPES) {
      throw new DecodeError(`stripes is not a number from 0 to ${MAX_STRIPES}`);
    }
    return { etag: row.etag, stripes };
  });

/** Writes that the shard has so many stripes. */
export const fenceWrite = (fence: Fence | undefined, stripes: number): StoringWrite =>
  writeOf(FENCE_KEY, fence?.etag, { stripes });
