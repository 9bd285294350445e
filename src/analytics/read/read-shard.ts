import type { LRUCache } from 'lru-cache';
import type { LimitFunction } from 'p-limit';

import { DamagedRow } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { DayHeld } from '../errors.ts';
import type { DayState } from '../rows/day-row.ts';
import { type Counter, counterKey, DAY_COUNTER } from '../rows/keys.ts';
import type { RowPart } from '../rows/properties.ts';
import { hasRows, readStripes, type RowsByStripe } from '../rows/stripes.ts';

/** A shard of a day, to read from. */
export interface ShardSource {
  readonly table: Table;
  readonly partition: string;
  /** Runs reads, a fixed number at a time. */
  readonly limit: LimitFunction;
  /** The partitions that were seen to have several stripes. Others are read by keys first, and then perhaps again. */
  readonly striped: LRUCache<string, true>;
  /** The partitions that were seen to have no rows, for a minute. */
  readonly empty: LRUCache<string, true>;
  /** Whether a shard is read although its counters are being rebuilt. */
  readonly whileRebuilding: boolean;
}

/** A counter to read, and a part of its rows. */
export interface CounterRequest<Value> {
  readonly counter: Counter;
  readonly part: RowPart<Value>;
}

/** The values that were read of one stripe. */
export interface StripeReading<Day, Value> {
  readonly stripe: number;
  readonly day: Day;
  /** By counter. Rows that are not stored are left out. */
  readonly values: ReadonlyMap<Counter, Value>;
}

export interface ShardReading<Day, Value> {
  /** None if the shard has no events. */
  readonly stripes: readonly StripeReading<Day, Value>[];
  /** Whether the day is closed: its event rows may be gone. */
  readonly isClosed: boolean;
}

/**
 * Reads counters of a shard, each as of one moment over all stripes, and after them its `day` rows.
 *
 * **The order is the proof.** Rows of stripe 0 are read by key, and then `day|00`. If it is not striped, no other stripe had a row when
 * the others were read. Otherwise each counter is read in all stripes by one page of a query, and the `day` rows come last again. Lists only
 * grow, so the `day` rows have every camera and category that the other rows name. They also tell whether the day is sealed.
 *
 * @param earlier work that must be done before the `day` rows are read
 * @throws {DayHeld | DamagedRow}
 */
export const readShard = async <Day extends DayState, Value = never>(
  source: ShardSource,
  day: RowPart<Day>,
  requests: readonly CounterRequest<Value>[] = [],
  earlier: Promise<unknown> = Promise.resolve(),
): Promise<ShardReading<Day, Value>> => {
  const { partition, striped } = source;
  const isStriped = striped.has(partition);
  const rowsOf = async ({ counter, part: { select } }: CounterRequest<unknown>): Promise<RowsByStripe> =>
    isStriped ? readAllStripes(source, counter, select) : readFirstStripe(source, counter, select);
  const [rows] = await Promise.all([Promise.all(requests.map(rowsOf)), earlier]);
  const dayRows = await rowsOf({ counter: DAY_COUNTER, part: day });
  if (!dayRows.has(0)) {
    if (dayRows.size === 0 && rows.every(({ size }) => size === 0) && (await isEmpty(source))) {
      return { stripes: [], isClosed: false };
    }
    // Its first commit may have come in between.
    if ((await readFirstStripe(source, DAY_COUNTER, [])).size === 0) throw missing(partition, 0);
    return readShard(source, day, requests);
  }
  const days = new Map(Array.from(dayRows, ([stripe, row]) => [stripe, day.from(row)]));
  if (!isStriped && days.get(0)?.isStriped === true) {
    striped.set(partition, true);
    return readShard(source, day, requests);
  }
  const isRebuilding = [...days.values()].some(({ sealed }) => sealed === 'rebuilding');
  if (isRebuilding && !source.whileRebuilding) throw new DayHeld(partition);
  const withoutDay = rows.flatMap((stripes) => [...stripes.keys()]).find((stripe) => !days.has(stripe));
  if (withoutDay !== undefined) throw missing(partition, withoutDay);
  const stripes = Array.from(days, ([stripe, value]) => {
    const values = requests.flatMap(({ counter, part }, index) => {
      const row = rows[index]?.get(stripe);
      return row === undefined ? [] : [[counter, part.from(row)] as const];
    });
    return { stripe, day: value, values: new Map(values) };
  });
  return { stripes, isClosed: [...days.values()].some(({ sealed }) => sealed === 'closed') };
};

const missing = (partition: string, stripe: number): DamagedRow =>
  new DamagedRow(partition, counterKey(DAY_COUNTER, stripe), 'it is missing, and the shard has rows');

/** The rows of a counter in all stripes, as of one moment. */
export const readAllStripes = async (
  { table, partition, limit }: ShardSource,
  counter: Counter,
  select: readonly string[],
): Promise<RowsByStripe> => limit(async () => readStripes(table, partition, counter, select));

/** The row of a counter in stripe 0. */
export const readFirstStripe = async (
  { table, partition, limit }: ShardSource,
  counter: Counter,
  select: readonly string[],
): Promise<RowsByStripe> => {
  const row = await limit(async () => table.get(partition, counterKey(counter, 0), { select }));
  return new Map(row && [[0, row]]);
};

/** Whether a shard has no rows. Otherwise its `day` row is lost, or was just written. */
const isEmpty = async ({ table, partition, limit, empty }: ShardSource): Promise<boolean> => {
  if (empty.has(partition)) return true;
  if (await limit(async () => hasRows(table, partition))) return false;
  empty.set(partition, true);
  return true;
};
