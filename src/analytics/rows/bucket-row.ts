import { ByteReader, ByteWriter } from './byte-stream.ts';
import { withPlaces } from './bitset.ts';
import { placesOf, readTally, writeTally } from './tally-bytes.ts';
import { EMPTY_TALLY, plus, type Tally } from '../model/tally.ts';
import { WriteConflict, writeOf, type PropertyValue, type RowWrite } from './table.ts';
import { twoDigits } from './two-digits.ts';

/** A span of time of a shard, over all its cameras: an hour of its day, or a minute of an hour. */
export interface Bucket {
  /** Its tally, as {@link bucketTally} reads it. */
  readonly tally: Uint8Array;
  /** The cameras that sent its events, as a set of places in the shard's list. */
  readonly active: Uint8Array;
}

/** The buckets of a row that have events, by number: the hours of a day (0 to 23), or the minutes of an hour (0 to 59). */
export type Buckets = ReadonlyMap<number, Bucket>;

/** The buckets of a row that is not there. */
export const NO_BUCKETS: Buckets = new Map();

const MOST_BUCKETS = 60;
const tallyProperty = (number: number): string => `t${twoDigits(number)}`;
const activeProperty = (number: number): string => `a${twoDigits(number)}`;

/** The properties to read for some buckets of a row. */
export const bucketProperties = (numbers: Iterable<number>): readonly string[] =>
  [...numbers].flatMap((number) => [tallyProperty(number), activeProperty(number)]);

const storedBytes = (value: unknown): Uint8Array => {
  if (!(value instanceof Uint8Array)) throw new TypeError('a stored bucket is damaged');
  return value;
};

/**
 * A row, or the part of it that was read → its buckets.
 *
 * @throws {TypeError} where the row is not what {@link bucketsWrite} writes
 */
export const bucketsFrom = (properties: Readonly<Record<string, unknown>>): Buckets => {
  const buckets = new Map<number, Bucket>();
  for (let number = 0; number < MOST_BUCKETS; number += 1) {
    const [tally, active] = [properties[tallyProperty(number)], properties[activeProperty(number)]];
    if (tally === undefined && active === undefined) continue;
    buckets.set(number, { tally: storedBytes(tally), active: storedBytes(active) });
  }
  return buckets;
};

/**
 * The tally of a bucket.
 *
 * @param categories the shard's list of categories: those of its `total` row, in order
 * @returns undefined where the list is older than the row: read it again
 * @throws {TypeError} where the bytes are not what {@link addToBucket} makes
 */
export const bucketTally = (bucket: Bucket, categories: readonly string[]): Tally | undefined =>
  readTally(new ByteReader(bucket.tally), categories);

/** How many events a bucket has: the first count of its tally. */
export const eventsOf = ({ tally }: Bucket): number => new ByteReader(tally).count();

/**
 * The buckets with a difference added to one of them.
 *
 * @param places the places of the difference's cameras in the shard's list
 * @param categories the shard's list of categories with those of the difference in it
 * @throws {WriteConflict} where the list is older than the row
 */
export const addToBucket = (
  buckets: Buckets,
  number: number,
  difference: Tally,
  places: Iterable<number>,
  categories: readonly string[],
): Buckets => {
  const before = buckets.get(number);
  const tally = before === undefined ? EMPTY_TALLY : bucketTally(before, categories);
  if (tally === undefined) throw new WriteConflict('a row was read after another writer changed the total');
  const writer = new ByteWriter();
  writeTally(writer, plus(tally, difference), placesOf(categories));
  const active = withPlaces(before?.active ?? new Uint8Array(), places);
  return new Map(buckets).set(number, { tally: writer.bytes(), active });
};

/** Writes the buckets named of a row; `etag` undefined: there is no row yet. */
export const bucketsWrite = (
  rowKey: string,
  etag: string | undefined,
  buckets: Buckets,
  numbers: Iterable<number>,
): RowWrite => {
  const properties: Record<string, PropertyValue> = {};
  for (const number of numbers) {
    const bucket = buckets.get(number);
    if (bucket === undefined) continue;
    properties[tallyProperty(number)] = bucket.tally;
    properties[activeProperty(number)] = bucket.active;
  }
  return writeOf(rowKey, etag, properties);
};
