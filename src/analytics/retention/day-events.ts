import { createHash } from 'node:crypto';

import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { CAMERA_EVENT_TYPE } from '../model/camera-event.ts';
import { formatInstant } from '../model/instant.ts';
import { decodedPages } from '../rows/decoded-pages.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { ALL_EVENTS, parseEventKey } from '../rows/keys.ts';

// A day as the events that it is made of: what `POST /api/events` takes, a line each.

/** The result of reading a shard. */
export interface EventsRead {
  events: number;
  /** The rows that cannot be read, and are missing. */
  readonly unreadable: string[];
}

/**
 * The events of a shard of a day as CloudEvents, a line each, a page of rows at a time: a few MB of memory, however many there are.
 *
 * @param read counts the rows that were read
 * @param onPage told the last key of each page
 * @throws {StorageTrouble | LaterFormat}
 */
export async function* eventLines(
  table: Table,
  partition: string,
  read: EventsRead,
  onPage: (lastKey: string) => void = () => undefined,
): AsyncGenerator<string> {
  for await (const { decoded, unreadable, lastKey = '' } of decodedPages(table, partition, ALL_EVENTS, messagesOf)) {
    read.events += decoded.length;
    read.unreadable.push(...unreadable.map(({ row }) => `${row.partitionKey} ${row.rowKey}`));
    const lines = decoded.flat().map((message) => `${message}\n`);
    if (lines.length > 0) yield lines.join('');
    onPage(lastKey);
  }
}

/** Facets of one time go into one message: an event has as many messages as its facets have times. */
const messagesOf = (row: StoredRow): readonly string[] => {
  const { cameraId, eventId } = parseEventKey(row.rowKey);
  const { ts, facets } = eventRowFrom(row);
  const { detections, reviewed, annotations } = facets;
  const times = new Set([detections, reviewed, annotations].flatMap((facet) => facet?.time ?? []));
  return (times.size === 0 ? [ts] : [...times].toSorted((one, other) => (one < other ? -1 : 1))).map((time) =>
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
        ...(detections?.time === time && { detections: Object.fromEntries(detections.value) }),
        ...(reviewed?.time === time && { reviewed: reviewed.value }),
        ...(annotations?.time === time && { annotations: Object.fromEntries(annotations.value) }),
      },
    }),
  );
};
