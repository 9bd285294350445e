import { LRUCache } from 'lru-cache';

import { COMMIT_NUMBER, commitNumberOf } from '../rows/commit-number.ts';
import { camerasKey, TOTAL_KEY } from '../rows/keys.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { readStripes, type StripeRows } from '../rows/stripe-reads.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import type { StripeNames } from './activity-sum.ts';
import {
  listsTooShort,
  readTotal,
  stateFrom,
  STATE_PROPERTIES,
  TALLY_PROPERTIES,
  tallyFrom,
  totalFrom,
  type TotalRow,
} from '../rows/total-row.ts';

/** Runs reads, so many at a time. */
export type Bounded = <Result>(run: () => Promise<Result>) => Promise<Result>;

/** A counter row to read: its key in stripe 0, and the properties. */
export interface RowRequest {
  readonly key: string;
  readonly select: readonly string[];
}

/**
 * What is needed of the `total` rows: `state`, that no stripe appeared; `tally`, their tallies as well, which name categories; `cameras`,
 * the camera lists too.
 */
export type TotalDetail = 'state' | 'tally' | 'cameras';

/** A `total` row, or what was read of it. */
export type ReadTotal = Pick<TotalRow, 'commit'> & Partial<Pick<TotalRow, 'tally' | 'cameras'>>;

/** The rows of one stripe. */
export interface StripeReading {
  readonly stripe: number;
  /** undefined: the stripe has no commit, or its total was not asked for. */
  readonly total: ReadTotal | undefined;
  /** By key in stripe 0. Rows that are not stored are left out. */
  readonly rows: ReadonlyMap<string, StoredRow>;
}

/**
 * The shards that were seen to have several stripes, and how many: they are read by ranges at once. A process that does not know it
 * reads by keys first, and then again.
 */
export class StripedShards {
  readonly #stripes = new LRUCache<string, number>({ max: 1_000 });

  get(partition: string): number {
    return this.#stripes.get(partition) ?? 1;
  }

  set(partition: string, stripes: number): void {
    this.#stripes.set(partition, stripes);
  }
}

/** What a reading reads from. */
export interface ReadingSource {
  readonly table: Table;
  readonly partition: string;
  readonly read: Bounded;
  readonly striped: StripedShards;
}

/**
 * Reads counter rows of a shard, each as of one moment over all stripes, in one round of requests.
 *
 * A shard with one stripe is read by keys. Its `total`, read beside the other rows, proves that they are right: it says that there is
 * no second stripe, and it is not older than any of them, by their commit numbers. Either it was read after a row: then the row was
 * read before a second stripe appeared. Or before: then no commit changed the row in between. A total that is too old is read again.
 *
 * In a shard with several stripes, each row is read in all stripes by one page of a query.
 *
 * @throws {StorageTrouble | DamagedRow}
 */
export const readShard = async (
  source: ReadingSource,
  requests: readonly RowRequest[],
  detail: TotalDetail,
): Promise<readonly StripeReading[]> => {
  const { partition, striped } = source;
  if (striped.get(partition) === 1) {
    const reading = await readOneStripe(source, requests, detail);
    if (reading !== undefined) return [reading];
  }
  return readAllStripes(source, requests, detail);
};

/** The names for the indexes in the rows of a stripe, as far as they were asked for. */
export const namesIn = ({ stripe, total }: StripeReading): StripeNames => ({
  stripe,
  categories: [...(total?.tally?.categories.keys() ?? [])],
  ids: total?.cameras?.ids ?? [],
});

/** The rows of stripe 0; undefined where there are others. */
const readOneStripe = async (
  source: ReadingSource,
  requests: readonly RowRequest[],
  detail: TotalDetail,
): Promise<StripeReading | undefined> => {
  const { table, partition, read, striped } = source;
  const total = async (): Promise<(ReadTotal & { readonly stripes: number }) | undefined> =>
    read(async () => readOneTotal(table, partition, detail));
  const [first, ...rows] = await Promise.all([
    total(),
    ...requests.map(async ({ key, select }) =>
      read(async () => table.get(partition, key, { select: [...select, COMMIT_NUMBER] })),
    ),
  ]);
  const newest = Math.max(0, ...rows.map(commitNumberOf));
  let found = first;
  if ((found?.commit ?? 0) < newest) found = await total();
  if (found !== undefined && found.stripes > 1) {
    striped.set(partition, found.stripes);
    return undefined;
  }
  if ((found?.commit ?? 0) < newest) throw listsTooShort(partition, 0);
  return {
    stripe: 0,
    total: found,
    rows: new Map(rows.flatMap((row, index) => entryOf(requests[index]?.key, row))),
  };
};

const entryOf = (key: string | undefined, row: StoredRow | undefined): readonly [string, StoredRow][] =>
  key === undefined || row === undefined ? [] : [[key, row]];

const readOneTotal = async (
  table: Table,
  partition: string,
  detail: TotalDetail,
): Promise<(ReadTotal & { readonly stripes: number }) | undefined> => {
  if (detail === 'cameras') return readTotal(table, partition);
  const row = await table.get(partition, TOTAL_KEY, {
    select: detail === 'state' ? STATE_PROPERTIES : TALLY_PROPERTIES,
  });
  return row && { ...stateFrom(row), ...(detail === 'tally' && { tally: tallyFrom(row) }) };
};

/** The rows of every stripe. */
const readAllStripes = async (
  source: ReadingSource,
  requests: readonly RowRequest[],
  detail: TotalDetail,
): Promise<readonly StripeReading[]> => {
  const { table, partition, read } = source;
  const totals = async (): Promise<ReadonlyMap<number, ReadTotal>> =>
    detail === 'state' ? new Map<number, ReadTotal>() : readTotals(source, detail);
  const [first, ...rows] = await Promise.all([
    totals(),
    ...requests.map(async ({ key, select }) =>
      read(async () => readStripes(table, partition, key, [...select, COMMIT_NUMBER])),
    ),
  ]);
  let named = first;
  if (detail !== 'state' && rows.some((own) => isOlder(named, own))) named = await totals();
  const stripes = new Set([...named.keys(), ...rows.flatMap((own) => [...own.keys()])]);
  return [...stripes].map((stripe) => {
    const total = named.get(stripe);
    const own = rows.flatMap((byStripe, index) => entryOf(requests[index]?.key, byStripe.get(stripe)));
    const newest = Math.max(0, ...own.map(([, row]) => commitNumberOf(row)));
    // They were read after the rows by now.
    if (detail !== 'state' && (total?.commit ?? 0) < newest) throw listsTooShort(partition, stripe);
    return { stripe, total, rows: new Map(own) };
  });
};

/** Whether totals were read before a row of their stripe was written. */
const isOlder = (totals: ReadonlyMap<number, ReadTotal>, rows: StripeRows): boolean =>
  [...rows].some(([stripe, row]) => commitNumberOf(row) > (totals.get(stripe)?.commit ?? 0));

/** The totals of all stripes, by stripe, as they were at one moment; with the camera lists, which may be newer, cut to their length. */
const readTotals = async (
  { table, partition, read, striped }: ReadingSource,
  detail: 'tally' | 'cameras',
): Promise<ReadonlyMap<number, ReadTotal>> => {
  const stripes = striped.get(partition);
  const [rows, ...lists] = await Promise.all([
    read(async () => readStripes(table, partition, TOTAL_KEY, detail === 'tally' ? TALLY_PROPERTIES : undefined)),
    ...(detail === 'tally' ? [] : Array.from({ length: stripes }, (_, stripe) => stripe)).map(async (stripe) =>
      read(async () => table.get(partition, inStripe(camerasKey(1), stripe))),
    ),
  ]);
  if (rows.size > stripes) striped.set(partition, rows.size);
  const totals = await Promise.all(
    Array.from(rows, async ([stripe, row]): Promise<[number, ReadTotal]> => [
      stripe,
      detail === 'tally'
        ? { ...stateFrom(row), tally: tallyFrom(row) }
        : await totalFrom(table, row, stripe, lists[stripe]),
    ]),
  );
  return new Map(totals);
};
