import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ByteReader, ByteWriter } from '../../../src/analytics/rows/byte-stream.ts';
import { passTally, placesOf, readTally, TallySum, writeTally } from '../../../src/analytics/rows/tally-bytes.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { tallies } from '../arbitraries.ts';

const written = (write: (writer: ByteWriter) => void): Uint8Array => {
  const writer = new ByteWriter();
  write(writer);
  return writer.bytes();
};

/** The row's list: the tally's categories in another order, and one that the tally has not. */
const listed = (tally: Tally): readonly string[] => ['not-in-it', ...[...tally.categories.keys()].reverse()];

describe('a tally in bytes', () => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(tallies, (tally) => {
        const list = listed(tally);
        const reader = new ByteReader(written((writer) => writeTally(writer, tally, placesOf(list))));
        expect(readTally(reader, list)).toEqual(tally);
        expect(reader.done).toBe(true);
      }),
    );
  });

  it('is read the same with a list that grew since', () => {
    fc.assert(
      fc.property(tallies, (tally) => {
        const list = listed(tally);
        const bytes = written((writer) => writeTally(writer, tally, placesOf(list)));
        expect(readTally(new ByteReader(bytes), [...list, 'later', 'still-later'])).toEqual(tally);
      }),
    );
  });

  it('is none with a list that is older than it; what comes after it can be read all the same', () => {
    const tally: Tally = {
      ...EMPTY_TALLY,
      categories: new Map([['fog', { detections: 300, reviewed: 1, annotations: 2 }]]),
    };
    const bytes = written((writer) => {
      writeTally(writer, tally, placesOf(['fire', 'fog']));
      writer.count(42);
    });
    const reader = new ByteReader(bytes);
    expect(readTally(reader, ['fire'])).toBeUndefined();
    expect(reader.count()).toBe(42);
  });

  it('is not written where a category has no place', () => {
    const tally: Tally = {
      ...EMPTY_TALLY,
      categories: new Map([['fog', { detections: 1, reviewed: 0, annotations: 0 }]]),
    };
    expect(() => written((writer) => writeTally(writer, tally, new Map()))).toThrow(RangeError);
  });

  it('can be passed over: its bytes are read as it was, and what comes after it too', () => {
    fc.assert(
      fc.property(tallies, (tally) => {
        const list = listed(tally);
        const bytes = written((writer) => {
          writeTally(writer, tally, placesOf(list));
          writer.count(42);
        });
        const reader = new ByteReader(bytes);
        expect(readTally(new ByteReader(passTally(reader)), list)).toEqual(tally);
        expect(reader.count()).toBe(42);
      }),
    );
  });
});

describe('a sum of tallies in bytes', () => {
  it('is their sum, as if each had been read', () => {
    fc.assert(
      fc.property(fc.array(tallies, { maxLength: 6 }), (all) => {
        const list = [...new Set(all.flatMap((tally) => [...tally.categories.keys()]))].reverse();
        const sum = new TallySum();
        for (const tally of all)
          sum.add(new ByteReader(written((writer) => writeTally(writer, tally, placesOf(list)))));
        expect(sum.named(list)).toEqual(sumOf(all));
        expect(sum.named([...list, 'later'])).toEqual(sumOf(all));
        expect(sum.named(list.slice(0, -1)) === undefined).toBe(list.length > 0);
      }),
    );
  });
});
