import { DecodeError, decodingRow } from '../../storage/errors.ts';
import { ANY_VERSION, type StoringWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { FENCE_KEY } from './keys.ts';
import { MAX_STRIPES } from './stripe-keys.ts';
import { CLOSED_MARK } from './total-row.ts';

/**
 * The `stripes` row of a shard. The shard's very first commit inserts it, the first commit of every other stripe changes it at the
 * version that it read, and so does the closing of the day. So stripes appear one by one, and none after the day is closed.
 */
export interface Fence {
  readonly etag: string;
  /** How many stripes the shard has, numbered from 0. */
  readonly stripes: number;
  readonly closed: boolean;
}

/** Reads the fence of a shard; undefined where it has no commit. @throws {StorageTrouble | DamagedRow} */
export const readFence = async (table: Table, partition: string): Promise<Fence | undefined> => {
  const row = await table.get(partition, FENCE_KEY);
  return row && fenceFrom(row);
};

const fenceFrom = (row: StoredRow): Fence =>
  decodingRow(row, () => {
    const { stripes, closed = false } = row.properties;
    if (typeof stripes !== 'number' || stripes < 0 || stripes > MAX_STRIPES) {
      throw new DecodeError(`stripes is not a number from 0 to ${MAX_STRIPES}`);
    }
    if (typeof closed !== 'boolean') throw new DecodeError('closed is not true or false');
    return { etag: row.etag, stripes, closed };
  });

/** Writes that the shard has so many stripes. */
export const fenceWrite = (fence: Fence | undefined, stripes: number): StoringWrite =>
  writeOf(FENCE_KEY, fence?.etag, { stripes });

/** Writes that the day is closed. Where the shard has no commit, its first one is kept from inserting the row. */
export const closedFenceWrite = (fence: Fence | undefined): StoringWrite =>
  fence === undefined
    ? { kind: 'insert', rowKey: FENCE_KEY, properties: { stripes: 0, ...CLOSED_MARK } }
    : { kind: 'merge', rowKey: FENCE_KEY, etag: ANY_VERSION, properties: CLOSED_MARK };
