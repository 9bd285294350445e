import { contributionOf, type Counts, type Facet, type Facets } from '../model/camera-event.ts';
import { parseInstant, sortableInstant, type Instant } from '../model/instant.ts';
import type { Tally } from '../model/tally.ts';
import { DecodeError, decodingRow } from '../../storage/errors.ts';
import { type StoringWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import { readObject } from './properties.ts';

/** An `event|0815|ridge-04|f-1029` row: the event as of its newest facets. */
export interface EventRow {
  readonly ts: Instant;
  readonly facets: Facets;
}

/** The properties that {@link contributionFrom} reads. */
export const CONTRIBUTION_PROPERTIES: readonly string[] = ['detections', 'reviewed', 'annotations'];

/** The properties that {@link instantOf} reads. */
export const INSTANT_PROPERTIES: readonly string[] = ['ts_utc'];

const countsText = (counts: Counts): string => JSON.stringify(Object.fromEntries(counts));

/** Writes an event's row whole: an insert where it is not stored yet (`etag` undefined), else a replacement. */
export const eventWrite = (rowKey: string, etag: string | undefined, { ts, facets }: EventRow): StoringWrite => {
  const { detections, reviewed, annotations } = facets;
  const properties = {
    ts_utc: sortableInstant(ts),
    ...(detections && {
      detections: countsText(detections.value),
      detections_time: sortableInstant(detections.time),
    }),
    ...(reviewed && { reviewed: reviewed.value, reviewed_time: sortableInstant(reviewed.time) }),
    ...(annotations && {
      annotations: countsText(annotations.value),
      annotations_time: sortableInstant(annotations.time),
    }),
  };
  return writeOf(rowKey, etag, properties, 'replace');
};

const readInstant = (value: unknown): Instant => {
  const instant = typeof value === 'string' ? parseInstant(value) : undefined;
  if (instant === undefined) throw new DecodeError('a time is missing or malformed');
  return instant;
};

const readCounts = (value: unknown): Counts => {
  const counts = new Map<string, number>();
  for (const [category, count] of Object.entries(readObject(value))) {
    if (typeof count !== 'number') throw new DecodeError('a count is not a number');
    counts.set(category, count);
  }
  return counts;
};

const readFlag = (value: unknown): boolean => {
  if (typeof value !== 'boolean') throw new DecodeError('reviewed is not true or false');
  return value;
};

const facetOf = <Value>(value: unknown, time: unknown, read: (value: unknown) => Value): Facet<Value> | undefined =>
  value === undefined ? undefined : { value: read(value), time: readInstant(time) };

/** The instant of an event, from {@link INSTANT_PROPERTIES} alone. @throws {DamagedRow} */
export const instantOf = (row: StoredRow): Instant => decodingRow(row, () => readInstant(row.properties['ts_utc']));

/** Reads an event row. @throws {DamagedRow} */
export const eventRowFrom = (row: StoredRow): EventRow =>
  decodingRow(row, () => {
    const { properties } = row;
    const detections = facetOf(properties['detections'], properties['detections_time'], readCounts);
    const reviewed = facetOf(properties['reviewed'], properties['reviewed_time'], readFlag);
    const annotations = facetOf(properties['annotations'], properties['annotations_time'], readCounts);
    return {
      ts: readInstant(properties['ts_utc']),
      facets: { ...(detections && { detections }), ...(reviewed && { reviewed }), ...(annotations && { annotations }) },
    };
  });

/** The contribution of the event of a row, from {@link CONTRIBUTION_PROPERTIES} alone. @throws {DamagedRow} */
export const contributionFrom = (row: StoredRow): Tally =>
  decodingRow(row, () => {
    const { detections, reviewed, annotations } = row.properties;
    return contributionOf({
      ...(detections !== undefined && { detections: { value: readCounts(detections) } }),
      ...(reviewed !== undefined && { reviewed: { value: readFlag(reviewed) } }),
      ...(annotations !== undefined && { annotations: { value: readCounts(annotations) } }),
    });
  });
