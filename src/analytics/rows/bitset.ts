import { DecodeError } from '../../storage/errors.ts';
import { ByteReader, encoded } from './tally-bytes.ts';

// A bitset is a set of indexes in a list: index 0 is the lowest bit of the first byte.

/** Most cameras of one stripe and day: the bitsets of an hour's row stay below its 1 MiB. */
export const MAX_CAMERAS_PER_STRIPE = 32_000;

const setBit = (set: Uint8Array, index: number): void => {
  set[index >> 3] = (set[index >> 3] ?? 0) | (1 << (index & 7));
};

export const hasIndex = (set: Uint8Array, index: number): boolean =>
  ((set[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;

export const withIndexes = (set: Uint8Array, indexes: Iterable<number>): Uint8Array => {
  const added = [...indexes];
  const result = new Uint8Array(added.reduce((length, index) => Math.max(length, (index >> 3) + 1), set.length));
  result.set(set);
  for (const index of added) setBit(result, index);
  return result;
};

export const unionOf = (left: Uint8Array, right: Uint8Array): Uint8Array => {
  const [longer, shorter] = left.length < right.length ? [right, left] : [left, right];
  const result = Uint8Array.from(longer);
  for (const [byte, bits] of shorter.entries()) result[byte] = (result[byte] ?? 0) | bits;
  return result;
};

/** The indexes in a bitset, ascending. */
export const indexesIn = (set: Uint8Array): readonly number[] => {
  const indexes: number[] = [];
  for (let byte = 0; byte < set.length; byte += 1) {
    const bits = set[byte] ?? 0;
    for (let bit = 0; bit < 8; bit += 1) if ((bits & (1 << bit)) !== 0) indexes.push(byte * 8 + bit);
  }
  return indexes;
};

export const indexesOf = (list: Iterable<string>): ReadonlyMap<string, number> =>
  new Map(Array.from(list, (item, index) => [item, index]));

// A bitset is stored in the shorter of two forms: its plain bytes, or the lengths of its runs of equal bits. The active
// cameras of an hour are nearly all cameras of the stripe: a few bytes in place of one for eight cameras.
const PLAIN = 0;
const RUNS = 1;

/** The lengths of the runs of equal bits: unset, set, unset, …; the last run is of set bits. */
const runsOf = (set: Uint8Array): readonly number[] => {
  const runs: number[] = [];
  let [bit, length] = [0, 0];
  for (let index = 0; index < set.length * 8; index += 1) {
    const value = ((set[index >> 3] ?? 0) >> (index & 7)) & 1;
    if (value !== bit) {
      runs.push(length);
      [bit, length] = [value, 0];
    }
    length += 1;
  }
  return bit === 1 ? [...runs, length] : runs;
};

export const packBitset = (set: Uint8Array): Uint8Array => {
  const runs = encoded((writer) => {
    writer.count(RUNS);
    for (const run of runsOf(set)) writer.count(run);
  });
  return runs.length <= set.length ? runs : Uint8Array.of(PLAIN, ...set);
};

export const unpackBitset = (bytes: Uint8Array): Uint8Array => {
  if (bytes.length > 1 + MAX_CAMERAS_PER_STRIPE / 8) throw new DecodeError('a set of cameras is too large');
  if (bytes[0] === PLAIN) return bytes.subarray(1);
  const reader = new ByteReader(bytes);
  if (reader.count() !== RUNS) throw new DecodeError('a set of cameras has an unknown form');
  const ends: number[] = [];
  let end = 0;
  while (!reader.done) {
    end += reader.count();
    if (end > MAX_CAMERAS_PER_STRIPE) throw new DecodeError('a set of cameras is too large');
    ends.push(end);
  }
  const set = new Uint8Array(Math.ceil(end / 8));
  for (let run = 1; run < ends.length; run += 2) {
    for (let index = ends[run - 1] ?? 0; index < (ends[run] ?? 0); index += 1) setBit(set, index);
  }
  return set;
};
