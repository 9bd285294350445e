import type { LogFields } from '../../log.ts';
import { RowError, StorageTrouble } from '../../storage/errors.ts';
import { unlessDamaged } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { type Day, dayOf, MICROSECONDS } from '../model/day.ts';
import { instantFrom, instantFromMilliseconds } from '../model/instant.ts';
import { ALL_PARTITIONS, dayOfPartition, partitionsOf } from '../rows/keys.ts';

/** How long a run of a timer works at most, with everything that it does: less than the 30 minutes that the host gives it. */
export const RUN_MS = 20 * 60_000;

/** Work that may be stopped at each `yield`, which comes before each request that begins something. The next run continues. */
export type Steps<Result = void> = AsyncGenerator<undefined, Result>;

/** Works until the work is done or the time is over, in milliseconds. */
export const withinTime = async (ms: number, work: Steps): Promise<void> => {
  const end = performance.now() + ms;
  for await (const _ of work) if (performance.now() >= end) return;
};

/** The fields of a log line about a failure. */
export const failureFields = (error: unknown): LogFields => ({
  kind: error instanceof Error ? error.name : typeof error,
  ...(error instanceof StorageTrouble && { reason: error.reason }),
  ...(error instanceof RowError && { partition: error.partitionKey, row: error.rowKey }),
});

/**
 * The days with rows that ended at least this number of days ago, by the clock of storage, oldest first. It hops from day to day, with a request each.
 * Partitions with other names are ignored.
 */
export async function* endedDays(table: Table, days: number): AsyncGenerator<Day> {
  for (let { from, before } = ALL_PARTITIONS; ;) {
    const partition = await table.firstPartition({ from, before });
    if (partition === undefined) return;
    const day = unlessDamaged(() => dayOfPartition(partition));
    const today = dayOf(instantFrom(instantFromMilliseconds(table.now()) - BigInt(days) * MICROSECONDS.day));
    if (day !== undefined && day >= today) return;
    if (day !== undefined) yield day;
    // `!` comes before every character of a partition's key.
    from = day === undefined ? `${partition}!` : partitionsOf(day).before;
  }
}
