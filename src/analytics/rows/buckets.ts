import { DecodeError, decodingRow } from '../../storage/errors.ts';
import type { NewProperties, StoredRow } from '../../storage/row.ts';
import { type Hour, HOURS, type MinuteOfHour, MINUTES } from '../model/day.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../model/tally.ts';
import { indexesOf, MAX_CAMERAS_PER_STRIPE, withIndexes } from './bitset.ts';
import { PartOf, type RowPart } from './part.ts';
import { numberedName, readBytes } from './properties.ts';
import { ByteReader, encoded, readTallyBytes, writeTally } from './tally-bytes.ts';

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

const tallyName = (number: number): string => numberedName('tally_', number);
const activeName = (number: number): string => numberedName('active_', number);

const bucketProperties = (numbers: readonly number[]): readonly string[] =>
  numbers.flatMap((number) => [tallyName(number), activeName(number)]);

const readBuckets = <Number extends Hour | MinuteOfHour>(row: StoredRow, numbers: readonly Number[]): Buckets<Number> =>
  decodingRow(row, () => {
    const buckets = new Map<Number, Bucket>();
    for (const number of numbers) {
      const tally = readBytes(tallyName(number), row.properties);
      const active = readBytes(activeName(number), row.properties);
      if (tally === undefined && active === undefined) continue;
      if (tally === undefined || active === undefined) throw new DecodeError(`half of bucket ${number} is missing`);
      if (active.length > MAX_CAMERAS_PER_STRIPE / 8) throw new DecodeError('a set of cameras is too large');
      buckets.set(number, { tally, active });
    }
    return buckets;
  });

/** Some buckets of a row. */
export const bucketsPart = <Number extends Hour | MinuteOfHour>(
  numbers: readonly Number[],
): RowPart<PartOf<Number, Bucket>> => ({
  select: bucketProperties(numbers),
  from: (row) => new PartOf(numbers, readBuckets(row, numbers)),
});

/** The minutes of a whole row of an hour. */
export const hourRowFrom = (row: StoredRow): HourRow => readBuckets(row, MINUTES);

/** The hours of a whole row of a day. */
export const hoursFrom = (row: StoredRow): Buckets<Hour> => readBuckets(row, HOURS);

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
    tally: encoded((writer) => writeTally(writer, sumOf([tally, difference]), indexesOf(categories))),
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
