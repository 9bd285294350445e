import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  indexesIn,
  indexesOf,
  packBitset,
  unionOf,
  unpackBitset,
  withIndexes,
} from '../../../src/analytics/rows/bitset.ts';
import {
  MAX_TALLY_CATEGORIES,
  readTallyText,
  tallyProperties,
  tallyPropertyNames,
} from '../../../src/analytics/rows/properties.ts';
import { ByteReader, encoded, readTally, writeTally } from '../../../src/analytics/rows/tally-bytes.ts';
import { NO_COUNT } from '../../../src/analytics/model/tally.ts';
import { DecodeError } from '../../../src/storage/errors.ts';
import { dayTallies, differences, tallies } from '../arbitraries.ts';
import { all } from '../counting.ts';

it.each([-1, 0.5, 2 ** 53, Number.NaN])('a count that cannot be carried in bytes is refused: %d', (value) => {
  expect(() => encoded((writer) => writer.count(value))).toThrow(RangeError);
  expect(() => encoded((writer) => writer.signed(value === -1 ? -(2 ** 52) : value))).toThrow(RangeError);
});

describe('a tally in bytes', () => {
  it('is read with its list of categories or one that has grown since, or skipped', () => {
    fc.assert(
      fc.property(fc.oneof(tallies, differences), (tally) => {
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
        expect(skipping.count()).toBe(42);
        const older = new ByteReader(bytes);
        expect(readTally(older, list.slice(0, -1)) === undefined, 'a list that is older').toBe(list.length > 1);
        expect(older.count()).toBe(42);
      }),
    );
  });
});

describe('a tally as text', () => {
  it('is read back unchanged, its categories in their order, however many there are', () => {
    const counts = fc.oneof(fc.constantFrom(0, 199, 200, 201, 400, MAX_TALLY_CATEGORIES), fc.nat(MAX_TALLY_CATEGORIES));
    fc.assert(
      fc.property(fc.constantFrom('day', 'hour'), dayTallies, tallies, counts, (kind, ofDay, ofHour, count) => {
        const some = kind === 'day' ? ofDay : ofHour;
        const categories = new Map(some.categories);
        for (let index = 0; categories.size < count; index += 1) {
          categories.set(`c${index}`, { ...NO_COUNT, detections: index, reviewed: -1, annotations: 1 });
        }
        const tally = { ...some, categories };
        const properties = tallyProperties('day', tally, kind);
        expect(tallyPropertyNames('day')).toEqual(expect.arrayContaining(Object.keys(properties)));
        const read = readTallyText('day', { ...properties, day_x: 'other' }, kind);
        expect(read).toEqual(tally);
        expect([...(read?.categories.keys() ?? [])]).toEqual([...categories.keys()]);
      }),
    );
    expect(readTallyText('day', { day_1: '{}' }, 'day')).toBeUndefined();
  });
});

const setOf = (indexes: Iterable<number>): Uint8Array => withIndexes(new Uint8Array(), indexes);
const sorted = (...indexes: readonly (readonly number[])[]): readonly number[] =>
  [...new Set(indexes.flat())].sort((left, right) => left - right);

describe('a bitset', () => {
  const runs = fc
    .array(fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 400 })), { maxLength: 6 })
    .map((own) => own.flatMap(([from, length]) => all(length).map((index) => from + index)));
  const indexes = fc.oneof(runs, fc.array(fc.nat(3_000)));

  it('has the indexes that were added, also in a union and as stored, and stays as it is', () => {
    fc.assert(
      fc.property(indexes, indexes, (first, then) => {
        const [left, right] = [setOf(first), setOf(then)];
        for (const both of [withIndexes(left, then), unionOf(left, right), unionOf(right, left)]) {
          expect(indexesIn(both)).toEqual(sorted(first, then));
          expect(indexesIn(unpackBitset(packBitset(both)))).toEqual(sorted(first, then));
          expect(packBitset(both).length).toBeLessThanOrEqual(both.length + 1);
        }
        expect([indexesIn(left), indexesIn(right)]).toEqual([sorted(first), sorted(then)]);
      }),
    );
  });

  it('of all 1,300 cameras takes 4 bytes, with one missing 7', () => {
    const missing = all(1_300).filter((index) => index !== 500);
    expect([setOf(all(1_300)), setOf(missing)].map((set) => packBitset(set).length)).toEqual([4, 7]);
  });

  it.each(['', '0201', '0180', '01ffff7f'])('that is damaged is refused: %j', (bytes) => {
    expect(() => unpackBitset(Buffer.from(bytes, 'hex'))).toThrow(DecodeError);
  });
});
