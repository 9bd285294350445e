import { setTimeout } from 'node:timers/promises';

import pLimit, { type LimitFunction } from 'p-limit';

import type { PageQuery } from '../../storage/connection.ts';
import { StorageTrouble, unlessDamaged, WriteConflict } from '../../storage/errors.ts';
import { inTransactions, type KeyRange, type StoredRow } from '../../storage/row.ts';
import { backoffMs, type Patience, type Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import { parseShardPartition, partitionsOf, SEALED_KEY } from './keys.ts';

/** The partition of a shard of a day, in one generation. */
interface ShardPartition {
  readonly partition: string;
  readonly generation: number;
  readonly shard: number;
}

/** The partitions of a day that have rows, in all generations. */
export const shardPartitionsIn = async (table: Table, day: Day): Promise<readonly ShardPartition[]> => {
  const { from, before } = partitionsOf(day);
  const found: ShardPartition[] = [];
  for (let next = from; ;) {
    const partition = await table.firstPartition({ from: next, before });
    if (partition === undefined) return found;
    const parsed = unlessDamaged(() => parseShardPartition(day, partition));
    if (parsed !== undefined) found.push({ partition, ...parsed });
    // `!` comes before every character of a partition's key.
    next = `${partition}!`;
  }
};

/** Tries in a row without any progress. Storage throttles a partition from which much is deleted. */
const TRIES = 6;

/** Which rows are deleted, and how. */
interface Deleting {
  /** Asks for the properties that `isKept` needs. */
  readonly query: PageQuery & Patience;
  readonly isKept: (row: StoredRow) => boolean | Promise<boolean>;
  readonly hasTime?: () => boolean;
  readonly limit?: LimitFunction;
}

/** Deletes rows of a key range, with bounded tries. @returns how many, and whether all of the range was read */
export const deleteRows = async (
  table: Table,
  partition: string,
  range: KeyRange,
  { query, isKept, hasTime = () => true, limit = pLimit(8) }: Deleting,
): Promise<{ readonly deleted: number; readonly kept: number; readonly isFinished: boolean }> => {
  let [deleted, kept, tries] = [0, 0, 0];
  let continuation: string | undefined;
  while (hasTime()) {
    try {
      const from = continuation;
      const page = await limit(async () => table.page(partition, range, { ...query, continuation: from }));
      const keys: string[] = [];
      for (const row of page.rows) if (!(await isKept(row))) keys.push(row.rowKey);
      const deletions = await Promise.allSettled(
        inTransactions(keys).map(async (some) => {
          await limit(async () => table.delete(partition, some));
          deleted += some.length;
          tries = 0;
        }),
      );
      for (const deletion of deletions) if (deletion.status === 'rejected') throw deletion.reason;
      kept += page.rows.length - keys.length;
      ({ continuation } = page);
      tries = 0;
      if (continuation === undefined) return { deleted, kept, isFinished: true };
    } catch (error) {
      tries += 1;
      // After a conflict the page is read again: another process deleted some of its rows.
      if (!(error instanceof StorageTrouble || error instanceof WriteConflict) || tries === TRIES) throw error;
      const askedMs = error instanceof StorageTrouble ? Math.min(error.retryAfterMs, 5_000) : 0;
      await setTimeout(Math.max(askedMs, backoffMs(tries, 100, 5_000)));
    }
  }
  return { deleted, kept, isFinished: false };
};

const ALL_ROWS = { from: '', before: '~' };
const EXCEPT_SEALED: Deleting = {
  query: { select: [], isAnyFormat: true },
  isKept: ({ rowKey }) => rowKey === SEALED_KEY,
};

/** Deletes the rows of generations of a day that do not count. `day sealed` stays: it tells late readers and recorders of the rewrite. */
export const deleteGenerations = async (
  table: Table,
  day: Day,
  isDeleted: (generation: number) => boolean,
): Promise<void> => {
  for (const { partition, generation } of await shardPartitionsIn(table, day)) {
    if (isDeleted(generation)) await deleteRows(table, partition, ALL_ROWS, EXCEPT_SEALED);
  }
};
