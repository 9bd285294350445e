import { DecodeError } from '../../storage/errors.ts';
import type { Properties } from '../../storage/row.ts';
import type { CategoryDayTally, DayTally } from '../model/tally.ts';
import { twoDigits } from './keys.ts';
import { counterFrom } from './tally-bytes.ts';

// What rows keep in their properties, and how they keep more than one property can hold. Reading throws a DecodeError if a property is
// anything else.

/** The name of a numbered property: `tally_07`. */
export const numberedName = (prefix: string, number: number): string => `${prefix}${twoDigits(number)}`;

/** The bytes of a binary property; undefined: the row does not have it. */
export const readBytes = (name: string, properties: Properties): Uint8Array | undefined => {
  const bytes = properties[name];
  if (bytes === undefined || bytes instanceof Uint8Array) return bytes;
  throw new DecodeError(`${name} is not binary`);
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

/** Most categories that a tally takes: the row of an hour stays below 1 MiB. */
export const MAX_TALLY_CATEGORIES = 750;

// Room for 250 more: configured categories, and those of which a stripe only takes counts away, always find room.
const MAX_TALLY_PROPERTIES = 5;

/** The name of the tally of the day, which every row of a day or a camera has. */
const DAY_TALLY = 'day';

/** The properties that may hold the tally of the day: `day`, `day_1`, … */
export const TALLY_PROPERTIES: readonly string[] = Array.from({ length: MAX_TALLY_PROPERTIES }, (_, index) =>
  textName(DAY_TALLY, index),
);

/**
 * The tally of the day as JSON that a person can read in a storage browser: `{"events":600,"reviewed":12,"annotated":3,
 * "categories":{"smoke":[20,3,2,4,3]}}`. The counts are detections, reviewed events, annotations, flagged and confirmed events. Each further
 * property has up to 200 more categories. Categories are only appended, so each keeps its index.
 */
export const tallyProperties = ({ events, reviewed, annotated, categories }: DayTally): Record<string, string> => {
  // By hand: every commit writes some of these, and names of categories need no escape.
  const texts = Array.from(
    categories,
    ([category, counts]) =>
      `"${category}":[${counts.detections},${counts.reviewed},${counts.annotations},${counts.flagged},${counts.confirmed}]`,
  );
  const properties: Record<string, string> = {};
  for (let first = 0; first === 0 || first < texts.length; first += CATEGORIES_A_PROPERTY) {
    const head = first === 0 ? `"events":${events},"reviewed":${reviewed},"annotated":${annotated},` : '';
    const some = texts.slice(first, first + CATEGORIES_A_PROPERTY).join(',');
    properties[textName(DAY_TALLY, first / CATEGORIES_A_PROPERTY)] = `{${head}"categories":{${some}}}`;
  }
  return properties;
};

const readCount = (value: unknown): number => {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw new DecodeError('a tally lacks a count');
  return counterFrom(value);
};

/** The tally of the day. Every row of a day or a camera has it: without it a row is damaged, or it was not read. */
export const readTally = (properties: Properties): DayTally => {
  const [head, ...more] = readTexts(DAY_TALLY, properties).map(readObject);
  if (head === undefined) throw new DecodeError('the tally of the day is missing');
  const categories = new Map<string, CategoryDayTally>();
  for (const { categories: some } of [head, ...more]) {
    if (!isObject(some)) throw new DecodeError('a tally lacks its categories');
    for (const [category, counts] of Object.entries(some)) {
      if (!Array.isArray(counts)) throw new DecodeError('a category lacks its counts');
      categories.set(category, {
        detections: readCount(counts[0]),
        reviewed: readCount(counts[1]),
        annotations: readCount(counts[2]),
        flagged: readCount(counts[3]),
        confirmed: readCount(counts[4]),
      });
    }
  }
  return {
    events: readCount(head['events']),
    reviewed: readCount(head['reviewed']),
    annotated: readCount(head['annotated']),
    categories,
  };
};
