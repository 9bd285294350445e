import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { HOURS, minuteFrom } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { type DayTally, EMPTY_TALLY, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { addToBucket, type Buckets, endOf, hasIndex, withIndexes } from '../../../src/analytics/rows/buckets.ts';
import {
  ByteReader,
  indexesOf,
  MAX_TALLY_CATEGORIES,
  readTally,
  readTallyBytes,
  TALLY_PROPERTIES,
  tallyValues,
  writeCount,
  writeTally,
} from '../../../src/analytics/rows/properties.ts';
import {
  addToCamera,
  cameraRowFrom,
  cameraValues,
  EMPTY_CAMERA,
  minutesIn,
} from '../../../src/analytics/rows/camera-row.ts';
import { DAY_STATE, dayRowFrom, dayValues } from '../../../src/analytics/rows/day-row.ts';
import { eventFrom, eventValues } from '../../../src/analytics/rows/event-row.ts';
import { cameraCounter, type Counter, counterKey, DAY_COUNTER, eventKey } from '../../../src/analytics/rows/keys.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { type NewProperties, type StoredRow, writeOf } from '../../../src/storage/row.ts';
import { all, MemoryStorage, SHARD, START } from '../counting.ts';

/** Tallies with counts from 0 to more than a whole network counts in a day, or differences. */
const count = fc.oneof(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: -20_000, max: 20_000 }));
const plain = { noNullPrototype: true };
const name = fc.oneof(fc.constantFrom('Fire', 'constructor', 'a'), fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/));
const ofCategory = { detections: count, reviewed: count, annotations: count };
const talliesOf = <Category>(counts: fc.Arbitrary<Category>) =>
  fc.record(
    {
      events: count,
      reviewed: count,
      annotated: count,
      categories: fc
        .uniqueArray(fc.tuple(name, counts), { selector: ([category]) => category, maxLength: 8 })
        .map((categories) => new Map(categories)),
    },
    plain,
  );
const dayTallies: fc.Arbitrary<DayTally> = talliesOf(
  fc.record({ ...ofCategory, flagged: count, confirmed: count }, plain),
);

it('a tally in bytes is read with its list of categories or one that has grown since, or skipped', () => {
  fc.assert(
    fc.property(dayTallies, (tally) => {
      // In another order, and with one before them.
      const list = ['not-in-it', ...[...tally.categories.keys()].reverse()];
      const encoded: number[] = [];
      writeTally(encoded, tally, indexesOf(list), true);
      writeCount(encoded, 42);
      const bytes = Uint8Array.from(encoded);
      for (const names of [list, [...list, 'later']]) {
        const reader = new ByteReader(bytes);
        expect([readTallyBytes(reader, names), reader.count(), reader.done]).toEqual([tally, 42, true]);
      }
      const skipping = new ByteReader(bytes);
      skipping.skipTally();
      expect(skipping.count()).toBe(42);
      const older = readTallyBytes(new ByteReader(bytes), list.slice(0, -1));
      expect(older === undefined, 'a list that is older').toBe(list.length > 1);
    }),
  );
  for (const value of [-1, 0.5, 2 ** 53, Number.NaN]) {
    expect(() => writeCount([], value), 'it has no bytes').toThrow(RangeError);
  }
});

it.each([0, 400, MAX_TALLY_CATEGORIES, MAX_TALLY_CATEGORIES + 242])(
  'the tally of a day is read back unchanged, its categories in their order, with %i categories more',
  (categories) => {
    const more = all(categories).map(
      (index) =>
        [
          `_${String(index).padStart(63, 'c')}`,
          { detections: index, reviewed: -1, annotations: 0, flagged: index, confirmed: 1 },
        ] as const,
    );
    fc.assert(
      fc.property(dayTallies, (some) => {
        const tally = { ...some, categories: new Map([...some.categories, ...more]) };
        const properties = tallyValues(tally, undefined);
        expect(TALLY_PROPERTIES).toEqual(expect.arrayContaining(Object.keys(properties)));
        const read = readTally({ ...properties, tally_08: 'other' });
        expect(read).toEqual(tally);
        expect([...read.categories.keys()]).toEqual([...tally.categories.keys()]);
        // Without new categories their names are not written again.
        expect(Object.keys(tallyValues(tally, tally))).toEqual(['tally']);
      }),
      { numRuns: 8 },
    );
  },
);

const indexesIn = (set: Uint8Array) => all(3_001).filter((index) => hasIndex(set, index));
const sorted = (...some: readonly (readonly number[])[]) =>
  [...new Set(some.flat())].sort((left, right) => left - right);

it('a bitset has the indexes that were added, ends after the last, and stays as it is', () => {
  const indexes = fc.array(fc.nat(3_000));
  fc.assert(
    fc.property(indexes, indexes, (first, then) => {
      const [left, right] = [withIndexes(new Uint8Array(), first), withIndexes(new Uint8Array(), then)];
      const both = withIndexes(left, then);
      expect(indexesIn(both)).toEqual(sorted(first, then));
      expect(endOf(both)).toBe(Math.max(-1, ...first, ...then) + 1);
      expect([indexesIn(left), indexesIn(right)]).toEqual([sorted(first), sorted(then)]);
    }),
  );
});

const FOG: DayTally = {
  events: 1,
  reviewed: 0,
  annotated: 0,
  categories: new Map([['fog', { detections: 5, reviewed: 0, annotations: 200, flagged: 3, confirmed: 2 }]]),
};
const NOTHING: Buckets<(typeof HOURS)[number]> = new Map();
const EIGHT_AND_NINE = HOURS.slice(8, 10);

it('a bucket is not changed with a list of categories that is older than it: another process wrote in between', () => {
  const [eight] = EIGHT_AND_NINE;
  if (eight === undefined) throw new Error('there is no such hour');
  const buckets = addToBucket(NOTHING, eight, FOG, [3], ['smoke', 'fog']) ?? NOTHING;
  expect(addToBucket(buckets, eight, EMPTY_TALLY, [3], ['smoke'])).toBeUndefined();
});

const written = {
  tally: FOG,
  hours: EIGHT_AND_NINE.reduce((row, hour) => addToBucket(row, hour, FOG, [3], ['fog']) ?? row, NOTHING),
  cameras: indexesOf(all(900).map((index) => String(index).padStart(128, 'x'))),
};

const storedAs = (counter: Counter, properties: NewProperties): StoredRow => ({
  partitionKey: SHARD,
  rowKey: counterKey(counter, 7),
  etag: '',
  properties,
});

it('the row of a day is read back unchanged, and a part of it is no whole row', async () => {
  const day = storedAs(DAY_COUNTER, dayValues(written, undefined, written.hours.keys()));
  expect(dayRowFrom(day)).toEqual({ ...written, isStriped: false, sealed: undefined });
  const { table } = new MemoryStorage().process();
  await table.transact(SHARD, [writeOf(day.rowKey, undefined, dayValues(written, undefined, []))]);
  const state = await table.get(SHARD, day.rowKey, { select: DAY_STATE.select });
  expect(state && DAY_STATE.from(state)).toEqual({ isStriped: false, sealed: undefined });
  expect(() => state && dayRowFrom(state)).toThrow(DamagedRow);
});

it.each(['soon', 1, true])('the row of a day is damaged if its seal is %o', async (sealed) => {
  expect(() => DAY_STATE.from(storedAs(DAY_COUNTER, { sealed }))).toThrow(DamagedRow);
});

it('an event is read with its own key alone', () => {
  const event = { cameraId: 'ridge/04', eventId: 'f', ts: instantFrom(START), facets: {} };
  const properties = eventValues(event);
  const stored = (rowKey: string, partitionKey = SHARD): StoredRow => ({ partitionKey, rowKey, etag: '', properties });
  const rowKey = eventKey(minuteFrom(0), event.cameraId, event.eventId);
  expect(eventFrom(stored(rowKey))).toEqual(event);
  // Another minute, no minute, no escaped id.
  for (const clock of ['0001', '2400', '0060']) {
    expect(() => eventFrom(stored(rowKey.replace('0000', clock)))).toThrow(DamagedRow);
  }
  expect(() => eventFrom(stored('event|0000|ridge/04|f'))).toThrow(DamagedRow);
  expect(() => eventFrom(stored(rowKey, '2026-11-22.00'))).toThrow(DamagedRow);
});

it('the minutes of a camera are the sums of their differences, in whatever order those come, and also a minute that counts nothing stays', () => {
  const differences = fc.array(fc.tuple(fc.nat(150), dayTallies), { maxLength: 12 });
  fc.assert(
    fc.property(differences, (some) => {
      const added = some.map(([minute, difference]) => ({ minute: minuteFrom(minute), difference }));
      const row = added.reduce((before, one) => addToCamera(before, [one]), EMPTY_CAMERA);
      expect(addToCamera(EMPTY_CAMERA, added)).toEqual(row);
      const properties = cameraValues(row, undefined, HOURS);
      expect(cameraRowFrom(storedAs(cameraCounter('a'), properties))).toEqual(row);
      expect(row.tally).toEqual(sumOf(some.map(([, difference]) => difference)));
      const expected = Map.groupBy(some, ([minute]) => minute);
      const found = HOURS.flatMap((hour) =>
        Array.from(minutesIn(row, hour), ([minute, ofMinute]) => [60 * hour + minute, ofMinute] as const),
      );
      expect(found.map(([minute]) => minute)).toEqual([...expected.keys()].sort((left, right) => left - right));
      for (const [minute, ofMinute] of found) {
        expect(withoutZeros(sumOf([ofMinute]))).toEqual(
          withoutZeros(sumOf(expected.get(minute)?.map(([, each]) => each) ?? [])),
        );
      }
    }),
  );
});

/** The stored counts of a minute: no zeros, and no figures of accuracy. */
const withoutZeros = ({ events, reviewed, annotated, categories }: Tally) => ({
  events,
  reviewed,
  annotated,
  categories: new Map(
    [...categories].flatMap(([category, { detections, reviewed: ofReviewed, annotations }]) => {
      const counts = [detections, ofReviewed, annotations];
      return counts.every((each) => each === 0) ? [] : [[category, counts] as const];
    }),
  ),
});
