// Counts as varints: seven bits a byte, the low ones first.

/** Collects bytes. */
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

  /** How many bytes were added. */
  get length(): number {
    return this.#bytes.length;
  }

  /** What was added. */
  bytes(): Uint8Array {
    return new Uint8Array(this.#bytes);
  }
}

/** Reads what {@link ByteWriter} wrote. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Whether everything has been read. */
  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** @throws {TypeError} where the bytes end in the middle */
  count(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#next();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  /** @throws {TypeError} where there are fewer bytes left */
  raw(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new TypeError('stored counts are damaged');
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  /** The bytes that a function passes over as it reads. */
  over(read: () => void): Uint8Array {
    const from = this.#at;
    read();
    return this.#bytes.subarray(from, this.#at);
  }

  #next(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new TypeError('stored counts are damaged');
    return byte;
  }
}
