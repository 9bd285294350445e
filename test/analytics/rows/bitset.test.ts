import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { indexesIn, indexesOf, unionOf, withIndexes } from '../../../src/analytics/rows/bitset.ts';

describe('a bitset', () => {
  it('has the indexes that were added, ascending, and no others', () => {
    const indexes = fc.array(fc.integer({ min: 0, max: 2_000 }));
    fc.assert(
      fc.property(indexes, indexes, (first, then) => {
        const before = withIndexes(new Uint8Array(), first);
        const bits = withIndexes(before, then);
        const wanted = new Set([...first, ...then]);
        expect(indexesIn(bits)).toEqual([...wanted].sort((left, right) => left - right));
        expect(indexesIn(before)).toEqual([...new Set(first)].sort((left, right) => left - right));
      }),
    );
  });

  it('takes one bit an index', () => {
    expect(withIndexes(new Uint8Array(), [24_999])).toHaveLength(3_125);
    expect([...withIndexes(new Uint8Array(), [0, 3, 8])]).toEqual([0b1001, 0b1]);
  });

  it('has in a union the indexes of both, which stay as they are', () => {
    const set = fc.array(fc.integer({ min: 0, max: 300 })).map((own) => withIndexes(new Uint8Array(), own));
    fc.assert(
      fc.property(set, set, (left, right) => {
        const before = [indexesIn(left), indexesIn(right)];
        const wanted = new Set(before.flat());
        expect(indexesIn(unionOf(left, right))).toEqual([...wanted].sort((one, other) => one - other));
        expect([indexesIn(left), indexesIn(right)]).toEqual(before);
      }),
    );
  });

  it('is of a list whose items are found by their indexes', () => {
    expect(indexesOf(['fire', 'smoke'])).toEqual(
      new Map([
        ['fire', 0],
        ['smoke', 1],
      ]),
    );
  });
});
