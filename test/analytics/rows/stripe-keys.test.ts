import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { DecodeError } from '../../../src/storage/errors.ts';
import { cameraKey, camerasKey, hourKey, HOURS_KEY, minuteKey, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { inStripe, MAX_STRIPES, parseStripe, stripesOf } from '../../../src/analytics/rows/stripes.ts';
import { ids } from '../arbitraries.ts';

const alike = fc.constantFrom('cam-1', 'cam-10', 'cam-1 01', 'cam-1!', 'cam', 'cam-1|', 'cam-1 ');
const keys = fc.oneof(
  fc.constantFrom(TOTAL_KEY, HOURS_KEY, hourKey(8), minuteKey(495, 30), camerasKey(1)),
  fc.oneof(alike, ids).map(cameraKey),
);
const stripes = fc.integer({ min: 0, max: MAX_STRIPES - 1 });

describe('the key of a counter row in a stripe', () => {
  it('names the row and the stripe', () => {
    fc.assert(
      fc.property(keys, stripes, (key, stripe) => {
        expect(parseStripe(inStripe(key, stripe))).toEqual({ key, stripe });
      }),
    );
  });

  it('is the plain key in stripe 0, and has a suffix in the others', () => {
    expect([0, 1, 63].map((stripe) => inStripe('camera|cam-1', stripe))).toEqual([
      'camera|cam-1',
      'camera|cam-1 01',
      'camera|cam-1 63',
    ]);
  });

  it('is a neighbour of the same row in the other stripes: nothing else is between them', () => {
    fc.assert(
      fc.property(keys, keys, stripes, (asked, key, stripe) => {
        const { from, before } = stripesOf(asked);
        const found = inStripe(key, stripe);
        expect(from <= found && found < before).toBe(asked === key);
      }),
      { numRuns: 500 },
    );
  });

  it.each(['total 1', 'total 00', 'total 64', 'total 01 02', 'total x1'])('%j is one of no stripe', (key) => {
    expect(() => parseStripe(key)).toThrow(DecodeError);
  });
});
