import {
  DecodeError,
  decodingRow,
  type KeyRange,
  type NewProperties,
  type StoredRow,
  unlessDamaged,
} from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import {
  CATEGORY_FORM,
  type Counts,
  type EventMessage,
  type Facet,
  type Facets,
  MAX_COUNT,
  NO_COUNTS,
} from '../model/camera-event.ts';
import { dayOf, minuteOfDay } from '../model/day.ts';
import { parseInstant, sortableInstant, type Instant } from '../model/instant.ts';
import { eventKey, parseEventKey } from './keys.ts';

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

/** An event's row, to write. A stored facet is never removed, so a merge replaces all of it. */
export const eventValues = ({ ts, facets }: EventRow): NewProperties => ({
  ts_utc: sortableInstant(ts),
  ...facetProperties('detections', facets.detections, countsText),
  ...facetProperties('reviewed', facets.reviewed, (value) => value),
  ...facetProperties('annotations', facets.annotations, countsText),
  ...facetProperties('removed', facets.removed, (value) => value),
});

const readInstant = (value: unknown): Instant => {
  const instant = typeof value === 'string' ? parseInstant(value) : undefined;
  if (instant === undefined) throw new DecodeError('a time is missing or malformed');
  return instant;
};

const readObject = (value: unknown): object => {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : undefined;
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
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
    return {
      ts: readInstant(properties['ts_utc']),
      facets: {
        detections: facet('detections', readCounts),
        reviewed: facet('reviewed', readFlag),
        annotations: facet('annotations', readCounts),
        removed: facet('removed', readFlag),
      },
    };
  });

/** The event of a row, as one message with all its facets. @throws {DamagedRow} even if only its key belongs to another event */
export const eventFrom = (row: StoredRow): EventMessage =>
  decodingRow(row, () => {
    const { cameraId, eventId } = parseEventKey(row.rowKey);
    const event = { cameraId, eventId, ...eventRowFrom(row) };
    const key = eventKey(minuteOfDay(event.ts), cameraId, eventId);
    if (!row.partitionKey.startsWith(dayOf(event.ts)) || key !== row.rowKey) {
      throw new DecodeError('its key is not that of its event');
    }
    return event;
  });

export interface UnreadableRow {
  readonly row: StoredRow;
  readonly damage: string;
}

/** A page of event rows. */
interface EventPage {
  readonly events: readonly EventMessage[];
  readonly unreadable: readonly UnreadableRow[];
  /** The key of its last row. */
  readonly lastKey: string | undefined;
}

/** The events in a key range of a shard, page by page. @throws {StorageTrouble | LaterFormat} */
export async function* eventPages(table: Table, partition: string, range: KeyRange): AsyncGenerator<EventPage> {
  for await (const rows of table.pages(partition, range)) {
    const unreadable: UnreadableRow[] = [];
    const events = rows.flatMap((row) => {
      const note = ({ message }: Error) => unreadable.push({ row, damage: message });
      return unlessDamaged(() => eventFrom(row), note) ?? [];
    });
    yield { events, unreadable, lastKey: rows.at(-1)?.rowKey };
  }
}
