import { createHash } from 'node:crypto';

import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { CAMERA_EVENT_TYPE, type Counts } from '../model/camera-event.ts';
import { formatInstant } from '../model/instant.ts';
import { decodedPages } from '../rows/decoded-pages.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { ALL_EVENTS, parseEventKey } from '../rows/keys.ts';

// The events of a day in the form that `POST /api/events` accepts, one per line.

/** The result of reading events. */
export interface EventsRead {
  events: number;
  /** Of these, the events that are removed: they are not counted. */
  removed: number;
  /** The rows that cannot be read, and are missing. */
  readonly unreadable: string[];
}

export const noEvents = (): EventsRead => ({ events: 0, removed: 0, unreadable: [] });

/** How the events of a shard are read. */
interface Reading {
  /** All by default. */
  readonly range?: KeyRange;
  /** Counts the rows that were read. */
  readonly read: EventsRead;
  /** Receives the last key of each page. An error that it throws ends the reading. */
  readonly onPage?: (lastKey: string) => void;
}

/**
 * The events of a shard of a day as CloudEvents, a line each, a page of rows at a time: a few MB of memory, however many there are.
 *
 * @throws {StorageTrouble | LaterFormat}
 */
export async function* eventLines(
  table: Table,
  partition: string,
  { range = ALL_EVENTS, read, onPage }: Reading,
): AsyncGenerator<string> {
  for await (const { decoded, unreadable, lastKey = '' } of decodedPages(table, partition, range, messagesOf)) {
    read.events += decoded.length;
    read.removed += decoded.filter(({ isRemoved }) => isRemoved).length;
    read.unreadable.push(...unreadable.map(({ row }) => `${row.partitionKey} ${row.rowKey}`));
    const lines = decoded.flatMap(({ messages }) => messages.map((message) => `${message}\n`));
    if (lines.length > 0) yield lines.join('');
    onPage?.(lastKey);
  }
}

/** Facets of one time go into one message: an event has as many messages as its facets have times. */
const messagesOf = (row: StoredRow): { readonly messages: readonly string[]; readonly isRemoved: boolean } => {
  const { cameraId, eventId } = parseEventKey(row.rowKey);
  const { ts, facets } = eventRowFrom(row);
  const { detections, reviewed, annotations, removed } = facets;
  const times = new Set([detections, reviewed, annotations, removed].flatMap((facet) => facet?.time ?? []));
  const messages = (times.size === 0 ? [ts] : [...times].toSorted((one, other) => (one < other ? -1 : 1))).map((time) =>
    JSON.stringify({
      specversion: '1.0',
      // The same for the same message, whenever it is exported.
      id: createHash('sha256')
        .update(JSON.stringify([cameraId, eventId, String(time)]))
        .digest('base64url'),
      source: '/export',
      type: CAMERA_EVENT_TYPE,
      time: formatInstant(time),
      data: {
        event_id: eventId,
        camera_id: cameraId,
        ts_utc: formatInstant(ts),
        ...(detections?.time === time && { detections: countsIn(detections.value) }),
        ...(reviewed?.time === time && { reviewed: reviewed.value }),
        ...(annotations?.time === time && { annotations: countsIn(annotations.value) }),
        ...(removed?.time === time && { removed: removed.value }),
      },
    }),
  );
  return { messages, isRemoved: removed?.value === true };
};

const countsIn = (counts: Counts): Readonly<Record<string, number>> => Object.fromEntries(counts);
