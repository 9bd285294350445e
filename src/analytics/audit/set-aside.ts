import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { WriteConflict } from '../../storage/errors.ts';
import { copiedProperties, type RowWrite, type StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { COMMIT_NUMBER } from '../rows/commit-number.ts';
import { ALL_CAMERA_LISTS, FENCE_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { stripesOf } from '../rows/stripe-keys.ts';
import { announcement, emptyTotalProperties } from '../rows/total-row.ts';
import { stripeOf } from './stored-rows.ts';

/** Rows to set aside, by key, each with the version at which it was found to be damaged; undefined: whatever its version. */
export type RowsAside = ReadonlyMap<string, string | undefined>;

const TRIES = 60;
const MOST_PAUSE_MS = 40;

/** A transaction of 100 operations takes a write for each of up to 64 stripes, and two for each row that is moved. */
const ROWS_A_TRANSACTION = 15;

/**
 * So much above the last known commit number that no instance remembers the new number: one that does would take an emptied total
 * for its own.
 */
const FAR_ABOVE = 10_000_000;

/** A key has at most 512 characters. */
const MAX_KEY = 512;
/** So many characters of a long key are kept for the reader; the hash after them keeps long keys apart. */
const KEPT = 400;

/** The property of a row that was set aside with its whole key, if that does not fit into the new one. */
export const WHOLE_KEY = 'whole_key';

/** Writes a copy of a row, which was read exactly, at `damaged|<time>|<key>`. A key that would be too long is cut. */
export const copyAside = (row: StoredRow): RowWrite => {
  const { rowKey } = row;
  // Of this moment: a recorder may write a row again that was set aside, and the same repair may set that one aside too.
  const prefix = `damaged|${new Date().toISOString()}|`;
  const properties = copiedProperties(row);
  if (prefix.length + rowKey.length <= MAX_KEY) {
    return { kind: 'insert', rowKey: `${prefix}${rowKey}`, properties };
  }
  const hash = createHash('sha256').update(rowKey).digest('hex');
  // Half of a surrogate pair may be at the end.
  const start = rowKey.slice(0, KEPT).toWellFormed();
  return { kind: 'insert', rowKey: `${prefix}${start}|${hash}`, properties: { ...properties, [WHOLE_KEY]: rowKey } };
};

/**
 * Sets rows of one shard aside: copies them to another key of the partition and deletes them. A `total` row takes its camera list with it,
 * and one without counts takes its place: readers find the stripes by it. Stopped anywhere, it goes on when it is called again.
 *
 * @param onMoved called after each transaction
 * @throws {WriteConflict} if others always wrote first
 * @throws {StorageTrouble}
 */
export const setAside = async (
  table: Table,
  partition: string,
  rows: RowsAside,
  onMoved: (rows: readonly StoredRow[]) => void,
): Promise<void> => {
  const isTotal = (rowKey: string): boolean => stripeOf(rowKey)?.key === TOTAL_KEY;
  const others = [...rows].filter(([rowKey]) => !isTotal(rowKey));
  for (let first = 0; first < others.length; first += ROWS_A_TRANSACTION) {
    const some = new Map(others.slice(first, first + ROWS_A_TRANSACTION));
    onMoved(await unlessChanged(table, partition, async (totals) => move(table, partition, some, totals.map(fenceAt))));
  }
  for (const rowKey of [...rows.keys()].filter(isTotal)) {
    onMoved(await unlessChanged(table, partition, async (totals) => empty(table, partition, rowKey, totals)));
  }
};

/** A merge of nothing changes only the version of a row. */
const fenceAt = ({ rowKey, etag }: StoredRow): RowWrite => ({ kind: 'merge', rowKey, etag, properties: {} });

/** Does work whose writes fail if anything was committed to the shard since it began, by the totals: every commit changes one. */
const unlessChanged = async <Result>(
  table: Table,
  partition: string,
  work: (totals: readonly StoredRow[]) => Promise<Result>,
): Promise<Result> => {
  for (let tries = 1; ; tries += 1) {
    const totals = await table.all(partition, stripesOf(TOTAL_KEY));
    try {
      return await work(totals);
    } catch (error) {
      if (tries === TRIES || !(error instanceof WriteConflict)) throw error;
      await setTimeout(Math.random() * MOST_PAUSE_MS);
    }
  }
};

/** Moves rows in one transaction with other writes. A row that one of them replaces is only copied. */
const move = async (
  table: Table,
  partition: string,
  aside: RowsAside,
  writes: readonly RowWrite[],
): Promise<readonly StoredRow[]> => {
  const read = await Promise.all([...aside.keys()].map(async (key) => table.get(partition, key, { exact: true })));
  const rows = read.filter((row) => row !== undefined && (aside.get(row.rowKey) ?? row.etag) === row.etag);
  const moved = rows.filter((row) => row !== undefined);
  const replaced = writes.filter(({ kind }) => kind !== 'merge').map(({ rowKey }) => rowKey);
  if (moved.length + replaced.length === 0) return [];
  // A row beside the totals that is none of them is moved, and changed by nothing else.
  const isMoved = ({ kind, rowKey }: RowWrite): boolean =>
    kind === 'merge' && moved.some((row) => row.rowKey === rowKey);
  await table.transact(partition, [
    ...writes.filter((write) => !isMoved(write)),
    ...moved.map(copyAside),
    // A deletion takes any version: the other writes fail if a row may have changed.
    ...moved.flatMap(({ rowKey }) => (replaced.includes(rowKey) ? [] : [{ kind: 'delete', rowKey } as const])),
  ]);
  return moved;
};

/** Moves the `total` row of a stripe, if there is one, and its camera list, and writes a total without counts. */
const empty = async (
  table: Table,
  partition: string,
  totalKey: string,
  totals: readonly StoredRow[],
): Promise<readonly StoredRow[]> => {
  const stripe = stripeOf(totalKey)?.stripe ?? 0;
  const lists = (await table.all(partition, ALL_CAMERA_LISTS)).filter(
    ({ rowKey }) => stripeOf(rowKey)?.stripe === stripe,
  );
  const total = totals.find(({ rowKey }) => rowKey === totalKey);
  const properties = {
    ...emptyTotalProperties(),
    [COMMIT_NUMBER]: Math.max(0, ...[...lists, ...(total ? [total] : [])].map(commitIn)) + FAR_ABOVE,
    ...(stripe === 0 && announcement(await stripesNow(table, partition, totals))),
  };
  const write: RowWrite =
    total === undefined
      ? { kind: 'insert', rowKey: totalKey, properties }
      : { kind: 'replace', rowKey: totalKey, etag: total.etag, properties };
  const fences = totals.filter(({ rowKey }) => rowKey !== totalKey).map(fenceAt);
  const keys = [...lists.map(({ rowKey }) => rowKey), totalKey];
  return move(table, partition, new Map(keys.map((key) => [key, undefined])), [...fences, write]);
};

/** How many stripes a shard has, by its fence and its totals. */
const stripesNow = async (table: Table, partition: string, totals: readonly StoredRow[]): Promise<number> => {
  const fenced = (await table.get(partition, FENCE_KEY))?.properties['stripes'];
  const numbers = totals.map(({ rowKey }) => (stripeOf(rowKey)?.stripe ?? 0) + 1);
  return Math.max(1, typeof fenced === 'number' ? fenced : 1, ...numbers);
};

const commitIn = ({ properties }: StoredRow): number => {
  const commit = properties[COMMIT_NUMBER];
  return typeof commit === 'number' ? commit : 0;
};
