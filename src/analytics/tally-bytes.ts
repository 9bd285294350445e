import type { CategoryTally, Tally } from './tally.ts';

// A whole day of minutes at the limits (1,440 minutes of 64 categories) fits a row of 1 MiB only in a compact form: counts
// as varints (7 bits a byte, low bits first), categories as bits of their places in the row's list of categories.

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

  #next(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new TypeError('stored counts are damaged');
    return byte;
  }
}

/** Sets of small whole numbers as bits, number 0 the lowest bit of the first byte. */
export const withBits = (bits: Uint8Array, numbers: Iterable<number>): Uint8Array => {
  const wanted = [...numbers];
  const length = wanted.reduce((most, number) => Math.max(most, (number >> 3) + 1), bits.length);
  const result = new Uint8Array(length);
  result.set(bits);
  for (const number of wanted) result[number >> 3] = (result[number >> 3] ?? 0) | (1 << (number & 7));
  return result;
};

/** The numbers in the set, ascending. */
export const bitsOf = (bits: Uint8Array): readonly number[] => {
  const numbers: number[] = [];
  for (const [at, byte] of bits.entries()) {
    for (let bit = 0; bit < 8; bit += 1) if ((byte & (1 << bit)) !== 0) numbers.push(at * 8 + bit);
  }
  return numbers;
};

/**
 * Writes a tally.
 *
 * @param places category → its place in the row's list of categories
 */
export const writeTally = (writer: ByteWriter, tally: Tally, places: ReadonlyMap<string, number>): void => {
  writer.count(tally.events);
  writer.count(tally.reviewed);
  writer.count(tally.annotated);
  const present = [...tally.categories]
    .map(([category, counts]): [number, CategoryTally] => {
      const place = places.get(category);
      if (place === undefined) throw new RangeError('a category has no place in its row');
      return [place, counts];
    })
    .sort(([left], [right]) => left - right);
  const bits = withBits(
    new Uint8Array(),
    present.map(([place]) => place),
  );
  writer.count(bits.length);
  writer.raw(bits);
  for (const [, counts] of present) {
    writer.count(counts.detections);
    writer.count(counts.reviewed);
    writer.count(counts.annotations);
  }
};

/**
 * Reads a tally.
 *
 * @param categories the row's list of categories
 * @returns undefined where the list lacks a category: it was read before the tally was written
 * @throws {TypeError} where the bytes are not what {@link writeTally} writes
 */
export const readTally = (reader: ByteReader, categories: readonly string[]): Tally | undefined => {
  const [events, reviewed, annotated] = [reader.count(), reader.count(), reader.count()];
  const tallies = new Map<string, CategoryTally>();
  let complete = true;
  for (const place of bitsOf(reader.raw(reader.count()))) {
    const counts = { detections: reader.count(), reviewed: reader.count(), annotations: reader.count() };
    const category = categories[place];
    if (category === undefined) complete = false;
    else tallies.set(category, counts);
  }
  return complete ? { events, reviewed, annotated, categories: tallies } : undefined;
};
