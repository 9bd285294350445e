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

/** The result of reading events. */
export interface EventsRead {
  events: number;
  /** Of these, the events that are removed: they are not counted. */
  removed: number;
  /** The rows that cannot be read, and are missing. */
  readonly unreadable: string[];
}

export const noEvents = (): EventsRead => ({ events: 0, removed: 0, unreadable: [] });

/** How events are read. */
interface Reading<Page extends readonly unknown[]> {
  /** Counts the rows that were read. */
  readonly read: EventsRead;
  /** Receives the last key of each page, of a day after the shard. An error that it throws ends the reading. */
  readonly onPage?: (...page: Page) => void;
}

/**
 * The events of a day as CloudEvents, a line each, shard by shard. Each event is as of some moment since the export began.
 *
 * @param shards how many shards each day has
 * @throws {DayClosed} even after the last line: the day was closed meanwhile, and its event rows may have been deleted
 * @throws {StorageTrouble | LaterFormat}
 */
export async function* exportDay(
  table: Table,
  shards: number,
  day: Day,
  { read, onPage }: Reading<[shard: number, lastKey: string]>,
): AsyncGenerator<string> {
  const partitions = dayPartitions(day, shards);
  const demandOpen = async (): Promise<void> => {
    for (const partition of partitions)
      if ((await readSeal(table, partition)).sealed === 'closed') throw new DayClosed();
  };
  await demandOpen();
  for (const [shard, partition] of partitions.entries()) {
    yield* eventLines(table, partition, { read, onPage: (lastKey) => onPage?.(shard, lastKey) });
  }
  await demandOpen();
}

/**
 * The events of a shard of a day as CloudEvents, a line each, a page of rows at a time: a few MB of memory, however many there are.
 *
 * @throws {StorageTrouble | LaterFormat}
 */
export async function* eventLines(
  table: Table,
  partition: string,
  { range = ALL_EVENTS, read, onPage }: Reading<[lastKey: string]> & { readonly range?: KeyRange },
): AsyncGenerator<string> {
  for await (const { events, unreadable, lastKey = '' } of eventPages(table, partition, range)) {
    read.events += events.length;
    read.removed += events.filter(({ facets }) => facets.removed?.value === true).length;
    read.unreadable.push(...unreadable.map(({ row }) => `${row.partitionKey} ${row.rowKey}`));
    const lines = events.flatMap(messagesOf).map((message) => `${message}\n`);
    if (lines.length > 0) yield lines.join('');
    onPage?.(lastKey);
  }
}

/** Facets of one time go into one message: an event has as many messages as its facets have times. */
const messagesOf = ({ cameraId, eventId, ts, facets }: EventMessage): readonly string[] => {
  const { detections, reviewed, annotations, removed } = facets;
  const times = new Set([detections, reviewed, annotations, removed].flatMap((facet) => facet?.time ?? []));
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
        ...(detections?.time === time && { detections: countsIn(detections.value) }),
        ...(reviewed?.time === time && { reviewed: reviewed.value }),
        ...(annotations?.time === time && { annotations: countsIn(annotations.value) }),
        ...(removed?.time === time && { removed: removed.value }),
      },
    }),
  );
};

const countsIn = (counts: Counts): Readonly<Record<string, number>> => Object.fromEntries(counts);
