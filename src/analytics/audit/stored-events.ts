import { DecodeError } from '../../storage/errors.ts';
import type { KeyRange } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { type Day, dayOf, minuteOfDay } from '../model/day.ts';
import { decodedPages } from '../rows/decoded-pages.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { eventKey, parseEventKey } from '../rows/keys.ts';

/**
 * The events of a shard of a day, page by page, each as one message with all its facets.
 *
 * @throws {StorageTrouble | LaterFormat}
 */
export const eventPages = (table: Table, partition: string, day: Day, range: KeyRange) =>
  decodedPages(table, partition, range, (row): EventMessage => {
    const { minute, cameraId, eventId } = parseEventKey(row.rowKey);
    const { ts, facets } = eventRowFrom(row);
    if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) throw new DecodeError('its time is not that of its key');
    if (eventKey(minute, cameraId, eventId) !== row.rowKey) throw new DecodeError('its key is not that of its event');
    return { cameraId, eventId, ts, facets };
  });
