import { DecodeError } from '../../storage/errors.ts';

// The compact form of counters in binary properties: counts are varints, seven bits a byte, the low ones first. A day of minutes
// at the limits (1,440 minutes with 64 categories) fits a row of 1 MiB in this form only.

/** Greatest size of a signed count: its zigzag form is still a safe integer. */
const MAX_SIGNED = 2 ** 52 - 1;

/** Encodes counts and bytes. */
export class ByteWriter {
  readonly #bytes: number[] = [];

  /** Adds a count. @throws {RangeError} where it is not a whole number from 0 to 2^53 - 1 */
  count(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('a count cannot be encoded');
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes.push(rest);
  }

  /**
   * Adds a count that may be negative, in zigzag form: 0, -1, 1, -2, … are 0, 1, 2, 3, …
   *
   * @throws {RangeError} where it is not a whole number between -2^52 and 2^52
   */
  signed(value: number): void {
    if (!Number.isSafeInteger(value) || Math.abs(value) > MAX_SIGNED) {
      throw new RangeError('a signed count cannot be encoded');
    }
    this.count(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** Adds bytes as they are. */
  raw(bytes: Iterable<number>): void {
    for (const byte of bytes) this.#bytes.push(byte);
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

/** Decodes what a {@link ByteWriter} encoded. Every read throws a {@link DecodeError} where the bytes are anything else. */
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
      if (value > Number.MAX_SAFE_INTEGER) throw new DecodeError('a count is too large');
      if (byte < 0x80) return value;
    }
  }

  /** Reads a count that may be negative. */
  signed(): number {
    const zigzag = this.count();
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  /** Reads so many bytes. */
  raw(length: number): Uint8Array {
    const end = this.#next + length;
    if (end > this.#bytes.length) throw new DecodeError('its bytes end too early');
    const bytes = this.#bytes.subarray(this.#next, end);
    this.#next = end;
    return bytes;
  }

  /** How many bytes have been read. */
  get position(): number {
    return this.#next;
  }

  /** The bytes that were read since a {@link position}. */
  since(position: number): Uint8Array {
    return this.#bytes.subarray(position, this.#next);
  }
}
