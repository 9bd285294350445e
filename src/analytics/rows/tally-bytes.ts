import { DecodeError } from '../../storage/errors.ts';
import type { CategoryDayTally, CategoryTally, DayTally, Tally } from '../model/tally.ts';

// The form of all tallies, in binary properties. A count is a varint, seven bits a byte, the low ones first. A day of minutes at the
// limits (1,440 minutes with 64 categories) fits a row of 1 MiB in this form only.
//
// A tally begins with the number of its categories, then has its three counts of events. Then each category, ascending by its index in a
// list that is kept elsewhere. First 32 times the number of skipped indexes, plus a bit for each of its five counts that is not 0; then
// those counts. Counts may be negative: a stripe may hold the correction of an event that another stripe counted.

/** The largest absolute value of a signed count: its zigzag form is still a safe integer. */
const MAX_SIGNED = 2 ** 52 - 1;

/** The largest stored counter: 10,000 in each of a billion frames. The sum of 64 stripes is exact, and every sum can be encoded. */
const MAX_COUNTER = 10 ** 13;

/** A counter as it was read. @throws {DecodeError} if it is larger than {@link MAX_COUNTER} */
export const counterFrom = (value: number): number => {
  if (Math.abs(value) > MAX_COUNTER) throw new DecodeError('a count is too large');
  return value;
};

const NO_BYTES = new Uint8Array();

export class ByteWriter {
  readonly #bytes: number[] = [];

  /** Adds a count. @throws {RangeError} if it is not an integer from 0 to 2^53 - 1 */
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
   * @throws {RangeError} if it is not an integer between -2^52 and 2^52
   */
  signed(value: number): void {
    if (!Number.isSafeInteger(value) || Math.abs(value) > MAX_SIGNED) {
      throw new RangeError('a signed count cannot be encoded');
    }
    this.count(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** @param prefix bytes to put before them */
  bytes(prefix: Uint8Array = NO_BYTES): Uint8Array {
    const bytes = new Uint8Array(prefix.length + this.#bytes.length);
    bytes.set(prefix);
    bytes.set(this.#bytes, prefix.length);
    return bytes;
  }
}

export const encoded = (write: (writer: ByteWriter) => void): Uint8Array => {
  const writer = new ByteWriter();
  write(writer);
  return writer.bytes();
};

/** Decodes what a {@link ByteWriter} encoded. Every read throws a {@link DecodeError} if the bytes are anything else. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #next = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#next >= this.#bytes.length;
  }

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

  /** How many bytes were read. */
  get position(): number {
    return this.#next;
  }

  skipTally(): void {
    const categories = this.count();
    for (let left = 3; left > 0; left -= 1) this.count();
    for (let left = categories; left > 0; left -= 1) {
      for (let bits = this.count() & 31; bits > 0; bits >>= 1) if ((bits & 1) === 1) this.count();
    }
  }

  signed(): number {
    const zigzag = this.count();
    return counterFrom(zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2);
  }
}

/** A bit for each of the five counts of a category. Only tallies of days have the last two counts. */
const BITS = 32;

type AnyCounts = CategoryTally & Partial<CategoryDayTally>;

/** Writes a tally; `indexes` has the index of each category in the list. @throws {RangeError} if a count is too large */
export const writeTally = (writer: ByteWriter, tally: Tally<AnyCounts>, indexes: ReadonlyMap<string, number>): void => {
  writer.count(tally.categories.size);
  writer.signed(tally.events);
  writer.signed(tally.reviewed);
  writer.signed(tally.annotated);
  const categories: [index: number, counts: AnyCounts][] = [];
  for (const [category, counts] of tally.categories) {
    const index = indexes.get(category);
    if (index === undefined) throw new RangeError('a category is not in the list of categories');
    categories.push([index, counts]);
  }
  if (categories.length > 1) categories.sort(([left], [right]) => left - right);
  let next = 0;
  for (const [index, { detections, reviewed, annotations, flagged = 0, confirmed = 0 }] of categories) {
    const counts = [detections, reviewed, annotations, flagged, confirmed];
    let bits = 0;
    for (let bit = 0; bit < counts.length; bit += 1) if (counts[bit] !== 0) bits += 1 << bit;
    writer.count(BITS * (index - next) + bits);
    for (const count of counts) if (count !== 0) writer.signed(count);
    next = index + 1;
  }
};

/** Reads a tally. @returns undefined if the list lacks a category: it was read before the tally was written */
export const readTallyBytes = (reader: ByteReader, categories: readonly string[]): DayTally | undefined => {
  const size = reader.count();
  const [events, reviewed, annotated] = [reader.signed(), reader.signed(), reader.signed()];
  const named = new Map<string, CategoryDayTally>();
  let next = 0;
  let isComplete = true;
  for (let left = size; left > 0; left -= 1) {
    const bits = reader.count();
    const count = (bit: number): number => ((bits & (1 << bit)) === 0 ? 0 : reader.signed());
    const index = next + Math.floor(bits / BITS);
    const category = categories[index];
    const counts = {
      detections: count(0),
      reviewed: count(1),
      annotations: count(2),
      flagged: count(3),
      confirmed: count(4),
    };
    if (category === undefined) isComplete = false;
    else named.set(category, counts);
    next = index + 1;
  }
  return isComplete ? { events, reviewed, annotated, categories: named } : undefined;
};
