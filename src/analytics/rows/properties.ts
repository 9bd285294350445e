import { DecodeError, type NewProperties, type Properties } from '../../storage/row.ts';
import type { AnyCategory, CategoryDayTally, DayTally, Tally } from '../model/tally.ts';

/**
 * The format of the analytics rows that this version writes and knows. Raise it with every change of what a row holds: a version that does
 * not know a row's format refuses the row.
 */
export const FORMAT = 4;

// The values in the properties of rows, and the split of values that are too large for one property. Reading throws a DecodeError if a property is
// anything else.

/** The bytes of a binary property; undefined: the row does not have it. */
export const readBytes = (name: string, properties: Properties): Uint8Array | undefined => {
  const bytes = properties[name];
  if (bytes === undefined || bytes instanceof Uint8Array) return bytes;
  throw new DecodeError(`${name} is not binary`);
};

// Lists of names: one per line, in texts of at most 32,000 UTF-16 units, as a string property holds 32K. No name has a control character.

const MAX_TEXT = 32_000;

/** `cameras`, `cameras_1`, `cameras_2`, … */
const textName = (name: string, index: number): string => (index === 0 ? name : `${name}_${index}`);

export const namesValues = (name: string, names: Iterable<string>): Record<string, string> => {
  const texts: string[] = [];
  for (const each of names) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + 1 + each.length <= MAX_TEXT) texts[texts.length - 1] = `${last}\n${each}`;
    else texts.push(each);
  }
  return Object.fromEntries(texts.map((text, index) => [textName(name, index), text]));
};

export const readNames = (name: string, properties: Properties): readonly string[] => {
  const names: string[] = [];
  for (let index = 0; ; index += 1) {
    const text = properties[textName(name, index)];
    if (text === undefined) return names;
    if (typeof text !== 'string') throw new DecodeError(`${textName(name, index)} is not text`);
    names.push(...text.split('\n'));
  }
};

// Tallies

// The form of all tallies, in binary properties. A count is a varint, seven bits a byte, the low ones first. A day of minutes at the
// limits (1,440 minutes with 64 categories) fits a row of 1 MiB in this form only.
//
// A tally begins with the number of its categories, then has its three counts of events. Then each category, ascending by its index in a
// list that is kept elsewhere. First 32 times the number of skipped indexes, plus a bit for each of its five counts that is not 0; then
// those counts. Counts may be negative: a stripe may hold the correction of an event that another stripe counted.

/** The largest stored counter: 10,000 in each of a billion frames. The sum of 64 stripes is exact, and every sum can be encoded. */
const MAX_COUNTER = 10 ** 13;

/** Adds a count to bytes. @throws {RangeError} if it is not an integer from 0 to 2^53 - 1 */
export const writeCount = (bytes: number[], value: number): void => {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('a count cannot be encoded');
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
};

/** Adds a count that may be negative, in zigzag form: 0, -1, 1, -2, … are 0, 1, 2, 3, … @throws {RangeError} beyond ±2^52 */
const writeSigned = (bytes: number[], value: number): void => writeCount(bytes, value < 0 ? -2 * value - 1 : 2 * value);

/** Decodes bytes, from the first on. Every read throws a {@link DecodeError} if they are anything else. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  /** How many bytes were read. */
  position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.position >= this.#bytes.length;
  }

  count(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#bytes[this.position++];
      if (byte === undefined) throw new DecodeError('its bytes end too early');
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) throw new DecodeError('a count is too large');
      if (byte < 0x80) return value;
    }
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
    const value = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    if (Math.abs(value) > MAX_COUNTER) throw new DecodeError('a count is too large');
    return value;
  }
}

/** A bit for each of the five counts of a category. Only tallies of days have the last two counts. */
const BITS = 32;

/**
 * Adds a tally to bytes.
 *
 * @param indexes the index of each category in the list
 * @param isOfDay whether the figures of accuracy are stored
 * @throws {RangeError} if a count is too large
 */
export const writeTally = (
  bytes: number[],
  tally: Tally<AnyCategory>,
  indexes: ReadonlyMap<string, number>,
  isOfDay = false,
): void => {
  writeCount(bytes, tally.categories.size);
  for (const count of [tally.events, tally.reviewed, tally.annotated]) writeSigned(bytes, count);
  const categories: [index: number, counts: AnyCategory][] = [];
  for (const [category, counts] of tally.categories) {
    const index = indexes.get(category);
    if (index === undefined) throw new RangeError('a category is not in the list of categories');
    categories.push([index, counts]);
  }
  if (categories.length > 1) categories.sort(([left], [right]) => left - right);
  let next = 0;
  for (const [index, { detections, reviewed, annotations, flagged = 0, confirmed = 0 }] of categories) {
    const counts = [detections, reviewed, annotations];
    if (isOfDay) counts.push(flagged, confirmed);
    let bits = 0;
    for (let bit = 0; bit < counts.length; bit += 1) if (counts[bit] !== 0) bits += 1 << bit;
    writeCount(bytes, BITS * (index - next) + bits);
    for (const count of counts) if (count !== 0) writeSigned(bytes, count);
    next = index + 1;
  }
};

/** A tally in bytes. @param list has its categories */
export const tallyBytes = (tally: Tally<AnyCategory>, list: Iterable<string>, isOfDay = false): Uint8Array => {
  const bytes: number[] = [];
  writeTally(bytes, tally, indexesOf(list), isOfDay);
  return Uint8Array.from(bytes);
};

/** Reads a tally. @returns undefined if the list lacks a category: it was read before the tally was written */
export const readTallyBytes = (reader: ByteReader, categories: readonly string[]): DayTally | undefined => {
  const size = reader.count();
  const [events, reviewed, annotated] = [reader.signed(), reader.signed(), reader.signed()];
  const named = new Map<string, CategoryDayTally>();
  let next = 0;
  for (let left = size; left > 0; left -= 1) {
    const bits = reader.count();
    const count = (bit: number): number => ((bits & (1 << bit)) === 0 ? 0 : reader.signed());
    const index = next + Math.floor(bits / BITS);
    const category = categories[index];
    if (category === undefined) return undefined;
    named.set(category, {
      detections: count(0),
      reviewed: count(1),
      annotations: count(2),
      flagged: count(3),
      confirmed: count(4),
    });
    next = index + 1;
  }
  return { events, reviewed, annotated, categories: named };
};

/** The index of each item of a list, in which none comes twice. */
export const indexesOf = (list: Iterable<string>): ReadonlyMap<string, number> => {
  const indexes = new Map<string, number>();
  for (const item of list) indexes.set(item, indexes.size);
  return indexes;
};

// The tally of the day, which every row of a day or a camera has.

/** The maximum number of categories in a tally: the row of an hour stays below 1 MiB. */
export const MAX_TALLY_CATEGORIES = 750;

const [TALLY, CATEGORIES] = ['tally', 'categories'];

/**
 * The properties of the tally of the day. Three texts hold 1,000 of the longest names: the limit, and 250 configured categories, or categories
 * whose counts the stripe only takes away.
 */
export const TALLY_PROPERTIES: readonly string[] = [TALLY, ...[0, 1, 2].map((index) => textName(CATEGORIES, index))];

/** The properties of a tally, to write. Its categories are only appended, so each keeps its index: they are written if there are new ones. */
export const tallyValues = (tally: DayTally, before: DayTally | undefined): NewProperties => ({
  [TALLY]: tallyBytes(tally, tally.categories.keys(), true),
  ...(before?.categories.size !== tally.categories.size && namesValues(CATEGORIES, tally.categories.keys())),
});

export const readTally = (properties: Properties): DayTally => {
  const bytes = readBytes(TALLY, properties);
  if (bytes === undefined) throw new DecodeError('the tally of the day is missing');
  const categories = readNames(CATEGORIES, properties);
  const tally = readTallyBytes(new ByteReader(bytes), categories);
  if (tally === undefined) throw new DecodeError('its tally has a category that its list lacks');
  return tally;
};
