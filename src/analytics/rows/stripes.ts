import { DecodeError, decodingRow, StorageTrouble } from '../../storage/errors.ts';
import { type KeyRange, type NewProperties, type StoredRow, type StoringWrite, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { FENCE_KEY, TOTAL_KEY, twoDigits } from './keys.ts';
import { readWhole } from './properties.ts';

// The counter rows of a shard exist once per stripe, and a counter is the sum over the stripes: how they are named, counted and read as of
// one moment.

/** Most stripes of a shard. More instances than that share stripes; a day that has so many writers wants more shards. */
export const MAX_STRIPES = 64;

/**
 * The key of a counter row in a stripe: `total`, `total 01`, `total 02`. Why the rows of all stripes are neighbours is in the README, under
 * Stripes: between `camera|cam-1` and `camera|cam-1 01` there is nothing, and `camera|cam-10` comes after both.
 */
export const inStripe = (key: string, stripe: number): string => (stripe === 0 ? key : `${key} ${twoDigits(stripe)}`);

/** A counter row to read: its key in stripe 0, and the properties. */
export interface RowRequest {
  readonly key: string;
  readonly select: readonly string[];
}

/** The keys of a counter row in all stripes: `!` is the character after the space. */
export const stripesOf = (key: string): KeyRange => ({ from: key, before: `${key}!` });

/** The plain key of a counter row and its stripe. @throws {DecodeError} */
export const parseStripe = (rowKey: string): { readonly key: string; readonly stripe: number } => {
  const [key = '', suffix, ...more] = rowKey.split(' ');
  if (suffix === undefined) return { key, stripe: 0 };
  const stripe = Number(suffix);
  if (more.length > 0 || !/^\d\d$/.test(suffix) || stripe === 0 || stripe >= MAX_STRIPES) {
    throw new DecodeError('its key has the suffix of no stripe');
  }
  return { key, stripe };
};

/**
 * The property of every counter row that says in which commit of its stripe the row was last written. Each commit writes the `total`
 * row of its stripe with the next number, and the same number into every counter row that it touches. So a `total` whose number is
 * not below that of another row cannot be older than it.
 */
export const COMMIT_NUMBER = 'n';

/** Greatest commit number: the SDK sends numbers without a type, and storage takes them for numbers of 32 bits. */
export const MAX_COMMIT = 2 ** 31 - 1;

/** The commit in which a counter row was last written; 0: the row is not stored. @throws {DamagedRow} */
export const commitNumberOf = (row: StoredRow | undefined): number =>
  row === undefined ? 0 : decodingRow(row, () => readWhole(COMMIT_NUMBER, row.properties, 0, MAX_COMMIT));

const STRIPES = 'stripes';

/** What a `total` row says of its shard, without its tally. */
export interface ShardState {
  /** The number of the stripe's latest commit. */
  readonly commit: number;
  /** How many stripes the shard has, numbered from 0. Only stripe 0's row says it; the others say 1. */
  readonly stripes: number;
}

/** The properties that {@link stateFrom} reads. */
export const STATE_PROPERTIES: readonly string[] = [COMMIT_NUMBER, STRIPES];

/** What announces a stripe in stripe 0's `total` row. */
export const announcement = (stripes: number): NewProperties => ({ [STRIPES]: stripes });

/** The state of a shard, from a `total` row. @throws {DamagedRow} */
export const stateFrom = (row: StoredRow): ShardState => ({
  commit: commitNumberOf(row),
  stripes: decodingRow(row, () => readWhole(STRIPES, { ...announcement(1), ...row.properties }, 1, MAX_STRIPES)),
});

/**
 * The `stripes` row of a shard. The shard's very first commit inserts it, and the first commit of every other stripe changes it
 * at the version that it read. So stripes appear one by one.
 */
export interface Fence {
  readonly etag: string;
  /** How many stripes the shard has, numbered from 0. */
  readonly stripes: number;
}

/** Reads the fence of a shard; undefined if it has no commit. @throws {StorageTrouble | DamagedRow} */
export const readFence = async (table: Table, partition: string): Promise<Fence | undefined> => {
  const row = await table.get(partition, FENCE_KEY);
  return row && fenceFrom(row);
};

/** What a fence says. @throws {DamagedRow} */
export const fenceFrom = (row: StoredRow): Fence =>
  decodingRow(row, () => ({ etag: row.etag, stripes: readWhole(STRIPES, row.properties, 1, MAX_STRIPES) }));

/** Writes that the shard has so many stripes. */
export const fenceWrite = (fence: Fence | undefined, stripes: number): StoringWrite =>
  writeOf(FENCE_KEY, fence?.etag, { [STRIPES]: stripes });

const PAGE_TRIES = 3;
const COLLECT_TRIES = 50;

/** The rows of one counter in all stripes, by stripe, as they were at one moment. */
export type StripeRows = ReadonlyMap<number, StoredRow>;

/**
 * Reads a counter row in all stripes at one moment. The rows are neighbours, and a page of a query is read together. If storage does not
 * answer them in one page, they are read by their keys until two readings are the same.
 *
 * @param key the row's key in stripe 0
 * @throws {StorageTrouble | DamagedRow}
 */
export const readStripes = async (
  table: Table,
  partition: string,
  key: string,
  select?: readonly string[],
): Promise<StripeRows> => {
  for (let tries = 0; tries < PAGE_TRIES; tries += 1) {
    const { rows, continuation } = await table.page(partition, stripesOf(key), { select });
    if (continuation === undefined) {
      return new Map(rows.map((row) => [decodingRow(row, () => parseStripe(row.rowKey).stripe), row]));
    }
  }
  // If two readings in a row have the same versions, no row changed between the end of the first one and the start of the second, and the
  // number of stripes did not either.
  let before: string | undefined;
  for (let tries = 0; tries < COLLECT_TRIES; tries += 1) {
    const total = await table.get(partition, TOTAL_KEY, { select: STATE_PROPERTIES });
    const stripes = total === undefined ? 0 : stateFrom(total).stripes;
    const rows = await Promise.all(
      Array.from({ length: stripes }, async (_, stripe) => table.get(partition, inStripe(key, stripe), { select })),
    );
    const versions = rows.map((row) => row?.etag ?? '').join('\n');
    if (versions === before) {
      return new Map(rows.flatMap((row, stripe): [number, StoredRow][] => (row === undefined ? [] : [[stripe, row]])));
    }
    before = versions;
  }
  throw new StorageTrouble(0);
};
