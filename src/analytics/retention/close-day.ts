import type { Day } from '../model/day.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { closedFenceWrite, readFence } from '../rows/fence-row.ts';
import { shardPartition, TOTAL_KEY } from '../rows/keys.ts';
import { removeOpenDay } from '../rows/open-days.ts';
import { WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { stripesOf } from '../rows/stripe-keys.ts';
import { closedTotalWrite, stateFrom, STATE_PROPERTIES } from '../rows/total-row.ts';
import { deleteEvents, type DeletedEvents, type DeletingOptions } from './delete-events.ts';

/** What was done to a day. */
export interface ClosedDay extends DeletedEvents {
  readonly shards: number;
}

/**
 * Closes a day for ever: it takes no more changes, and its event rows are deleted. Its counters and samples stay, so every answer
 * stays exact.
 *
 * No commit slips past. First the manifest says that the day is closed, which refuses whatever comes to a process that does not
 * remember the day. Then each shard: its fence row, after which no stripe can appear, and then the `total` row of every stripe. Both
 * change the row's version, which each commit relies on: one under way fails, and its writer reads that the day is closed. Only
 * then are event rows deleted, and as the last step the day leaves the index of open days.
 *
 * Every step may be repeated. So closing may be stopped at any point and started again, and several processes may close a day at once.
 *
 * @returns `finished`: whether all of it is done
 * @throws {StorageTrouble | WriteConflict | DamagedRow} closing goes on when it is started again
 */
export const closeDay = async (
  table: Table,
  dayShards: DayShards,
  day: Day,
  options: DeletingOptions,
): Promise<ClosedDay> => {
  const shards = await dayShards.close(day);
  const partitions = Array.from({ length: shards }, (_, shard) => shardPartition(day, shard));
  const results = await Promise.allSettled(
    partitions.map(async (partition) => {
      await options.limit(async () => closeShard(table, partition));
      return deleteEvents(table, partition, options);
    }),
  );
  const sum = { deleted: 0, kept: 0, finished: true };
  for (const result of results) {
    if (result.status === 'rejected') throw result.reason;
    sum.deleted += result.value.deleted;
    sum.kept += result.value.kept;
    sum.finished &&= result.value.finished;
  }
  if (sum.finished) await removeOpenDay(table, day);
  return { shards, ...sum };
};

/** Writes into the fence row and the `total` rows of a shard that the day is closed. */
const closeShard = async (table: Table, partition: string): Promise<void> => {
  await closeFence(table, partition);
  const totals = await table.all(partition, stripesOf(TOTAL_KEY), { select: STATE_PROPERTIES });
  const open = totals.filter((row) => !stateFrom(row).closed);
  if (open.length > 0) await table.transact(partition, open.map(closedTotalWrite));
};

const closeFence = async (table: Table, partition: string): Promise<void> => {
  for (;;) {
    const fence = await readFence(table, partition);
    if (fence?.closed === true) return;
    try {
      await table.transact(partition, [closedFenceWrite(fence)]);
    } catch (error) {
      // The shard's first commit came meanwhile.
      if (!(error instanceof WriteConflict)) throw error;
    }
  }
};
