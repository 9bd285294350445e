import { DecodeError, decodingRow, type NewProperties, type Properties, type StoredRow } from '../../storage/row.ts';
import { type Hour, type MinuteOfHour, MINUTES } from '../model/day.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../model/tally.ts';
import { twoDigits } from './keys.ts';
import { ByteReader, readBytes, readTallyBytes, tallyBytes } from './properties.ts';

/** An hour or a minute of a stripe, over all its cameras. */
export interface Bucket {
  /** Its tally, by the indexes of categories: see {@link readTallyBytes}. */
  readonly tally: Uint8Array;
  /** The cameras that sent its events: a bitset of indexes in the stripe's camera list. */
  readonly active: Uint8Array;
}

/** The buckets of a whole row that have events: the hours of a `day|05` row, or the minutes of an `hour|08|05` row. */
export type Buckets<Number extends Hour | MinuteOfHour> = ReadonlyMap<Number, Bucket>;

export type HourRow = Buckets<MinuteOfHour>;

const tallyName = (number: number): string => `tally_${twoDigits(number)}`;
const activeName = (number: number): string => `active_${twoDigits(number)}`;

/**
 * Reads the buckets of a whole row.
 *
 * @param numbers all hours of a day, or all minutes of an hour
 * @param cameras how many cameras the row knows, or at most
 */
export const readBuckets = <Number extends Hour | MinuteOfHour>(
  numbers: readonly Number[],
  properties: Properties,
  cameras: number,
): Buckets<Number> => {
  const buckets = new Map<Number, Bucket>();
  for (const number of numbers) {
    const tally = readBytes(tallyName(number), properties);
    const active = readBytes(activeName(number), properties);
    if (tally === undefined && active === undefined) continue;
    if (tally === undefined || active === undefined) throw new DecodeError(`half of bucket ${number} is missing`);
    if (endOf(active) > cameras) throw new DecodeError('a set of cameras has unknown indexes');
    buckets.set(number, { tally, active });
  }
  return buckets;
};

/** A whole row. */
export const hourRowFrom = (row: StoredRow): HourRow =>
  decodingRow(row, () => readBuckets(MINUTES, row.properties, MAX_CAMERAS_PER_STRIPE));

/**
 * Buckets with a difference added to one of them.
 *
 * @param cameras the indexes of the difference's cameras in the stripe's camera list
 * @param categories the stripe's categories, including the categories of the difference
 * @returns undefined if the categories were read before the bucket was written
 */
export const addToBucket = <Number extends Hour | MinuteOfHour>(
  buckets: Buckets<Number>,
  number: Number,
  difference: Tally,
  cameras: Iterable<number>,
  categories: readonly string[],
): Buckets<Number> | undefined => {
  const before = buckets.get(number);
  const tally = before === undefined ? EMPTY_TALLY : readTallyBytes(new ByteReader(before.tally), categories);
  if (tally === undefined) return undefined;
  return new Map(buckets).set(number, {
    tally: tallyBytes(sumOf([tally, difference]), categories),
    active: withIndexes(before?.active ?? new Uint8Array(), cameras),
  });
};

/** The properties of some buckets, to write. */
export const bucketValues = <Number extends Hour | MinuteOfHour>(
  buckets: Buckets<Number>,
  numbers: Iterable<Number>,
): NewProperties => {
  const values: Record<string, Uint8Array> = {};
  for (const number of new Set(numbers)) {
    const bucket = buckets.get(number);
    if (bucket === undefined) continue;
    values[tallyName(number)] = bucket.tally;
    values[activeName(number)] = bucket.active;
  }
  return values;
};

// A bitset is a set of indexes in a list: index 0 is the lowest bit of the first byte.

/** The maximum number of cameras of one stripe and day: the bitsets of an hour's row stay below its 1 MiB. */
export const MAX_CAMERAS_PER_STRIPE = 32_000;

export const hasIndex = (set: Uint8Array, index: number): boolean =>
  ((set[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;

export const withIndexes = (set: Uint8Array, indexes: Iterable<number>): Uint8Array => {
  const added = [...indexes];
  const result = new Uint8Array(added.reduce((length, index) => Math.max(length, (index >> 3) + 1), set.length));
  result.set(set);
  for (const index of added) result[index >> 3] = (result[index >> 3] ?? 0) | (1 << (index & 7));
  return result;
};

/** The last index in a bitset, plus 1. */
export const endOf = (set: Uint8Array): number => 8 * set.length + 24 - Math.clz32(set.at(-1) ?? 0xff);
