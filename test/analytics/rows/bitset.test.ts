import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { placesIn, unionOfPlaces, withPlaces } from '../../../src/analytics/rows/bitset.ts';

describe('a set of places', () => {
  it('has what was put in, ascending, and nothing else', () => {
    const places = fc.array(fc.integer({ min: 0, max: 2_000 }));
    fc.assert(
      fc.property(places, places, (first, then) => {
        const before = withPlaces(new Uint8Array(), first);
        const bits = withPlaces(before, then);
        const wanted = new Set([...first, ...then]);
        expect(placesIn(bits)).toEqual([...wanted].sort((left, right) => left - right));
        expect(placesIn(before)).toEqual([...new Set(first)].sort((left, right) => left - right));
      }),
    );
  });

  it('takes an eighth of a byte a place', () => {
    expect(withPlaces(new Uint8Array(), [24_999])).toHaveLength(3_125);
    expect([...withPlaces(new Uint8Array(), [0, 3, 8])]).toEqual([0b1001, 0b1]);
  });

  it('has in a union what one of the two has, and leaves both as they are', () => {
    const set = fc.array(fc.integer({ min: 0, max: 300 })).map((own) => withPlaces(new Uint8Array(), own));
    fc.assert(
      fc.property(set, set, (left, right) => {
        const before = [placesIn(left), placesIn(right)];
        const wanted = new Set(before.flat());
        expect(placesIn(unionOfPlaces(left, right))).toEqual([...wanted].sort((one, other) => one - other));
        expect([placesIn(left), placesIn(right)]).toEqual(before);
      }),
    );
  });
});
