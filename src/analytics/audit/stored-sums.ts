import { EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import { indexesIn } from '../rows/bitset.ts';
import { minutesOf, type CameraRow } from '../rows/camera-row.ts';
import { bucketTally, type HoursRow } from '../rows/hour-rows.ts';
import { DAMAGED, decodedOr, type Stored } from './findings.ts';
import type { AuditedRow, StripeCounters } from './stored-rows.ts';

// The stored value of a counter is the sum over the stripes. Where a part of it is damaged, the sum is.

/** The names for the indexes in the rows of a stripe. */
export interface Names {
  readonly categories: readonly string[];
  readonly ids: readonly string[];
}

/** The names of a stripe; a stripe without a total has none. */
export const namesOf = ({ total }: StripeCounters): Names =>
  total === undefined || total === DAMAGED
    ? { categories: [], ids: [] }
    : { categories: [...total.tally.categories.keys()], ids: total.cameras.ids };

/** The camera with an index in a stripe's camera list, or the index where the list is shorter. */
export const nameIn = ({ ids }: Names, index: number): string => ids[index] ?? `(index ${index})`;

/** The sum of stored tallies; those that are missing count nothing. */
export const sumOfStored = (tallies: readonly Stored<Tally>[]): Stored<Tally> => {
  let sum: Tally | undefined;
  for (const tally of tallies) {
    if (tally === DAMAGED) return DAMAGED;
    if (tally !== undefined) sum = plus(sum ?? EMPTY_TALLY, tally);
  }
  return sum;
};

/** The sum of a bucket over the stripes. */
export interface StoredBucket {
  readonly tally: Stored<Tally>;
  readonly cameras: ReadonlySet<string>;
}

/** The sum of a bucket of some rows, one a stripe. Rows that are damaged are left out: they are reported themselves. */
export const sumOfBuckets = (
  rows: readonly { readonly names: Names; readonly row: Stored<AuditedRow<HoursRow>> }[],
  number: number,
): StoredBucket => {
  const buckets = rows.flatMap(({ names, row }) => {
    const bucket = row === undefined || row === DAMAGED ? undefined : row.value.get(number);
    return bucket === undefined ? [] : [{ names, bucket }];
  });
  return {
    tally: sumOfStored(
      buckets.map(({ names, bucket }) => decodedOr(() => bucketTally(bucket, names.categories) ?? DAMAGED)),
    ),
    cameras: new Set(
      buckets.flatMap(({ names, bucket }) => indexesIn(bucket.active).map((index) => nameIn(names, index))),
    ),
  };
};

/** The minutes of an hour (0 to 23) of a camera, by minute of the day: the sums over its rows, one a stripe. */
export const sumOfMinutes = (rows: readonly CameraRow[], hour: number): ReadonlyMap<number, Tally> | typeof DAMAGED => {
  const sums = new Map<number, Tally>();
  for (const row of rows) {
    const minutes = decodedOr(() => minutesOf(row, hour));
    if (minutes === DAMAGED) return DAMAGED;
    for (const [minute, tally] of minutes) {
      sums.set(hour * 60 + minute, sumOf([sums.get(hour * 60 + minute) ?? EMPTY_TALLY, tally]));
    }
  }
  return sums;
};
