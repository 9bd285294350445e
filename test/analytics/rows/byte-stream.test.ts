import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ByteReader, ByteWriter } from '../../../src/analytics/rows/byte-stream.ts';

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

  it('knows the bytes that were passed over', () => {
    const reader = new ByteReader(written((writer) => [5, 300, 7].forEach((value) => writer.count(value))));
    reader.count();
    expect([...reader.over(() => reader.count())]).toEqual([0xac, 0x02]);
    expect([reader.count(), reader.done]).toEqual([7, true]);
  });
});
