import type { LRUCache } from 'lru-cache';
import type { LimitFunction } from 'p-limit';

import { DamagedRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DayHeld } from '../errors.ts';
import type { DayState } from '../rows/day-row.ts';
import { type Counter, counterKey, DAY_COUNTER } from '../rows/keys.ts';
import { hasRows, readStripes, type RowsByStripe } from '../rows/stripes.ts';

/** A shard of a day, to read from. */
export interface ShardSource {
  readonly table: Table;
  readonly partition: string;
  /** Runs reads, a fixed number at a time. */
  readonly limit: LimitFunction;
  /** The partitions that were seen to be striped. Others are read by keys first, and then perhaps again. */
  readonly striped: LRUCache<string, true>;
  /** The partitions that were seen to have no rows, for a minute. */
  readonly empty: LRUCache<string, true>;
  /** Whether a shard is read although its counters are being rebuilt. */
  readonly whileRebuilding: boolean;
}

export interface ShardReading<Day> {
  /** The `day` rows, by stripe; none if the shard has no events. */
  readonly days: ReadonlyMap<number, Day>;
  /** The rows of the other counters, whole. Their stripes have `day` rows. */
  readonly rows: ReadonlyMap<Counter, RowsByStripe>;
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
 * @param day how the `day` rows are decoded; `select`: a part of their properties
 * @param earlier work that must be done before the `day` rows are read
 * @throws {DayHeld | DamagedRow}
 */
export const readShard = async <Day extends DayState>(
  source: ShardSource,
  day: { readonly select?: readonly string[]; readonly from: (row: StoredRow) => Day },
  counters: readonly Counter[] = [],
  earlier: Promise<unknown> = Promise.resolve(),
): Promise<ShardReading<Day>> => {
  const { partition, striped } = source;
  const isStriped = striped.has(partition);
  const [read] = await Promise.all([
    Promise.all(counters.map(async (counter) => [counter, await readCounter(source, counter)] as const)),
    earlier,
  ]);
  const rows = new Map(read);
  const stripes = new Set(read.flatMap(([, ofCounter]) => Array.from(ofCounter.keys())));
  const dayRows = await readCounter(source, DAY_COUNTER, day.select);
  if (!dayRows.has(0)) {
    if (dayRows.size + stripes.size === 0 && (await isEmpty(source))) return { days: new Map(), rows, isClosed: false };
    // Its first commit may have come in between.
    if (!(await readCounter(source, DAY_COUNTER, [])).has(0)) throw missing(partition, 0);
    return readShard(source, day, counters);
  }
  const days = new Map(Array.from(dayRows, ([stripe, row]) => [stripe, day.from(row)]));
  if (!isStriped && days.get(0)?.isStriped === true) {
    striped.set(partition, true);
    return readShard(source, day, counters);
  }
  const seals = new Set(Array.from(days.values(), ({ sealed }) => sealed));
  if (seals.has('rebuilding') && !source.whileRebuilding) throw new DayHeld(partition);
  for (const stripe of stripes) if (!days.has(stripe)) throw missing(partition, stripe);
  return { days, rows, isClosed: seals.has('closed') };
};

const missing = (partition: string, stripe: number): DamagedRow =>
  new DamagedRow(partition, counterKey(DAY_COUNTER, stripe), 'it is missing, and the shard has rows');

/** The rows of a counter in all stripes, as of one moment. If the partition was not seen to be striped, the row of stripe 0 alone. */
export const readCounter = async (
  { table, partition, limit, striped }: ShardSource,
  counter: Counter,
  select?: readonly string[],
): Promise<RowsByStripe> =>
  limit(async () => {
    if (striped.has(partition)) return readStripes(table, partition, counter, select);
    const row = await table.get(partition, counterKey(counter, 0), { select });
    return new Map(row && [[0, row]]);
  });

/** Whether a shard has no rows. Otherwise its `day` row is lost, or was just written. */
const isEmpty = async ({ table, partition, limit, empty }: ShardSource): Promise<boolean> => {
  if (empty.has(partition)) return true;
  if (await limit(async () => hasRows(table, partition))) return false;
  empty.set(partition, true);
  return true;
};
