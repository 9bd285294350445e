import { DecodeError } from './damaged-row.ts';

// The compact form of counters in binary properties: counts are varints, seven bits a byte, the low ones first. A day of minutes
// at the limits (1,440 minutes with 64 categories) fits a row of 1 MiB in this form only.

/** Encodes counts and bytes. */
export class ByteWriter {
  readonly #bytes: number[] = [];

  /** Adds a count: a whole number from 0 to 2^53 - 1. */
  count(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes.push(rest);
  }

  /** Adds bytes as they are. */
  raw(bytes: Iterable<number>): void {
    for (const byte of bytes) this.#bytes.push(byte);
  }

  /** Adds bytes after their number. */
  block(bytes: Uint8Array): void {
    this.count(bytes.length);
    this.raw(bytes);
  }

  /** Bytes added so far. */
  get length(): number {
    return this.#bytes.length;
  }

  /** All that was added. */
  bytes(): Uint8Array {
    return new Uint8Array(this.#bytes);
  }
}

/** Encodes with a writer of its own. */
export const encoded = (write: (writer: ByteWriter) => void): Uint8Array => {
  const writer = new ByteWriter();
  write(writer);
  return writer.bytes();
};

/** Decodes what a {@link ByteWriter} encoded. Every read throws a {@link DecodeError} where the bytes end too early. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #next = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Whether everything has been read. */
  get done(): boolean {
    return this.#next >= this.#bytes.length;
  }

  /** Reads a count. */
  count(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#bytes[this.#next++];
      if (byte === undefined) throw new DecodeError('its bytes end too early');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  /** Reads so many bytes. */
  raw(length: number): Uint8Array {
    const end = this.#next + length;
    if (end > this.#bytes.length) throw new DecodeError('its bytes end too early');
    const bytes = this.#bytes.subarray(this.#next, end);
    this.#next = end;
    return bytes;
  }

  /** Reads bytes after their number. */
  block(): Uint8Array {
    return this.raw(this.count());
  }

  /** The bytes that a function reads. */
  over(read: () => void): Uint8Array {
    const start = this.#next;
    read();
    return this.#bytes.subarray(start, this.#next);
  }
}
