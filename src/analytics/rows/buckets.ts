import { DecodeError, decodingRow } from '../../storage/errors.ts';
import type { NewProperties, StoredRow } from '../../storage/row.ts';
import { EMPTY_TALLY, plus, type Tally } from '../model/tally.ts';
import { indexesOf, packBitset, unpackBitset, withIndexes } from './bitset.ts';
import { numberedBytes, numberedName, readNumberedBytes } from './properties.ts';
import { ByteReader, encoded, readTally, writeTally } from './tally-bytes.ts';

/** An hour or a minute of a shard, over all its cameras. */
export interface Bucket {
  /** Its tally, as {@link readTally} reads it. */
  readonly tally: Uint8Array;
  /** The cameras that sent its events: a bitset of indexes in the shard's camera list. */
  readonly active: Uint8Array;
}

/** The buckets of a `day` row, one for each hour (0 to 23) that has events; or of an `hour|08` row, one for each minute (0 to 59). */
export type Buckets = ReadonlyMap<number, Bucket>;

export const NO_BUCKETS: Buckets = new Map();

const MAX_BUCKETS = 60;
const TALLY = 'tally_';
const ACTIVE = 'active_';

export const bucketProperties = (numbers: readonly number[]): readonly string[] =>
  numbers.flatMap((number) => [numberedName(TALLY, number), numberedName(ACTIVE, number)]);

export const bucketsFrom = (row: StoredRow): Buckets =>
  decodingRow(row, () => {
    const tallies = readNumberedBytes(TALLY, MAX_BUCKETS, row.properties);
    const cameras = readNumberedBytes(ACTIVE, MAX_BUCKETS, row.properties);
    const buckets = new Map<number, Bucket>();
    for (const number of new Set([...tallies.keys(), ...cameras.keys()])) {
      const [tally, active] = [tallies.get(number), cameras.get(number)];
      if (tally === undefined || active === undefined) throw new DecodeError(`half of bucket ${number} is missing`);
      buckets.set(number, { tally, active: unpackBitset(active) });
    }
    return buckets;
  });

/**
 * A row with a difference added to one of its buckets.
 *
 * @param cameras the indexes of the difference's cameras in the shard's camera list
 * @param categories the shard's categories, including the categories of the difference
 * @returns undefined if the categories were read before the bucket was written
 */
export const addToBucket = (
  row: Buckets,
  number: number,
  difference: Tally,
  cameras: Iterable<number>,
  categories: readonly string[],
): Buckets | undefined => {
  const before = row.get(number);
  const tally = before === undefined ? EMPTY_TALLY : readTally(new ByteReader(before.tally), categories);
  if (tally === undefined) return undefined;
  return new Map(row).set(number, {
    tally: encoded((writer) => writeTally(writer, plus(tally, difference), indexesOf(categories))),
    active: withIndexes(before?.active ?? new Uint8Array(), cameras),
  });
};

export const bucketValues = (row: Buckets, numbers: Iterable<number>): NewProperties => {
  const written = new Set(numbers);
  return {
    ...numberedBytes(TALLY, written, (number) => row.get(number)?.tally),
    ...numberedBytes(ACTIVE, written, (number) => {
      const active = row.get(number)?.active;
      return active && packBitset(active);
    }),
  };
};
