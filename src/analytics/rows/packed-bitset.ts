import { ByteReader, encoded } from './bytes.ts';
import { MAX_CAMERAS_PER_SHARD } from './camera-list.ts';
import { DecodeError } from '../../storage/errors.ts';

// A bitset as stored, in the shorter of two forms: its bytes as they are, or the lengths of its runs of equal bits. The active
// cameras of an hour are nearly all cameras of the shard: a few bytes in place of one for eight cameras.
const PLAIN = 0;
const RUNS = 1;

/** The lengths of the runs of equal bits: unset, set, unset, …; the last one is of set bits. */
const runsOf = (set: Uint8Array): readonly number[] => {
  const runs: number[] = [];
  let [bit, length] = [0, 0];
  for (let index = 0; index < set.length * 8; index += 1) {
    const own = ((set[index >> 3] ?? 0) >> (index & 7)) & 1;
    if (own !== bit) {
      runs.push(length);
      [bit, length] = [own, 0];
    }
    length += 1;
  }
  return bit === 1 ? [...runs, length] : runs;
};

/** A bitset → its stored form. */
export const packBitset = (set: Uint8Array): Uint8Array => {
  const runs = encoded((writer) => {
    writer.count(RUNS);
    for (const run of runsOf(set)) writer.count(run);
  });
  return runs.length <= set.length ? runs : Uint8Array.of(PLAIN, ...set);
};

/** A stored form → the bitset. @throws {DecodeError} */
export const unpackBitset = (bytes: Uint8Array): Uint8Array => {
  if (bytes[0] === PLAIN) return bytes.subarray(1);
  const reader = new ByteReader(bytes);
  if (reader.count() !== RUNS) throw new DecodeError('a set of cameras has an unknown form');
  const ends: number[] = [];
  let end = 0;
  while (!reader.done) {
    end += reader.count();
    if (end > MAX_CAMERAS_PER_SHARD) throw new DecodeError('a set of cameras is too large');
    ends.push(end);
  }
  const set = new Uint8Array(Math.ceil(end / 8));
  for (let run = 1; run < ends.length; run += 2) {
    for (let index = ends[run - 1] ?? 0; index < (ends[run] ?? 0); index += 1) {
      set[index >> 3] = (set[index >> 3] ?? 0) | (1 << (index & 7));
    }
  }
  return set;
};
