import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ByteReader, encoded } from '../../../src/analytics/rows/tally-bytes.ts';
import { DecodeError } from '../../../src/storage/errors.ts';

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
    expect([...encoded((writer) => writer.count(value))]).toEqual(bytes);
  });

  it('is read back unchanged, as are negative counts and bytes between counts', () => {
    const somewhat = fc.oneof(
      fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      fc.integer({ min: 1 - 2 ** 52, max: -1 }),
      fc.uint8Array({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(somewhat), (items) => {
        const bytes = encoded((writer) => {
          for (const item of items) {
            if (typeof item !== 'number') writer.raw(item);
            else if (item < 0) writer.signed(item);
            else writer.count(item);
          }
        });
        const reader = new ByteReader(bytes);
        for (const item of items) {
          const read = (): number | Uint8Array => {
            if (typeof item !== 'number') return Uint8Array.from(reader.raw(item.length));
            return item < 0 ? reader.signed() : reader.count();
          };
          expect(read()).toEqual(item);
        }
        expect(reader.done).toBe(true);
      }),
    );
  });

  it('that ends too early is refused', () => {
    expect(() => new ByteReader(Uint8Array.of(0x80)).count()).toThrow(DecodeError);
    expect(() => new ByteReader(Uint8Array.of(1, 2)).raw(3)).toThrow(DecodeError);
    expect(() => new ByteReader(new Uint8Array()).count()).toThrow(DecodeError);
  });

  it.each([
    [0, [0]],
    [-1, [1]],
    [1, [2]],
    [-64, [127]],
    [64, [128, 1]],
  ])('%i takes few bytes whatever its sign', (value, bytes) => {
    expect([...encoded((writer) => writer.signed(value))]).toEqual(bytes);
  });

  it('that cannot be carried is refused', () => {
    for (const value of [-1, 0.5, 2 ** 53, Number.NaN]) {
      expect(() => encoded((writer) => writer.count(value))).toThrow(RangeError);
    }
    for (const value of [2 ** 52, -(2 ** 52), 0.5, Number.NaN]) {
      expect(() => encoded((writer) => writer.signed(value))).toThrow(RangeError);
    }
    expect(() => new ByteReader(new Uint8Array(9).fill(0xff)).count()).toThrow(DecodeError);
  });

  it('can be had as the bytes since a position', () => {
    const reader = new ByteReader(encoded((writer) => [5, 300, 7].forEach((value) => writer.count(value))));
    reader.count();
    const start = reader.position;
    reader.count();
    expect([...reader.since(start)]).toEqual([0xac, 0x02]);
    expect([reader.count(), reader.done]).toEqual([7, true]);
  });
});
