import type { LRUCache } from 'lru-cache';
import type { LimitFunction } from 'p-limit';

import { DamagedRow } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DAY_KEY } from '../rows/keys.ts';
import { type StripeDetail, stripeProperties, type StripeRow, stripeRowFrom } from '../rows/stripe-row.ts';
import { inStripe, readSealed, readStripes, type RowRequest, stateFrom, type StripeRows } from '../rows/stripes.ts';

/** A shard of a day, to read from. */
export interface ReadingSource {
  readonly table: Table;
  readonly partition: string;
  /** Runs reads, a fixed number at a time. */
  readonly read: LimitFunction;
  /** The partitions that were seen to have several stripes. A row outside it is read by keys first, and then perhaps again. */
  readonly striped: LRUCache<string, true>;
  /** Demands that rows with this mark are of the generation that counts. @throws {DayMoved} */
  readonly demandCurrent: (mark: number) => Promise<unknown>;
}

export interface StripeReading {
  readonly stripe: number;
  /** Of its `day` row, the requested properties. */
  readonly day: StripeRow;
  readonly categories: readonly string[];
  /** By key in stripe 0. Rows that are not stored are left out. */
  readonly rows: ReadonlyMap<string, StoredRow>;
}

/** How often a missing `day` row is read again: its first commit, or a rewrite, may come between two reads. */
const TRIES = 3;

/**
 * Reads counter rows of a shard, each as of one moment over all stripes, and after them its `day` rows.
 *
 * The order is the proof. If `day`, read after other rows, says that there is one stripe, there was no other one when they were read. Its
 * lists of categories and cameras only grow, so they have every index in those rows. And the mark of a seal that it does not have was not set
 * before: the rows were of the generation that counts.
 *
 * A shard with one stripe is read by keys. If there are several, each row is read in all stripes by one page of a query.
 *
 * @returns by stripe; none if the shard has no events
 * @throws {DayMoved}
 */
export const readShard = async (
  source: ReadingSource,
  requests: readonly RowRequest[],
  detail: StripeDetail,
): Promise<readonly StripeReading[]> => {
  const { partition, striped } = source;
  const isStriped = striped.has(partition);
  const rows = await Promise.all(requests.map(async ({ key, select }) => rowsIn(source, key, select, isStriped)));
  const days = await dayRowsIn(source, stripeProperties(detail), isStriped);
  const first = days.get(0);
  const stripes = first === undefined ? 0 : stateFrom(first).stripes;
  if (!isStriped && stripes > 1) {
    striped.set(partition, true);
    return readShard(source, requests, detail);
  }
  for (let stripe = 0; stripe < stripes; stripe += 1) {
    if (!days.has(stripe)) throw new DamagedRow(partition, inStripe(DAY_KEY, stripe), 'it is missing');
  }
  return Array.from(days, ([stripe, row]) => {
    const own = requests.map(({ key }, index) => [key, rows[index]?.get(stripe)] as const);
    const day = stripeRowFrom(row, detail);
    return {
      stripe,
      day,
      categories: [...day.tally.categories.keys()],
      rows: new Map(own.flatMap(([key, stored]) => (stored === undefined ? [] : [[key, stored]]))),
    };
  });
};

/** Demands, after rows were read which no `day` row was read after, that they are of the generation that counts. @throws {DayMoved} */
export const demandCurrentStill = async (source: ReadingSource): Promise<void> => {
  await dayRowsIn(source, stripeProperties({ tally: false, cameras: false, hours: [] }), false);
};

/** A counter row in all stripes, or in the only one. */
export const rowsIn = async (
  { table, partition, read }: ReadingSource,
  key: string,
  select: readonly string[],
  isStriped: boolean,
): Promise<StripeRows> =>
  read(async () => {
    if (isStriped) return readStripes(table, partition, key, select);
    const row = await table.get(partition, key, { select });
    return new Map(row && [[0, row]]);
  });

/** The `day` rows, of the generation that counts; none if the shard has no events. */
const dayRowsIn = async (source: ReadingSource, select: readonly string[], isStriped: boolean): Promise<StripeRows> => {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const days = await rowsIn(source, DAY_KEY, select, isStriped);
    if (days.has(0)) {
      await source.demandCurrent(Math.max(...Array.from(days.values(), (row) => stateFrom(row).mark)));
      return days;
    }
    // The rows of a generation that no longer counts are deleted, except this row.
    const sealed = await source.read(async () => readSealed(source.table, source.partition));
    await source.demandCurrent(sealed?.attempt ?? 0);
    if ((sealed?.stripes ?? 0) === 0) return new Map();
  }
  throw new DamagedRow(source.partition, DAY_KEY, 'it is missing, and the shard has stripes');
};
