import type { CategoryTally, Tally } from '../model/tally.ts';

// 250 categories with the longest names and 15-digit counts are under the 32K characters of a string property.
const CATEGORIES_A_PROPERTY = 250;

/** Most properties one tally may take. With so many categories every row stays within its 1 MiB at the limits of counts and cameras. */
const MAX_PROPERTIES = 3;

/** Most categories of one tally. */
export const MAX_TALLY_CATEGORIES = CATEGORIES_A_PROPERTY * MAX_PROPERTIES;

/** The properties that a tally named so may be in: `total`, `total_1`, … */
export const tallyPropertyNames = (name: string): readonly string[] =>
  Array.from({ length: MAX_PROPERTIES }, (_, part) => (part === 0 ? name : `${name}_${part}`));

/**
 * A tally as JSON that a person can read in a storage browser: `{"events":600,"reviewed":12,"annotated":3,
 * "categories":{"smoke":[20,3,2]}}`, the three being detections, reviewed events and annotations. More than 250 categories
 * go on in further properties. Categories only ever join at the end, so that each keeps its place.
 */
export const tallyProperties = (name: string, tally: Tally): Record<string, string> => {
  const categories = [...tally.categories];
  const properties: Record<string, string> = {};
  for (const [part, property] of tallyPropertyNames(name).entries()) {
    const own = categories.slice(part * CATEGORIES_A_PROPERTY, (part + 1) * CATEGORIES_A_PROPERTY);
    if (part > 0 && own.length === 0) break;
    properties[property] = JSON.stringify({
      ...(part === 0 && { events: tally.events, reviewed: tally.reviewed, annotated: tally.annotated }),
      categories: Object.fromEntries(own.map(([category, c]) => [category, [c.detections, c.reviewed, c.annotations]])),
    });
  }
  return properties;
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const count = (value: unknown): number => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new TypeError('a stored tally is damaged');
  return value;
};

/**
 * The tally that a row keeps under a name; undefined where it keeps none.
 *
 * @throws {TypeError} where the row's text is not what {@link tallyProperties} writes
 */
export const tallyFromProperties = (name: string, row: Readonly<Record<string, unknown>>): Tally | undefined => {
  if (row[name] === undefined) return undefined;
  let head: Readonly<Record<string, unknown>> = {};
  const categories = new Map<string, CategoryTally>();
  for (const [part, property] of tallyPropertyNames(name).entries()) {
    const text = row[property];
    if (text === undefined) break;
    const parsed: unknown = typeof text === 'string' ? JSON.parse(text) : undefined;
    if (!isRecord(parsed) || !isRecord(parsed['categories'])) throw new TypeError('a stored tally is damaged');
    if (part === 0) head = parsed;
    for (const [category, counts] of Object.entries(parsed['categories'])) {
      if (!Array.isArray(counts)) throw new TypeError('a stored tally is damaged');
      const [detections, reviewed, annotations] = counts.map(count);
      categories.set(category, {
        detections: count(detections),
        reviewed: count(reviewed),
        annotations: count(annotations),
      });
    }
  }
  return {
    events: count(head['events']),
    reviewed: count(head['reviewed']),
    annotated: count(head['annotated']),
    categories,
  };
};
