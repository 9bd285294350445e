import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { NO_COUNT, type Tally } from '../../../src/analytics/model/tally.ts';
import {
  indexesIn,
  indexesOf,
  packBitset,
  unionOf,
  unpackBitset,
  withIndexes,
} from '../../../src/analytics/rows/bitset.ts';
import { addToBucket, NO_BUCKETS } from '../../../src/analytics/rows/buckets.ts';
import { DAY_KEY } from '../../../src/analytics/rows/keys.ts';
import { addSamples, NO_SAMPLES } from '../../../src/analytics/rows/minute-row.ts';
import {
  MAX_TALLY_CATEGORIES,
  readTallyText,
  tallyProperties,
  tallyPropertyNames,
} from '../../../src/analytics/rows/properties.ts';
import {
  EMPTY_STRIPE,
  hasSameCounts,
  NO_CAMERAS,
  stripeRowFrom,
  stripeWrite,
  withCameras,
} from '../../../src/analytics/rows/stripe-row.ts';
import { ByteReader, encoded, readTally, writeTally } from '../../../src/analytics/rows/tally-bytes.ts';
import { DecodeError } from '../../../src/storage/errors.ts';
import { all, MemoryStorage, SHARD } from '../counting.ts';

/** Tallies with counts from 0 to more than a whole network counts in a day, or differences. */
const count = fc.oneof(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: -20_000, max: 20_000 }));
const plain = { noNullPrototype: true };
const name = fc.oneof(fc.constantFrom('Fire', 'constructor', 'a'), fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/));
const ofCategory = fc.record({ detections: count, reviewed: count, annotations: count }, plain);
const tallies: fc.Arbitrary<Tally> = fc.record(
  {
    events: count,
    reviewed: count,
    annotated: count,
    categories: fc
      .uniqueArray(fc.tuple(name, ofCategory), { selector: ([category]) => category, maxLength: 8 })
      .map((own) => new Map(own.map(([category, counts]) => [category, { ...NO_COUNT, ...counts }]))),
  },
  plain,
);

it('a tally in bytes is read with its list of categories or one that has grown since, or skipped', () => {
  fc.assert(
    fc.property(tallies, (tally) => {
      // In another order, and with one before them.
      const list = ['not-in-it', ...[...tally.categories.keys()].reverse()];
      const bytes = encoded((writer) => {
        writeTally(writer, tally, indexesOf(list));
        writer.count(42);
      });
      for (const names of [list, [...list, 'later']]) {
        const reader = new ByteReader(bytes);
        expect([readTally(reader, names), reader.count(), reader.done]).toEqual([tally, 42, true]);
      }
      const skipping = new ByteReader(bytes);
      expect(readTally(new ByteReader(skipping.tally()), list)).toEqual(tally);
      const older = new ByteReader(bytes);
      expect(readTally(older, list.slice(0, -1)) === undefined, 'a list that is older').toBe(list.length > 1);
      expect([skipping.count(), older.count()]).toEqual([42, 42]);
    }),
  );
  for (const value of [-1, 0.5, 2 ** 53, Number.NaN]) {
    expect(() => encoded((writer) => writer.count(value)), 'it has no bytes').toThrow(RangeError);
  }
});

it.each([0, 199, 200, 201, 400, MAX_TALLY_CATEGORIES])(
  'a tally as text is read back unchanged, its categories in their order, with %i categories more',
  (categories) => {
    const more = all(categories).map(
      (index) => [`_${index}`, { ...NO_COUNT, detections: index, reviewed: -1 }] as const,
    );
    fc.assert(
      fc.property(tallies, count, fc.constantFrom('day', 'hour'), (some, flagged, kind) => {
        const ofDay = kind === 'day' ? { flagged, confirmed: flagged - 1 } : {};
        const own = Array.from(some.categories, ([category, counts]) => [category, { ...counts, ...ofDay }] as const);
        const tally = { ...some, categories: new Map([...own, ...more]) };
        const properties = tallyProperties('day', tally, kind);
        expect(tallyPropertyNames('day')).toEqual(expect.arrayContaining(Object.keys(properties)));
        const read = readTallyText('day', { ...properties, day_x: 'other' }, kind);
        expect(read).toEqual(tally);
        expect([...(read?.categories.keys() ?? [])]).toEqual([...tally.categories.keys()]);
      }),
      { numRuns: 8 },
    );
  },
);

const sorted = (...some: readonly (readonly number[])[]) => [...new Set(some.flat())].sort((one, two) => one - two);

it('a bitset has the indexes that were added, also in a union and as stored, and stays as it is', () => {
  const runs = fc
    .array(fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 400 })), { maxLength: 6 })
    .map((own) => own.flatMap(([from, length]) => all(length).map((index) => from + index)));
  const indexes = fc.oneof(runs, fc.array(fc.nat(3_000)));
  fc.assert(
    fc.property(indexes, indexes, (first, then) => {
      const [left, right] = [withIndexes(new Uint8Array(), first), withIndexes(new Uint8Array(), then)];
      for (const both of [withIndexes(left, then), unionOf(left, right), unionOf(right, left)]) {
        expect(indexesIn(both)).toEqual(sorted(first, then));
        expect(indexesIn(unpackBitset(packBitset(both)))).toEqual(sorted(first, then));
        expect(packBitset(both).length).toBeLessThanOrEqual(both.length + 1);
      }
      expect([indexesIn(left), indexesIn(right)]).toEqual([sorted(first), sorted(then)]);
    }),
  );
  for (const bytes of ['', '0201', '0180', '01ffff7f']) {
    expect(() => unpackBitset(Buffer.from(bytes, 'hex')), bytes).toThrow(DecodeError);
  }
});

const ONE: Tally = { events: 1, reviewed: 0, annotated: 0, categories: new Map([['smoke', NO_COUNT]]) };
const FOG: Tally = { ...ONE, categories: new Map([['fog', { ...NO_COUNT, detections: 5, annotations: 200 }]]) };
const HOURS = [8, 9].reduce((row, hour) => addToBucket(row, hour, FOG, [3], ['fog']) ?? row, NO_BUCKETS);

it('a counter row is not changed with a list of categories that is older than it: another process wrote in between', () => {
  const samples = [ONE, FOG].map((tally) => [{ microsecond: 7_000_005, cameraIndex: 3, tally }] as const);
  const [smoke = [], fog = []] = samples;
  const minute = addSamples(NO_SAMPLES, fog, ['smoke', 'fog']) ?? NO_SAMPLES;
  expect(addSamples(minute, smoke, ['smoke'])).toBeUndefined();
  const buckets = addToBucket(NO_BUCKETS, 8, FOG, [3], ['smoke', 'fog']) ?? NO_BUCKETS;
  expect(addToBucket(buckets, 8, ONE, [3], ['smoke'])).toBeUndefined();
});

it("the row of a stripe is read as it was written, and tells another writer's commit from the mark of a seal", async () => {
  const { table } = new MemoryStorage().process();
  const cameras = withCameras(
    NO_CAMERAS,
    all(900).map((index) => String(index).padStart(128, 'x')),
  );
  const written = { ...EMPTY_STRIPE, tally: FOG, hours: HOURS, cameras };
  await table.transact(SHARD, [stripeWrite(0, undefined, undefined, written, HOURS.keys())]);
  const row = await table.get(SHARD, DAY_KEY);
  if (row === undefined) throw new Error('it is not stored');
  expect(stripeRowFrom(row)).toEqual(written);
  const marked = { ...row.properties, mark: 3, stripes: 2 };
  expect(hasSameCounts({ ...row, properties: marked }, written)).toBe(true);
  expect(hasSameCounts({ ...row, properties: { ...marked, cameras: 'other' } }, written)).toBe(false);
});
