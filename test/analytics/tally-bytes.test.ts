import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bitsOf, ByteReader, ByteWriter, readTally, withBits, writeTally } from '../../src/analytics/tally-bytes.ts';
import { EMPTY_TALLY, type Tally } from '../../src/analytics/tally.ts';
import { tallies } from './arbitraries.ts';

const written = (write: (writer: ByteWriter) => void): Uint8Array => {
  const writer = new ByteWriter();
  write(writer);
  return writer.bytes();
};

describe('a count in bytes', () => {
  it.each([
    [0, [0x00]],
    [127, [0x7f]],
    [128, [0x80, 0x01]],
    [16_383, [0xff, 0x7f]],
    [16_384, [0x80, 0x80, 0x01]],
    [2 ** 31, [0x80, 0x80, 0x80, 0x80, 0x08]],
    [2 ** 32 + 1, [0x81, 0x80, 0x80, 0x80, 0x10]],
  ])('%i takes seven bits a byte, the low ones first', (value, bytes) => {
    expect([...written((writer) => writer.count(value))]).toEqual(bytes);
  });

  it('is read back as it was, as are bytes among counts', () => {
    const somewhat = fc.oneof(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), fc.uint8Array({ maxLength: 5 }));
    fc.assert(
      fc.property(fc.array(somewhat), (items) => {
        const bytes = written((writer) => {
          for (const item of items) {
            if (typeof item === 'number') writer.count(item);
            else writer.raw(item);
          }
        });
        const reader = new ByteReader(bytes);
        for (const item of items) {
          const read = typeof item === 'number' ? reader.count() : Uint8Array.from(reader.raw(item.length));
          expect(read).toEqual(item);
        }
        expect(reader.done).toBe(true);
      }),
    );
  });

  it('that ends in its middle is refused', () => {
    expect(() => new ByteReader(Uint8Array.of(0x80)).count()).toThrow(TypeError);
    expect(() => new ByteReader(Uint8Array.of(1, 2)).raw(3)).toThrow(TypeError);
    expect(() => new ByteReader(new Uint8Array()).count()).toThrow(TypeError);
  });
});

describe('a set of places in bits', () => {
  it('has what was put in, ascending, and nothing else', () => {
    const places = fc.array(fc.integer({ min: 0, max: 2_000 }));
    fc.assert(
      fc.property(places, places, (first, then) => {
        const before = withBits(new Uint8Array(), first);
        const bits = withBits(before, then);
        const wanted = new Set([...first, ...then]);
        expect(bitsOf(bits)).toEqual([...wanted].sort((left, right) => left - right));
        expect(bitsOf(before)).toEqual([...new Set(first)].sort((left, right) => left - right));
      }),
    );
  });

  it('takes an eighth of a byte a place', () => {
    expect(withBits(new Uint8Array(), [24_999])).toHaveLength(3_125);
    expect([...withBits(new Uint8Array(), [0, 3, 8])]).toEqual([0b1001, 0b1]);
  });
});

/** The row's list: the tally's categories in another order, and one that the tally has not. */
const listed = (tally: Tally): readonly string[] => ['not-in-it', ...[...tally.categories.keys()].reverse()];
const placesOf = (list: readonly string[]): ReadonlyMap<string, number> =>
  new Map(list.map((name, place) => [name, place]));

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
});
