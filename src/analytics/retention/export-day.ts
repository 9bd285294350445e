import { createHash } from 'node:crypto';

import type { KeyRange } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DayClosed } from '../errors.ts';
import { CAMERA_EVENT_TYPE, type Counts, type EventMessage } from '../model/camera-event.ts';
import type { Day } from '../model/day.ts';
import { formatInstant } from '../model/instant.ts';
import { eventPages } from '../rows/event-row.ts';
import { ALL_EVENTS, dayPartitions } from '../rows/keys.ts';
import { readSeal } from '../rows/seal.ts';

// The events of a day in the form that `POST /api/events` accepts, one per line.

/** A page of event rows. */
export interface ExportedPage {
  /** Its events as CloudEvents, a line each. */
  readonly lines: string;
  readonly events: number;
  /** Of these, the events that are removed: they are not counted. */
  readonly removed: number;
  /** The rows that cannot be read, and are missing. */
  readonly unreadable: readonly string[];
  /** The key of its last row. */
  readonly lastKey: string;
}

/**
 * The events of a day, shard by shard. Each event is as of some moment since the export began.
 *
 * @param shards how many shards each day has
 * @throws {DayClosed} even after the last page: the day was closed meanwhile, and its event rows may have been deleted
 * @throws {StorageTrouble | LaterFormat}
 */
export async function* exportDay(
  table: Table,
  shards: number,
  day: Day,
): AsyncGenerator<ExportedPage & { readonly shard: number }> {
  const partitions = dayPartitions(day, shards);
  const demandOpen = async (): Promise<void> => {
    for (const partition of partitions)
      if ((await readSeal(table, partition)).sealed === 'closed') throw new DayClosed();
  };
  await demandOpen();
  for (const [shard, partition] of partitions.entries()) {
    for await (const page of exportShard(table, partition)) yield { shard, ...page };
  }
  await demandOpen();
}

/** The events of a shard of a day, or of a range of its event rows. @throws {StorageTrouble | LaterFormat} */
export async function* exportShard(
  table: Table,
  partition: string,
  range: KeyRange = ALL_EVENTS,
): AsyncGenerator<ExportedPage> {
  for await (const { events, unreadable, lastKey = '' } of eventPages(table, partition, range)) {
    yield {
      lines: events.flatMap(messagesOf).join(''),
      events: events.length,
      removed: events.filter(({ facets }) => facets.removed?.value === true).length,
      unreadable: unreadable.map(({ row }) => `${row.partitionKey} ${row.rowKey}`),
      lastKey,
    };
  }
}

/** The lines of an event. Facets of one time go into one message: an event has as many messages as its facets have times. */
const messagesOf = ({ cameraId, eventId, ts, facets }: EventMessage): readonly string[] => {
  const { detections, reviewed, annotations, removed } = facets;
  const times = new Set([detections, reviewed, annotations, removed].flatMap((facet) => facet?.time ?? []));
  return (times.size === 0 ? [ts] : [...times].toSorted((one, other) => (one < other ? -1 : 1))).map((time) => {
    const message = {
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
    };
    return `${JSON.stringify(message)}\n`;
  });
};

const countsIn = (counts: Counts): Readonly<Record<string, number>> => Object.fromEntries(counts);
