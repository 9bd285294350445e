import type { CategoryTally, Tally } from '../model/tally.ts';
import { DecodeError } from '../../storage/errors.ts';
import type { Properties } from '../../storage/row.ts';
import { isObject, readObject, readTexts, textName } from './properties.ts';

// 250 categories with the longest names and 15-digit counts stay below the 32K characters of a string property.
const CATEGORIES_A_PROPERTY = 250;

/** Most categories of one tally: the row of an hour stays below 1 MiB. */
export const MAX_TALLY_CATEGORIES = 3 * CATEGORIES_A_PROPERTY;

// One more: where DETECTION_CATEGORIES changes while a day is full, its new categories find room all the same.
const MAX_PROPERTIES = 4;

/** The properties that may hold a tally: `day`, `day_1`, … */
export const tallyPropertyNames = (name: string): readonly string[] =>
  Array.from({ length: MAX_PROPERTIES }, (_, index) => textName(name, index));

/**
 * A tally as JSON that a person can read in a storage browser: `{"events":600,"reviewed":12,"annotated":3,
 * "categories":{"smoke":[20,3,2]}}`. The three counts are detections, reviewed events and annotations. Each further property
 * has up to 250 more categories. Categories are only appended, so that each keeps its index.
 */
export const tallyProperties = (name: string, tally: Tally): Record<string, string> => {
  const categories = [...tally.categories];
  const properties: Record<string, string> = {};
  for (let first = 0; first === 0 || first < categories.length; first += CATEGORIES_A_PROPERTY) {
    const own = categories.slice(first, first + CATEGORIES_A_PROPERTY);
    properties[textName(name, first / CATEGORIES_A_PROPERTY)] = JSON.stringify({
      ...(first === 0 && { events: tally.events, reviewed: tally.reviewed, annotated: tally.annotated }),
      categories: Object.fromEntries(own.map(([category, c]) => [category, [c.detections, c.reviewed, c.annotations]])),
    });
  }
  return properties;
};

const readCount = (value: unknown): number => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new DecodeError('a tally lacks a count');
  return value;
};

/** The tally under a name in a row; undefined where there is none. @throws {DecodeError} */
export const readTallyText = (name: string, properties: Properties): Tally | undefined => {
  const [head, ...more] = readTexts(name, properties).map(readObject);
  if (head === undefined) return undefined;
  const categories = new Map<string, CategoryTally>();
  for (const { categories: own } of [head, ...more]) {
    if (!isObject(own)) throw new DecodeError('a tally lacks its categories');
    for (const [category, counts] of Object.entries(own)) {
      if (!Array.isArray(counts)) throw new DecodeError('a category lacks its counts');
      const [detections, reviewed, annotations] = counts.map(readCount);
      categories.set(category, {
        detections: readCount(detections),
        reviewed: readCount(reviewed),
        annotations: readCount(annotations),
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
