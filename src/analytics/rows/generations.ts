import { setTimeout } from 'node:timers/promises';

import { StorageTrouble, unlessDamaged, WriteConflict } from '../../storage/errors.ts';
import { inTransactions } from '../../storage/row.ts';
import { backoffMs, type Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import { parseShardPartition, partitionsOf, SEALED_KEY } from './keys.ts';

/** The partition of a shard of a day, in one generation. */
export interface ShardPartition {
  readonly partition: string;
  readonly generation: number;
  readonly shard: number;
}

/** The partitions of a day that have rows, in all generations. @throws {StorageTrouble} */
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

const TRIES = 8;
const ALL_ROWS = { from: '', before: '~' };

/**
 * Deletes the rows of generations of a day that do not count. `day sealed` stays: it tells late readers and recorders that the day was
 * rewritten.
 *
 * @throws {StorageTrouble | WriteConflict} after bounded tries
 */
export const deleteGenerations = async (
  table: Table,
  day: Day,
  isDeleted: (generation: number) => boolean,
): Promise<void> => {
  for (const { partition, generation } of await shardPartitionsIn(table, day)) {
    for (let tries = 0; isDeleted(generation);) {
      try {
        const { rows, continuation } = await table.page(partition, ALL_ROWS, { select: [], isAnyFormat: true });
        const keys = rows.map(({ rowKey }) => rowKey).filter((rowKey) => rowKey !== SEALED_KEY);
        if (keys.length === 0 && continuation === undefined) break;
        await Promise.all(inTransactions(keys).map(async (slice) => table.delete(partition, slice)));
        tries = 0;
      } catch (error) {
        tries += 1;
        // After a conflict the page is read again: another process deleted some of its rows.
        if (!(error instanceof StorageTrouble || error instanceof WriteConflict) || tries === TRIES) throw error;
        await setTimeout(backoffMs(tries, 100, 5_000));
      }
    }
  }
};
