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
  type HourRow,
} from '../../../src/analytics/rows/hour-rows.ts';
import { indexesIn } from '../../../src/analytics/rows/bitset.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import type { Properties } from '../../../src/storage/row.ts';
import { sameTally, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { ONE_FRAME as one, tallies } from '../arbitraries.ts';
import { storedRow } from './stored-row.ts';

const changes = fc.array(
  fc.record({
    number: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 59 })),
    cameraIndex: fc.integer({ min: 0, max: 25_000 }),
    difference: tallies,
  }),
  { minLength: 1, maxLength: 10 },
);

const sorted = (numbers: Iterable<number>): readonly number[] => [...new Set(numbers)].sort((a, b) => a - b);

const KEY = 'hour|08';
const rowFrom = (properties: Properties): HourRow => bucketsFrom(storedRow(KEY, properties));

/** A row with a difference added, of categories that are new enough. */
const added = (...args: Parameters<typeof addToBucket>): HourRow => {
  const row = addToBucket(...args);
  if (row === undefined) throw new Error('the categories are older than the row');
  return row;
};
const two = added(added(NO_BUCKETS, 0, one, [3], ['smoke']), 7, one, [12], ['smoke']);

describe('the buckets of a row', () => {
  it('have what was added to them, and its cameras, in memory and in the row', () => {
    fc.assert(
      fc.property(changes, fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), (given, rereads) => {
        const categories: string[] = [];
        const properties: Record<string, unknown> = {};
        let buckets = NO_BUCKETS;
        for (const [index, { number, cameraIndex, difference }] of given.entries()) {
          for (const name of difference.categories.keys()) if (!categories.includes(name)) categories.push(name);
          buckets = added(buckets, number, difference, [cameraIndex], categories);
          Object.assign(properties, bucketsWrite(KEY, 'e', buckets, [number]).properties);
          if (rereads[index] === true) buckets = rowFrom(properties);
        }
        for (const read of [buckets, rowFrom(properties)]) {
          expect(sorted(read.keys())).toEqual(sorted(given.map(({ number }) => number)));
          for (const [number, bucket] of read) {
            const own = given.filter((change) => change.number === number);
            const sum = sumOf(own.map(({ difference }) => difference));
            const tally = bucketTally(bucket, categories);
            expect(tally !== undefined && sameTally(tally, sum)).toBe(true);
            expect(eventsOf(bucket)).toBe(sum.events);
            expect(indexesIn(bucket.active)).toEqual(sorted(own.map(({ cameraIndex }) => cameraIndex)));
          }
        }
      }),
    );
  });

  it('can be read in part', () => {
    const { properties } = bucketsWrite(KEY, undefined, two, [0, 7]);
    const names = bucketProperties([7, 8]);
    const read = rowFrom(Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name))));
    expect(read).toEqual(new Map([[7, two.get(7)]]));
  });

  it('are not changed with a list of categories that is older than they are: another process wrote in between', () => {
    const fog: Tally = { ...one, categories: new Map([['fog', { detections: 1, reviewed: 0, annotations: 0 }]]) };
    const buckets = added(NO_BUCKETS, 0, fog, [0], ['smoke', 'fog']);
    expect(addToBucket(buckets, 0, one, [0], ['smoke'])).toBeUndefined();
    expect([...buckets.values()].map((bucket) => bucketTally(bucket, ['smoke']))).toEqual([undefined]);
  });

  it('are inserted where the row is not stored yet, else merged at the version that was read, the changed ones only', () => {
    expect(bucketsWrite(KEY, undefined, two, [0, 7])).toMatchObject({ kind: 'insert', rowKey: KEY });
    const write = bucketsWrite(KEY, 'W/"1"', two, [7]);
    expect(write).toMatchObject({ kind: 'merge', etag: 'W/"1"' });
    expect(Object.keys(write.properties).sort()).toEqual(['a07', 't07']);
  });

  it.each([{ t00: 'AAA=' }, { a00: 5 }, { t07: undefined }])(
    'that are damaged are refused as a whole: %j',
    (damage) => {
      const { properties } = bucketsWrite(KEY, undefined, two, [0, 7]);
      expect(rowFrom(properties)).toEqual(two);
      expect(() => rowFrom({ ...properties, ...damage })).toThrow(DamagedRow);
    },
  );
});
