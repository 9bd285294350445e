import type { Table } from '../../storage/table.ts';
import { type Day, dayOf, MICROSECONDS } from '../model/day.ts';
import { instantFrom, instantFromMilliseconds } from '../model/instant.ts';
import { ALL_PARTITIONS, partitionsOf } from './keys.ts';
import { shardPartitions } from './partitions.ts';

/** The days that have rows, oldest first. It hops from day to day, with a request each. */
export async function* storedDays(table: Table): AsyncGenerator<Day> {
  for (let { from, before } = ALL_PARTITIONS; ;) {
    const { value } = await shardPartitions(table, { from, before }).next();
    if (value === undefined) return;
    yield value.day;
    from = partitionsOf(value.day).before;
  }
}

/** Whether a day ended at least this number of days ago, by the clock of storage. Ask after storage has answered. */
export const endedBefore = (table: Table, day: Day, days: number): boolean =>
  day < dayOf(instantFrom(instantFromMilliseconds(table.now()) - BigInt(days) * MICROSECONDS.day));
