import type { Log } from '../../log.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { Recorder } from '../record/recorder.ts';
import { DamagedRow, DecodeError } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { DayShards } from '../rows/day-shards.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { ALL_EVENTS, parseEventKey } from '../rows/keys.ts';

/** An event of a camera that is in a shard where it does not belong. */
export interface MisplacedEvent {
  readonly rowKey: string;
  readonly message: EventMessage;
}

const EVENTS_AT_ONCE = 1_000;
const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The events of a camera in a partition; rows that cannot be decoded are left out. @throws {StorageTrouble} */
export const eventsOfCamera = async (
  table: Table,
  partition: string,
  cameraId: string,
): Promise<readonly MisplacedEvent[]> => {
  const events: MisplacedEvent[] = [];
  for await (const rows of table.pages(partition, ALL_EVENTS)) {
    for (const row of rows) {
      try {
        const key = parseEventKey(row.rowKey);
        if (key.cameraId !== cameraId) continue;
        const { ts, facets } = eventRowFrom(row);
        events.push({ rowKey: row.rowKey, message: { eventId: key.eventId, cameraId, ts, facets } });
      } catch (error) {
        if (!(error instanceof DamagedRow || error instanceof DecodeError)) throw error;
      }
    }
  }
  return events;
};

/**
 * Records events in the shard that the manifest gives their camera. An event that is there already keeps the newest facets of both.
 *
 * @returns the keys of the rows whose events are recorded there now
 * @throws {RecorderUnavailable | DamagedRow}
 */
export const moveEvents = async (table: Table, events: readonly MisplacedEvent[]): Promise<readonly string[]> => {
  const recorder = new Recorder(table, new DayShards(table, 1), SILENT);
  const moved: string[] = [];
  for (let first = 0; first < events.length; first += EVENTS_AT_ONCE) {
    const some = events.slice(first, first + EVENTS_AT_ONCE);
    const outcomes = await recorder.record(some.map(({ message }) => message));
    for (const [index, { rowKey }] of some.entries()) {
      if (typeof outcomes[index] === 'string') moved.push(rowKey);
    }
  }
  return moved;
};
