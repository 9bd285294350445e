import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { NO_COUNT, type Tally } from '../../../src/analytics/model/tally.ts';
import {
  indexesIn,
  indexesOf,
  packBitset,
  unionOf,
  unpackBitset,
  withIndexes,
} from '../../../src/analytics/rows/bitset.ts';
import { addToBucket, bucketValues, NO_BUCKETS } from '../../../src/analytics/rows/buckets.ts';
import { addToCamera, cameraWrite, EMPTY_CAMERA } from '../../../src/analytics/rows/camera-row.ts';
import { addSamples, minuteRowWrite, NO_SAMPLES } from '../../../src/analytics/rows/minute-row.ts';
import {
  MAX_TALLY_CATEGORIES,
  readTallyText,
  tallyProperties,
  tallyPropertyNames,
} from '../../../src/analytics/rows/properties.ts';
import {
  EMPTY_STRIPE,
  hasSameCounts,
  type StripeRow,
  stripeRowFrom,
  stripeWrite,
  withCameras,
} from '../../../src/analytics/rows/stripe-row.ts';
import { ByteReader, encoded, readTally, writeTally } from '../../../src/analytics/rows/tally-bytes.ts';
import { DecodeError } from '../../../src/storage/errors.ts';
import { all, MemoryStorage, SHARD } from '../counting.ts';

/** Tallies with counts from 0 to more than a whole network counts in a day, or differences; of days with accuracy. */
const tallies = (isOfDay: boolean): fc.Arbitrary<Tally> => {
  const count = fc.oneof(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: -20_000, max: 20_000 }));
  const ofDay = isOfDay ? count : fc.constant(0);
  const plain = { noNullPrototype: true };
  const ofCategory = fc.record(
    { detections: count, reviewed: count, annotations: count, flagged: ofDay, confirmed: ofDay },
    plain,
  );
  const name = fc.oneof(
    fc.constantFrom('fire', 'Fire', 'constructor', 'toString', 'hasOwnProperty', 'a'),
    fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/),
  );
  const categories = fc.uniqueArray(fc.tuple(name, ofCategory), { selector: ([category]) => category, maxLength: 8 });
  return fc.record(
    { events: count, reviewed: count, annotated: count, categories: categories.map((own) => new Map(own)) },
    plain,
  );
};

it('a tally in bytes is read with its list of categories or one that has grown since, or skipped', () => {
  fc.assert(
    fc.property(tallies(false), (tally) => {
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

it('a tally as text is read back unchanged, its categories in their order, however many there are', () => {
  const counts = fc.oneof(fc.constantFrom(0, 199, 200, 201, 400, MAX_TALLY_CATEGORIES), fc.nat(MAX_TALLY_CATEGORIES));
  const ofKind = fc
    .constantFrom('day', 'hour')
    .chain((kind) => fc.record({ kind: fc.constant(kind), some: tallies(kind === 'day') }));
  fc.assert(
    fc.property(ofKind, counts, ({ kind, some }, count) => {
      const more = all(Math.max(0, count - some.categories.size)).map(
        (index) => [`c${index}`, { ...NO_COUNT, detections: index, reviewed: -1 }] as const,
      );
      const tally = { ...some, categories: new Map([...some.categories, ...more]) };
      const properties = tallyProperties('day', tally, kind);
      expect(tallyPropertyNames('day')).toEqual(expect.arrayContaining(Object.keys(properties)));
      const read = readTallyText('day', { ...properties, day_x: 'other' }, kind);
      expect(read).toEqual(tally);
      expect([...(read?.categories.keys() ?? [])]).toEqual([...tally.categories.keys()]);
    }),
    { numRuns: 40 },
  );
  expect(readTallyText('day', { day_1: '{}' }, 'day')).toBeUndefined();
});

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

const SMOKE: Tally = { events: 1, reviewed: 0, annotated: 0, categories: new Map([['smoke', NO_COUNT]]) };
const FOG: Tally = { ...SMOKE, categories: new Map([['fog', { ...NO_COUNT, detections: 5, annotations: 200 }]]) };
const SAMPLE = { microsecond: 7_000_005, cameraIndex: 3, tally: SMOKE };
const HOURS = [8, 9].reduce((row, hour) => addToBucket(row, hour, SMOKE, [3], ['smoke']) ?? row, NO_BUCKETS);

describe('a counter row', () => {
  it('writes only what has changed', () => {
    expect(Object.keys(bucketValues(HOURS, [8])).sort()).toEqual(['active_08', 'tally_08']);
    const minute = addSamples(NO_SAMPLES, [SAMPLE, { ...SAMPLE, microsecond: 9_000_000 }], ['smoke']) ?? NO_SAMPLES;
    expect(Object.keys(minuteRowWrite('k', 'e', minute, [SAMPLE]).properties)).toEqual(['second_07']);
    const camera = [487, 540].reduce((row, at) => addToCamera(row, [[at, SMOKE]]), EMPTY_CAMERA);
    const written = Object.keys(cameraWrite('c', 'e', camera, [8]).properties);
    expect(written.sort()).toEqual(['day', 'hour_08', 'minutes_08']);
  });

  it('is not changed with a list of categories that is older than it: another process wrote in between', () => {
    const names = ['smoke', 'fog'];
    const buckets = addToBucket(NO_BUCKETS, 8, FOG, [3], names) ?? NO_BUCKETS;
    const minute = addSamples(NO_SAMPLES, [{ ...SAMPLE, tally: FOG }], names) ?? NO_SAMPLES;
    expect(addToBucket(buckets, 8, SMOKE, [3], ['smoke'])).toBeUndefined();
    expect(addSamples(minute, [SAMPLE], ['smoke'])).toBeUndefined();
  });

  it('of a stripe is read as it was written, and only the hours and the texts of its list that changed are written again', async () => {
    const { table } = new MemoryStorage().process();
    const ids = all(900).map((index) => String(index).padStart(128, 'x'));
    const stored = async () => {
      const row = await table.get(SHARD, 'day');
      return row && { row, value: stripeRowFrom(row) };
    };
    const write = async (after: StripeRow): Promise<readonly string[]> => {
      const before = await stored();
      const own = stripeWrite(0, before?.row.etag, before?.value, after, [8]);
      await table.transact(SHARD, [own]);
      return Object.keys(own.properties);
    };
    const first = { ...EMPTY_STRIPE, tally: FOG, hours: HOURS, cameras: withCameras(EMPTY_STRIPE.cameras, ids) };
    const lists = ['cameras', 'cameras_1', 'cameras_2', 'cameras_3'];
    expect(await write(first)).toEqual(['stripes', 'day', 'tally_08', 'active_08', ...lists]);
    const found = await stored();
    expect(found?.value).toMatchObject({ stripes: 1, mark: 0, tally: FOG, cameras: { ids } });
    expect([...(found?.value.hours ?? [])]).toEqual([...HOURS].slice(0, 1));
    expect(await write({ ...first, cameras: withCameras(first.cameras, ['one-more']) })).toEqual([
      'day',
      'tally_08',
      'active_08',
      'cameras_3',
    ]);
    const now = await stored();
    expect(now?.value.cameras.indexes.get('one-more')).toBe(900);
    // Another writer's commit is distinguished from the mark of a seal.
    for (const [properties, isSame] of [
      [{ mark: 3, stripes: 2 }, true],
      [{ cameras: 'other' }, false],
    ] as const) {
      await table.transact(SHARD, [{ kind: 'merge', rowKey: 'day', etag: '*', properties }]);
      const after = await stored();
      expect(now && after && hasSameCounts(after.row, now.value)).toBe(isSame);
    }
  });
});
