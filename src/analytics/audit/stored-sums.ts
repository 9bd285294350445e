import { EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import { indexesIn } from '../rows/bitset.ts';
import { minutesOf, type CameraRow } from '../rows/camera-row.ts';
import { bucketTally, type HoursRow } from '../rows/hour-rows.ts';
import type { StoredTotal } from '../rows/total-row.ts';
import { DAMAGED, decodedOr, type Stored } from './findings.ts';
import type { AuditedRow } from './audited-row.ts';

// The stored value of a counter is the sum over the stripes. Where a part of it is damaged, the sum is.

/** The names for the indexes in the rows of a stripe. */
export interface Names {
  readonly categories: readonly string[];
  readonly ids: readonly string[];
}

/** The names of a stripe; a stripe without a total has none. */
export const namesOf = (total: Stored<StoredTotal>): Names =>
  total === undefined || total === DAMAGED
    ? { categories: [], ids: [] }
    : { categories: [...total.tally.categories.keys()], ids: total.cameras.ids };

/** The camera with an index in a stripe's camera list, or the index where the list is shorter. */
export const nameIn = ({ ids }: Names, index: number): string => ids[index] ?? `(index ${index})`;

/** Rows with buckets, by stripe, and the names in each stripe. */
export interface BucketRows {
  readonly hourRows: ReadonlyMap<number, Stored<AuditedRow<HoursRow>>>;
  readonly namesOf: (stripe: number) => Names;
}

/** The sum of a bucket over the stripes. */
export interface StoredBucket {
  readonly tally: Tally | undefined;
  readonly cameras: ReadonlySet<string>;
  /** The stripes in which it cannot be decoded; they are not in the sum. */
  readonly damaged: readonly number[];
}

const bucketsOf = ({ hourRows, namesOf: namesIn }: BucketRows, number: number) =>
  [...hourRows].flatMap(([stripe, row]) => {
    const bucket = row === undefined || row === DAMAGED ? undefined : row.value.get(number);
    return bucket === undefined ? [] : [{ stripe, bucket, names: namesIn(stripe) }];
  });

/** The sum of a bucket of some rows, one a stripe. Rows that are damaged are left out: they are reported themselves. */
export const sumOfBuckets = (rows: BucketRows, number: number): StoredBucket => {
  const damaged: number[] = [];
  const cameras = new Set<string>();
  let tally: Tally | undefined;
  for (const { stripe, bucket, names } of bucketsOf(rows, number)) {
    const own = decodedOr(() => bucketTally(bucket, names.categories) ?? DAMAGED);
    if (own === DAMAGED) damaged.push(stripe);
    else tally = plus(tally ?? EMPTY_TALLY, own);
    for (const index of indexesIn(bucket.active)) cameras.add(nameIn(names, index));
  }
  return { tally, cameras, damaged };
};

/** The stripes in which a bucket has one of some cameras. */
export const stripesThatName = (rows: BucketRows, number: number, cameras: readonly string[]): readonly number[] =>
  bucketsOf(rows, number).flatMap(({ stripe, bucket, names }) =>
    indexesIn(bucket.active).some((index) => cameras.includes(nameIn(names, index))) ? [stripe] : [],
  );

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
