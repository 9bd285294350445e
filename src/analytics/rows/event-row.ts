import { DecodeError, decodingRow } from '../../storage/errors.ts';
import { type NewProperties, type Properties, type StoringWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import { type Counts, type Facet, type Facets, NO_COUNTS } from '../model/camera-event.ts';
import { CATEGORY_FORM, MAX_COUNT } from '../model/identifier.ts';
import { parseInstant, sortableInstant, type Instant } from '../model/instant.ts';
import type { EventKey } from './keys.ts';

/** A whole `event|0815|ridge-04|f-1029` row: the event as of its newest facets. */
export interface EventRow {
  readonly ts: Instant;
  readonly facets: Facets;
}

/** The properties of a facet, whose time is in a second property. */
const facetProperties = <Value>(
  name: keyof Facets,
  facet: Facet<Value> | undefined,
  stored: (value: Value) => string | boolean,
): NewProperties =>
  facet === undefined ? {} : { [name]: stored(facet.value), [`${name}_time`]: sortableInstant(facet.time) };

const countsText = (counts: Counts): string => JSON.stringify(Object.fromEntries(counts));

/** Writes an event's row: an insert if it is not stored yet (`etag` undefined). A stored facet is never removed, so a merge replaces all of it. */
export const eventWrite = (rowKey: EventKey, etag: string | undefined, { ts, facets }: EventRow): StoringWrite => {
  const properties = {
    ts_utc: sortableInstant(ts),
    ...facetProperties('detections', facets.detections, countsText),
    ...facetProperties('reviewed', facets.reviewed, (value) => value),
    ...facetProperties('annotations', facets.annotations, countsText),
    ...facetProperties('removed', facets.removed, (value) => value),
  };
  return writeOf(rowKey, etag, properties);
};

const readInstant = (value: unknown): Instant => {
  const instant = typeof value === 'string' ? parseInstant(value) : undefined;
  if (instant === undefined) throw new DecodeError('a time is missing or malformed');
  return instant;
};

const isObject = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const readObject = (value: unknown): Properties => {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : undefined;
    if (isObject(parsed)) return parsed;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DecodeError('a property is not the text of a JSON object');
};

const readCounts = (value: unknown): Counts => {
  const counts = new Map<string, number>();
  for (const [category, count] of Object.entries(readObject(value))) {
    // No request may have such values, so no recorder wrote them.
    if (!CATEGORY_FORM.test(category)) throw new DecodeError('a category has a name that none can have');
    if (typeof count !== 'number' || !Number.isInteger(count) || count < 0 || count > MAX_COUNT) {
      throw new DecodeError(`a count is not a whole number from 0 to ${MAX_COUNT}`);
    }
    counts.set(category, count);
  }
  return counts.size === 0 ? NO_COUNTS : counts;
};

const readFlag = (value: unknown): boolean => {
  if (typeof value !== 'boolean') throw new DecodeError('a facet is not true or false');
  return value;
};

export const eventRowFrom = (row: StoredRow): EventRow =>
  decodingRow(row, () => {
    const { properties } = row;
    const facet = <Value>(name: keyof Facets, read: (value: unknown) => Value): Facet<Value> | undefined =>
      properties[name] === undefined
        ? undefined
        : { value: read(properties[name]), time: readInstant(properties[`${name}_time`]) };
    const detections = facet('detections', readCounts);
    const reviewed = facet('reviewed', readFlag);
    const annotations = facet('annotations', readCounts);
    const removed = facet('removed', readFlag);
    return {
      ts: readInstant(properties['ts_utc']),
      facets: {
        ...(detections && { detections }),
        ...(reviewed && { reviewed }),
        ...(annotations && { annotations }),
        ...(removed && { removed }),
      },
    };
  });
