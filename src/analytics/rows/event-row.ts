import { contributionOf, type Counts, type EventMessage, type Facet, type Facets } from '../model/camera-event.ts';
import { minuteOfDay } from '../model/day.ts';
import { parseInstant, sortableInstant, type Instant } from '../model/instant.ts';
import { eventKey } from './keys.ts';
import type { Tally } from '../model/tally.ts';
import { writeOf, type PropertyValue, type RowWrite, type StoredRow } from './table.ts';

/** An event as its row keeps it. */
export interface StoredEvent {
  readonly etag: string;
  readonly ts: Instant;
  readonly facets: Facets;
}

/** The properties to read for {@link contributionFromRow}. */
export const CONTRIBUTION_PROPERTIES: readonly string[] = ['detections', 'reviewed', 'annotations'];

/** The key of the row of the event that a message is about. */
export const eventKeyOf = ({ ts, cameraId, eventId }: EventMessage): string =>
  eventKey(minuteOfDay(ts), cameraId, eventId);

const countsText = (counts: Counts): string => JSON.stringify(Object.fromEntries(counts));

/** Writes an event's row whole: an insert where there was none (`etag` undefined), else a replacement. */
export const eventWrite = (rowKey: string, etag: string | undefined, ts: Instant, facets: Facets): RowWrite => {
  const { detections, reviewed, annotations } = facets;
  const properties: Record<string, PropertyValue> = {
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

const storedInstant = (value: unknown): Instant => {
  const instant = typeof value === 'string' ? parseInstant(value) : undefined;
  if (instant === undefined) throw new TypeError('a stored event is damaged');
  return instant;
};

const storedCounts = (value: unknown): Counts => {
  const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : undefined;
  if (typeof parsed !== 'object' || parsed === null) throw new TypeError('a stored event is damaged');
  const counts = new Map<string, number>();
  for (const [category, count] of Object.entries(parsed)) {
    if (typeof count !== 'number') throw new TypeError('a stored event is damaged');
    counts.set(category, count);
  }
  return counts;
};

const countsFacet = (value: unknown, time: unknown): Facet<Counts> | undefined =>
  value === undefined ? undefined : { value: storedCounts(value), time: storedInstant(time) };

/**
 * Row → event.
 *
 * @throws {TypeError} where the row is not what {@link eventWrite} writes
 */
export const eventFromRow = ({ etag, properties }: StoredRow): StoredEvent => {
  const detections = countsFacet(properties['detections'], properties['detections_time']);
  const annotations = countsFacet(properties['annotations'], properties['annotations_time']);
  const reviewed = properties['reviewed'];
  return {
    etag,
    ts: storedInstant(properties['ts_utc']),
    facets: {
      ...(detections && { detections }),
      ...(typeof reviewed === 'boolean' && {
        reviewed: { value: reviewed, time: storedInstant(properties['reviewed_time']) },
      }),
      ...(annotations && { annotations }),
    },
  };
};

/**
 * What the event of a row counts.
 *
 * @throws {TypeError} where the row is not what {@link eventWrite} writes
 */
export const contributionFromRow = ({ properties }: StoredRow): Tally => {
  const { detections, reviewed, annotations } = properties;
  return contributionOf({
    ...(detections !== undefined && { detections: { value: storedCounts(detections) } }),
    reviewed: { value: reviewed === true },
    ...(annotations !== undefined && { annotations: { value: storedCounts(annotations) } }),
  });
};
