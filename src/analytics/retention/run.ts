import { unlessDamaged } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { type Day, dayOf, MICROSECONDS } from '../model/day.ts';
import { instantFrom, instantFromMilliseconds } from '../model/instant.ts';
import { ALL_PARTITIONS, dayOfPartition, partitionsOf } from '../rows/keys.ts';

/** How long a run of a timer works at most, with everything that it does: less than the 30 minutes that the host gives it. */
export const RUN_MS = 20 * 60_000;

/** The time of a run is over: the next run continues. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime';
}

/**
 * Works until the work is done or the time is over.
 *
 * @param work calls `demandTime` before each request that begins something; it throws OutOfTime, which ends the work
 */
export const withinTime = async (ms: number, work: (demandTime: () => void) => Promise<void>): Promise<void> => {
  const end = performance.now() + ms;
  const demandTime = (): void => {
    if (performance.now() >= end) throw new OutOfTime();
  };
  try {
    await work(demandTime);
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
  }
};

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
