import { DecodeError } from '../../storage/errors.ts';
import type { Properties } from '../../storage/row.ts';
import { type CategoryTally, COUNTS, NO_COUNT, type Tally } from '../model/tally.ts';
import { twoDigits } from './keys.ts';
import { counterFrom } from './tally-bytes.ts';

// What rows keep in their properties, and how they keep more than one property can hold. Reading throws a DecodeError if a property is
// anything else.

/** The name of a numbered property: `h07`. */
export const numberedName = (prefix: string, number: number): string => `${prefix}${twoDigits(number)}`;

/** Binary properties numbered with two digits (`s00`, `s01`, …), to write. Numbers without bytes are left out. */
export const numberedBytes = (
  prefix: string,
  numbers: Iterable<number>,
  bytesOf: (number: number) => Uint8Array | undefined,
): Record<string, Uint8Array> => {
  const properties: Record<string, Uint8Array> = {};
  for (const number of numbers) {
    const bytes = bytesOf(number);
    if (bytes !== undefined) properties[numberedName(prefix, number)] = bytes;
  }
  return properties;
};

/** Reads binary properties numbered from 0 to less than a count. */
export const readNumberedBytes = (
  prefix: string,
  count: number,
  properties: Properties,
): ReadonlyMap<number, Uint8Array> => {
  const found = new Map<number, Uint8Array>();
  for (let number = 0; number < count; number += 1) {
    const name = numberedName(prefix, number);
    const bytes = properties[name];
    if (bytes === undefined) continue;
    if (!(bytes instanceof Uint8Array)) throw new DecodeError(`${name} is not binary`);
    found.set(number, bytes);
  }
  return found;
};

/** Reads a whole number within bounds: a count, a length or an index must not exceed its possible maximum. */
export const readWhole = (name: string, properties: Properties, least: number, most: number): number => {
  const number = properties[name];
  if (typeof number !== 'number' || !Number.isInteger(number) || number < least || number > most) {
    throw new DecodeError(`${name} is not a whole number from ${least} to ${most}`);
  }
  return number;
};

/** The name of the property with text `index` of a list of texts: `cameras`, `cameras_1`, `cameras_2`, … */
export const textName = (name: string, index: number): string => (index === 0 ? name : `${name}_${index}`);

export const readTexts = (name: string, properties: Properties): readonly string[] => {
  const texts: string[] = [];
  for (;;) {
    const text = properties[textName(name, texts.length)];
    if (text === undefined) return texts;
    if (typeof text !== 'string') throw new DecodeError(`${textName(name, texts.length)} is not text`);
    texts.push(text);
  }
};

export const readObject = (value: unknown): Properties => {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : undefined;
    if (isObject(parsed)) return parsed;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DecodeError('a property is not the text of a JSON object');
};

const isObject = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// 200 categories with the longest names and five counts of 14 digits stay below the 32K characters of a string property.
const CATEGORIES_A_PROPERTY = 200;

/** Most categories of one tally: the row of an hour stays below 1 MiB. */
export const MAX_TALLY_CATEGORIES = 750;

// Room for 64 more: if DETECTION_CATEGORIES changes while a day is full, its new categories still find room.
const MAX_TALLY_PROPERTIES = 5;

/** The properties that may hold a tally: `day`, `day_1`, … */
export const tallyPropertyNames = (name: string): readonly string[] =>
  Array.from({ length: MAX_TALLY_PROPERTIES }, (_, index) => textName(name, index));

/** Only tallies of whole days have all of them. */
const COUNTS_OF = { day: COUNTS, hour: COUNTS.slice(0, 3) } as const;

/**
 * A tally as JSON that a person can read in a storage browser: `{"events":600,"reviewed":12,"annotated":3,
 * "categories":{"smoke":[20,3,2,4,3]}}`. The counts are detections, reviewed events and annotations; in a day's tally also flagged and
 * confirmed events. Each further property has up to 200 more categories. Categories are only appended, so that each keeps its index.
 */
export const tallyProperties = (name: string, tally: Tally, kind: 'day' | 'hour'): Record<string, string> => {
  const { events, reviewed, annotated } = tally;
  // By hand: every commit writes some of these, and names of categories need no escape.
  const categories = Array.from(tally.categories, ([category, own]) => {
    const ofDay = kind === 'day' ? `,${own.flagged},${own.confirmed}` : '';
    return `"${category}":[${own.detections},${own.reviewed},${own.annotations}${ofDay}]`;
  });
  const properties: Record<string, string> = {};
  for (let first = 0; first === 0 || first < categories.length; first += CATEGORIES_A_PROPERTY) {
    const head = first === 0 ? `"events":${events},"reviewed":${reviewed},"annotated":${annotated},` : '';
    const own = categories.slice(first, first + CATEGORIES_A_PROPERTY).join(',');
    properties[textName(name, first / CATEGORIES_A_PROPERTY)] = `{${head}"categories":{${own}}}`;
  }
  return properties;
};

const readCount = (value: unknown): number => {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw new DecodeError('a tally lacks a count');
  return counterFrom(value);
};

/** The tally under a name in a row; undefined if it does not exist. */
export const readTallyText = (name: string, properties: Properties, kind: 'day' | 'hour'): Tally | undefined => {
  const [head, ...more] = readTexts(name, properties).map(readObject);
  if (head === undefined) return undefined;
  const categories = new Map<string, CategoryTally>();
  for (const { categories: own } of [head, ...more]) {
    if (!isObject(own)) throw new DecodeError('a tally lacks its categories');
    for (const [category, counts] of Object.entries(own)) {
      if (!Array.isArray(counts)) throw new DecodeError('a category lacks its counts');
      const named = COUNTS_OF[kind].map((count, index) => [count, readCount(counts[index])]);
      categories.set(category, { ...NO_COUNT, ...Object.fromEntries(named) });
    }
  }
  return {
    events: readCount(head['events']),
    reviewed: readCount(head['reviewed']),
    annotated: readCount(head['annotated']),
    categories,
  };
};

/** The property, or the first of those, that the tally of a day is in. */
export const DAY_TALLY = 'day';

/** The tally of the day, which every row of a stripe or a camera has. */
export const readDay = (properties: Properties): Tally => {
  const tally = readTallyText(DAY_TALLY, properties, 'day');
  if (tally === undefined) throw new DecodeError('the tally of the day is missing');
  return tally;
};
