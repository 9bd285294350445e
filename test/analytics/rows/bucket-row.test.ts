import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  addToBucket,
  bucketProperties,
  bucketsFrom,
  bucketsWrite,
  bucketTally,
  eventsOf,
  NO_BUCKETS,
  type Buckets,
} from '../../../src/analytics/rows/bucket-row.ts';
import { placesIn } from '../../../src/analytics/rows/bitset.ts';
import { WriteConflict } from '../../../src/analytics/rows/table.ts';
import { sameTally, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { ONE_FRAME as one, tallies } from '../arbitraries.ts';

const changes = fc.array(
  fc.record({
    number: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 59 })),
    place: fc.integer({ min: 0, max: 25_000 }),
    difference: tallies,
  }),
  { minLength: 1, maxLength: 10 },
);

const sorted = (places: Iterable<number>): readonly number[] => [...new Set(places)].sort((a, b) => a - b);

const KEY = 'hour|08';
const two = addToBucket(addToBucket(NO_BUCKETS, 0, one, [3], ['smoke']), 7, one, [12], ['smoke']);

describe('the buckets of a row', () => {
  it('are what was added to them, and whose it was; in memory and in the row', () => {
    fc.assert(
      fc.property(changes, fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), (added, rereads) => {
        const categories: string[] = [];
        const properties: Record<string, unknown> = {};
        let buckets: Buckets = NO_BUCKETS;
        for (const [index, { number, place, difference }] of added.entries()) {
          for (const name of difference.categories.keys()) if (!categories.includes(name)) categories.push(name);
          buckets = addToBucket(buckets, number, difference, [place], categories);
          Object.assign(properties, bucketsWrite(KEY, 'e', buckets, [number]).properties);
          if (rereads[index] === true) buckets = bucketsFrom(properties);
        }
        for (const read of [buckets, bucketsFrom(properties)]) {
          expect(sorted(read.keys())).toEqual(sorted(added.map(({ number }) => number)));
          for (const [number, bucket] of read) {
            const own = added.filter((change) => change.number === number);
            const sum = sumOf(own.map(({ difference }) => difference));
            const tally = bucketTally(bucket, categories);
            expect(tally !== undefined && sameTally(tally, sum)).toBe(true);
            expect(eventsOf(bucket)).toBe(sum.events);
            expect(placesIn(bucket.active)).toEqual(sorted(own.map(({ place }) => place)));
          }
        }
      }),
    );
  });

  it('can be read in part', () => {
    const { properties } = bucketsWrite(KEY, undefined, two, [0, 7]);
    const names = bucketProperties([7, 8]);
    const read = bucketsFrom(Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name))));
    expect(read).toEqual(new Map([[7, two.get(7)]]));
  });

  it('are not changed on the ground of a list of categories that is older: somebody else wrote in between', () => {
    const fog: Tally = { ...one, categories: new Map([['fog', { detections: 1, reviewed: 0, annotations: 0 }]]) };
    const buckets = addToBucket(NO_BUCKETS, 0, fog, [0], ['smoke', 'fog']);
    expect(() => addToBucket(buckets, 0, one, [0], ['smoke'])).toThrow(WriteConflict);
    expect([...buckets.values()].map((bucket) => bucketTally(bucket, ['smoke']))).toEqual([undefined]);
  });

  it('are inserted where there is no row, else merged at the version that was read, those that changed only', () => {
    expect(bucketsWrite(KEY, undefined, two, [0, 7])).toMatchObject({ kind: 'insert', rowKey: KEY });
    const write = bucketsWrite(KEY, 'W/"1"', two, [7]);
    expect(write).toMatchObject({ kind: 'merge', etag: 'W/"1"' });
    expect(Object.keys(write.properties).sort()).toEqual(['a07', 't07']);
  });

  it.each([{ t00: 'AAA=' }, { a00: 5 }, { t07: undefined }])('that are damaged are refused: %j', (damage) => {
    const { properties } = bucketsWrite(KEY, undefined, two, [0, 7]);
    expect(bucketsFrom(properties)).toEqual(two);
    expect(() => bucketsFrom({ ...properties, ...damage })).toThrow(TypeError);
  });
});
