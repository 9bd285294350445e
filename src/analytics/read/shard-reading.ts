import type { LRUCache } from 'lru-cache';
import type { LimitFunction } from 'p-limit';

import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { camerasKey, TOTAL_KEY } from '../rows/keys.ts';
import {
  COMMIT_NUMBER,
  commitNumberOf,
  readStripes,
  type RowRequest,
  stateFrom,
  STATE_PROPERTIES,
  type StripeRows,
} from '../rows/stripes.ts';
import {
  EMPTY_TOTAL,
  listsTooShort,
  TALLY_PROPERTIES,
  tallyFrom,
  totalFrom,
  type TotalRow,
} from '../rows/total-row.ts';
import type { StripeNames } from './activity-sum.ts';

/** What a reading reads from. */
export interface ReadingSource {
  readonly table: Table;
  readonly partition: string;
  /** Runs reads, so many at a time. */
  readonly read: LimitFunction;
  /** The partitions that were seen to have several stripes. One that is not in it is read by keys first, and then perhaps again. */
  readonly striped: LRUCache<string, true>;
}

const TOTAL_PROPERTIES = { state: STATE_PROPERTIES, tally: TALLY_PROPERTIES, cameras: undefined } as const;

/**
 * What is needed of the `total` rows: `state`, that no stripe appeared; `tally`, their tallies as well, which name categories; `cameras`,
 * the camera lists too. What is not needed is left empty.
 */
type TotalDetail = keyof typeof TOTAL_PROPERTIES;

/** The rows of one stripe. */
export interface StripeReading {
  readonly stripe: number;
  /** undefined: the stripe has no commit, or its total was not needed. */
  readonly total: TotalRow | undefined;
  /** By key in stripe 0. Rows that are not stored are left out. */
  readonly rows: ReadonlyMap<string, StoredRow>;
}

/** The names for the indexes in the rows of a stripe, as far as they were needed. */
export const namesIn = ({ stripe, total = EMPTY_TOTAL }: StripeReading): StripeNames => ({
  stripe,
  categories: [...total.tally.categories.keys()],
  ids: total.cameras.ids,
});

/**
 * Reads counter rows of a shard, each as of one moment over all stripes, in one round of requests.
 *
 * A shard with one stripe is read by keys. Its `total`, read beside the other rows, proves that they are right: it says that there is
 * no second stripe, and it is not older than any of them, by their commit numbers. Either it was read after a row: then the row was
 * read before a second stripe appeared. Or before: then no commit changed the row in between. A total that is too old is read again.
 *
 * In a shard with several stripes, each row is read in all stripes by one page of a query, and the totals only if they are needed.
 *
 * @throws {StorageTrouble | DamagedRow}
 */
export const readShard = async (
  source: ReadingSource,
  requests: readonly RowRequest[],
  detail: TotalDetail,
): Promise<readonly StripeReading[]> => {
  const { partition, striped } = source;
  const isStriped = striped.has(partition);
  const needsTotals = !isStriped || detail !== 'state';
  const readTotals = async (): Promise<Totals> => (needsTotals ? totalsIn(source, detail, isStriped) : new Map());
  const [first, ...rows] = await Promise.all([
    readTotals(),
    ...requests.map(async ({ key, select }) => rowsIn(source, key, [...select, COMMIT_NUMBER], isStriped)),
  ]);
  const newest = newestCommits(rows);
  const olderIn = (totals: Totals): number | undefined =>
    needsTotals ? [...newest.keys()].find((stripe) => isOlder(totals.get(stripe), newest.get(stripe))) : undefined;
  let totals = first;
  if (olderIn(totals) !== undefined) totals = await readTotals();
  if (!isStriped && (totals.get(0)?.stripes ?? 1) > 1) {
    striped.set(partition, true);
    return readShard(source, requests, detail);
  }
  const older = olderIn(totals);
  if (older !== undefined) throw listsTooShort(partition, older);
  return Array.from(new Set([...totals.keys(), ...newest.keys()]), (stripe) => ({
    stripe,
    total: totals.get(stripe),
    rows: new Map(
      requests.flatMap(({ key }, index) => {
        const row = rows[index]?.get(stripe);
        return row === undefined ? [] : [[key, row]];
      }),
    ),
  }));
};

type Totals = ReadonlyMap<number, TotalRow>;

const isOlder = (total: TotalRow | undefined, commit = 0): boolean => (total?.commit ?? 0) < commit;

const newestCommits = (rows: readonly StripeRows[]): ReadonlyMap<number, number> => {
  const newest = new Map<number, number>();
  for (const [stripe, row] of rows.flatMap((own) => [...own])) {
    newest.set(stripe, Math.max(newest.get(stripe) ?? 0, commitNumberOf(row)));
  }
  return newest;
};

/** A counter row in all stripes, or in the only one. @throws {StorageTrouble | DamagedRow} */
export const rowsIn = async (
  { table, partition, read }: ReadingSource,
  key: string,
  select: readonly string[] | undefined,
  isStriped: boolean,
): Promise<StripeRows> =>
  read(async () => {
    if (isStriped) return readStripes(table, partition, key, select);
    const row = await table.get(partition, key, { select });
    return new Map(row && [[0, row]]);
  });

/** The totals as they were at one moment; with the camera lists, which may be newer, cut to their length. */
const totalsIn = async (source: ReadingSource, detail: TotalDetail, isStriped: boolean): Promise<Totals> => {
  const [rows, lists] = await Promise.all([
    rowsIn(source, TOTAL_KEY, TOTAL_PROPERTIES[detail], isStriped),
    detail === 'cameras' ? rowsIn(source, camerasKey(1), undefined, isStriped) : undefined,
  ]);
  const totals = Array.from(rows, async ([stripe, row]): Promise<[number, TotalRow]> => {
    if (detail === 'cameras') return [stripe, await totalFrom(source.table, row, stripe, lists?.get(stripe))];
    return [stripe, { ...EMPTY_TOTAL, ...stateFrom(row), ...(detail === 'tally' && { tally: tallyFrom(row) }) }];
  });
  return new Map(await Promise.all(totals));
};
