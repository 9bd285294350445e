import { createHash } from 'node:crypto';

import { unlessDamaged, WriteConflict } from '../../storage/errors.ts';
import { copiedProperties, writeOf, type RowWrite, type StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { ALL_CAMERA_LISTS, FENCE_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { announcement, COMMIT_NUMBER, commitNumberOf, fenceFrom, MAX_COMMIT, stripesOf } from '../rows/stripes.ts';
import { emptyTotalProperties } from '../rows/total-row.ts';
import type { RepairLease } from './repair-lease.ts';
import { settled, type RowsAside } from './shard-audit.ts';
import { stripeOf } from './stored-rows.ts';

/** A transaction of 100 operations takes a write for each of up to 64 stripes, and two for each row that is moved. */
const ROWS_A_TRANSACTION = 15;

/**
 * So much above the last known commit number that no instance remembers the new number: one that does would take an emptied total
 * for its own.
 */
const FAR_ABOVE = 10_000_000;

/** Of a key, which has at most 512 characters, so many are kept for the reader; a hash after them keeps longer ones apart. */
const KEPT = 400;

/** The property of a row that was set aside with its whole key, if that is not in the new one. */
export const WHOLE_KEY = 'whole_key';

/** Writes a copy of a row, which was read exactly, at `damaged|<time>|<key>`. A long key is cut. */
export const copyAside = (row: StoredRow): RowWrite => {
  const { rowKey } = row;
  // Of this moment: a recorder may write a row again that was set aside, and the same repair may set that one aside too.
  const prefix = `damaged|${new Date().toISOString()}|`;
  const properties = copiedProperties(row);
  if (rowKey.length <= KEPT) return { kind: 'insert', rowKey: `${prefix}${rowKey}`, properties };
  const hash = createHash('sha256').update(rowKey).digest('hex');
  // Half of a surrogate pair may be at the end.
  const start = rowKey.slice(0, KEPT).toWellFormed();
  return { kind: 'insert', rowKey: `${prefix}${start}|${hash}`, properties: { ...properties, [WHOLE_KEY]: rowKey } };
};

/** Where rows are set aside, in the time of a lease. */
interface SettingAside {
  readonly table: Table;
  readonly partition: string;
  readonly lease: Pick<RepairLease, 'renew'>;
}

/**
 * Sets rows of one shard aside: copies them to another key of the partition and deletes them. A `total` row takes its camera list with it,
 * and one without counts takes its place: readers find the stripes by it. Stopped anywhere, it goes on when it is called again.
 *
 * @param onMoved called after each transaction
 * @throws {AuditUnsettled} if others always wrote first
 * @throws {StorageTrouble}
 */
export const setAside = async (
  from: SettingAside,
  rows: RowsAside,
  onMoved: (rows: readonly StoredRow[]) => void,
): Promise<void> => {
  const [totals = [], others = []] = [true, false].map((isTotal) =>
    [...rows].filter(([rowKey]) => (stripeOf(rowKey)?.key === TOTAL_KEY) === isTotal),
  );
  for (let first = 0; first < others.length; first += ROWS_A_TRANSACTION) {
    onMoved(await move(from, new Map(others.slice(first, first + ROWS_A_TRANSACTION))));
  }
  for (const total of totals) onMoved(await move(from, new Map([total]), total[0]));
};

/**
 * Moves rows in one transaction, and what is in them is not changed meanwhile.
 *
 * @param totalKey the total that is one of them, if one is: with its camera list
 */
const move = async (
  { table, partition, lease }: SettingAside,
  aside: RowsAside,
  totalKey?: string,
): Promise<readonly StoredRow[]> =>
  settled('a row to set aside', async () => {
    const totals = await table.all(partition, stripesOf(TOTAL_KEY));
    const lists = totalKey === undefined ? [] : await listsOf(table, partition, totalKey);
    const keys = new Set([...aside.keys(), ...lists.map(({ rowKey }) => rowKey)]);
    const read = await Promise.all(Array.from(keys, async (key) => table.get(partition, key)));
    const moved = read
      .filter((row) => row !== undefined)
      .filter(({ rowKey, etag }) => (aside.get(rowKey) ?? etag) === etag);
    if (moved.length === 0 && totalKey === undefined) return [];
    const emptied = totalKey === undefined ? [] : [await emptiedTotal(table, partition, totalKey, totals, lists)];
    await lease.renew();
    try {
      await table.transact(partition, [
        // A merge of nothing changes only the version of a row. It fails if anything was committed: every commit changes a total.
        ...totals.flatMap(({ rowKey, etag }) =>
          keys.has(rowKey) ? [] : [{ kind: 'merge', rowKey, etag, properties: {} } as const],
        ),
        ...emptied,
        ...moved.map(copyAside),
        // A deletion takes any version: the other writes fail if a row may have changed.
        ...moved.flatMap(({ rowKey }) => (rowKey === totalKey ? [] : [{ kind: 'delete', rowKey } as const])),
      ]);
      return moved;
    } catch (error) {
      if (error instanceof WriteConflict) return undefined;
      throw error;
    }
  });

const listsOf = async (table: Table, partition: string, totalKey: string): Promise<readonly StoredRow[]> => {
  const rows = await table.all(partition, ALL_CAMERA_LISTS);
  return rows.filter(({ rowKey }) => stripeOf(rowKey)?.stripe === stripeOf(totalKey)?.stripe);
};

const emptiedTotal = async (
  table: Table,
  partition: string,
  totalKey: string,
  totals: readonly StoredRow[],
  lists: readonly StoredRow[],
): Promise<RowWrite> => {
  const total = totals.find(({ rowKey }) => rowKey === totalKey);
  const commits = [...lists, ...(total ? [total] : [])].map((row) => unlessDamaged(() => commitNumberOf(row)) ?? 0);
  const fence = await table.get(partition, FENCE_KEY);
  const fenced = unlessDamaged(() => fence && fenceFrom(fence).stripes) ?? 1;
  const properties = {
    ...emptyTotalProperties(),
    [COMMIT_NUMBER]: (Math.max(0, ...commits) + FAR_ABOVE) % MAX_COMMIT,
    ...(totalKey === TOTAL_KEY &&
      announcement(Math.max(fenced, ...totals.map((row) => (stripeOf(row.rowKey)?.stripe ?? 0) + 1)))),
  };
  return writeOf(totalKey, total?.etag, properties, 'replace');
};
