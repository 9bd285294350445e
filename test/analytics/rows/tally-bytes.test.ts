import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { indexesOf } from '../../../src/analytics/rows/bitset.ts';
import {
  ByteReader,
  encoded,
  readTally,
  skipTally,
  TallySum,
  writeTally,
} from '../../../src/analytics/rows/tally-bytes.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { differences, ONE_FRAME, tallies } from '../arbitraries.ts';

/** A list with the tally's categories in another order, and one more. */
const listed = (tally: Tally): readonly string[] => ['not-in-it', ...[...tally.categories.keys()].reverse()];

describe('a tally in bytes', () => {
  it('is read back unchanged', () => {
    fc.assert(
      fc.property(fc.oneof(tallies, differences), (tally) => {
        const list = listed(tally);
        const reader = new ByteReader(encoded((writer) => writeTally(writer, tally, indexesOf(list))));
        expect(readTally(reader, list)).toEqual(tally);
        expect(reader.done).toBe(true);
      }),
    );
  });

  it('is read with a list that has grown since', () => {
    fc.assert(
      fc.property(tallies, (tally) => {
        const list = listed(tally);
        const bytes = encoded((writer) => writeTally(writer, tally, indexesOf(list)));
        expect(readTally(new ByteReader(bytes), [...list, 'later', 'still-later'])).toEqual(tally);
      }),
    );
  });

  it('is undefined with a list that is older than it; the bytes after it can still be read', () => {
    const tally: Tally = {
      ...EMPTY_TALLY,
      categories: new Map([['fog', { detections: 300, reviewed: 1, annotations: 2 }]]),
    };
    const bytes = encoded((writer) => {
      writeTally(writer, tally, indexesOf(['fire', 'fog']));
      writer.count(42);
    });
    const reader = new ByteReader(bytes);
    expect(readTally(reader, ['fire'])).toBeUndefined();
    expect(reader.count()).toBe(42);
  });

  it('is not written where a category is not in the list', () => {
    const tally: Tally = {
      ...EMPTY_TALLY,
      categories: new Map([['fog', { detections: 1, reviewed: 0, annotations: 0 }]]),
    };
    expect(() => encoded((writer) => writeTally(writer, tally, new Map()))).toThrow(RangeError);
  });

  it('can be skipped: its bytes and those after it can be read', () => {
    fc.assert(
      fc.property(tallies, (tally) => {
        const list = listed(tally);
        const bytes = encoded((writer) => {
          writeTally(writer, tally, indexesOf(list));
          writer.count(42);
        });
        const reader = new ByteReader(bytes);
        expect(readTally(new ByteReader(skipTally(reader)), list)).toEqual(tally);
        expect(reader.count()).toBe(42);
      }),
    );
  });
});

const bytesOf = (tally: Tally): number =>
  encoded((writer) => writeTally(writer, tally, indexesOf(['fire', 'smoke']))).length;

describe('a frame in bytes', () => {
  it('takes one byte, and two more for a category', () => {
    expect([{ ...EMPTY_TALLY, events: 1 }, ONE_FRAME].map(bytesOf)).toEqual([1, 3]);
  });

  it('with more than a tally can carry is refused', () => {
    expect(() => encoded((writer) => writeTally(writer, { ...EMPTY_TALLY, events: 2 ** 53 }, new Map()))).toThrow(
      RangeError,
    );
  });
});

describe('a sum of tallies in bytes', () => {
  it('is the sum of the tallies', () => {
    fc.assert(
      fc.property(fc.array(tallies, { maxLength: 6 }), (all) => {
        const list = [...new Set(all.flatMap((tally) => [...tally.categories.keys()]))].reverse();
        const sum = new TallySum();
        for (const tally of all)
          sum.add(new ByteReader(encoded((writer) => writeTally(writer, tally, indexesOf(list)))));
        expect(sum.named(list)).toEqual(sumOf(all));
        expect(sum.named([...list, 'later'])).toEqual(sumOf(all));
        expect(sum.named(list.slice(0, -1)) === undefined).toBe(list.length > 0);
      }),
    );
  });
});
