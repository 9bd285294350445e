import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { indexesIn, withIndexes, packBitset, unpackBitset } from '../../../src/analytics/rows/bitset.ts';
import { DecodeError } from '../../../src/storage/errors.ts';

const setOf = (indexes: Iterable<number>): Uint8Array => withIndexes(new Uint8Array(), indexes);
const all = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

describe('a stored bitset', () => {
  it('is read back unchanged, whatever it is', () => {
    const runs = fc
      .array(fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 400 })), { maxLength: 6 })
      .map((own) => own.flatMap(([from, length]) => all(length).map((index) => from + index)));
    fc.assert(
      fc.property(fc.oneof(runs, fc.array(fc.nat(3_000))), (indexes) => {
        const set = setOf(indexes);
        expect(indexesIn(unpackBitset(packBitset(set)))).toEqual(indexesIn(set));
        expect(packBitset(set).length).toBeLessThanOrEqual(set.length + 1);
      }),
    );
  });

  it('of all 1,300 cameras takes 4 bytes, with one missing 7', () => {
    expect(packBitset(setOf(all(1_300)))).toHaveLength(4);
    expect(packBitset(setOf(all(1_300).filter((index) => index !== 500)))).toHaveLength(7);
  });

  it.each([[], [2, 1], [1, 0x80], [1, 0xff, 0xff, 0x7f]].map((bytes) => [Uint8Array.from(bytes)]))(
    'that is damaged is refused: %j',
    (bytes) => {
      expect(() => unpackBitset(bytes)).toThrow(DecodeError);
    },
  );
});
