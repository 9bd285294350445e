import { DAMAGED, readable, type Stored } from './audit-findings.ts';
import { bucketsFrom, type Buckets } from '../rows/bucket-row.ts';
import { contributionOf } from '../model/camera-event.ts';
import { cameraDayFrom, type CameraDay } from '../rows/camera-row.ts';
import { dayOf, intoMinute, minuteOfDay, type Day } from '../model/day.ts';
import { eventFromRow } from '../rows/event-row.ts';
import {
  ALL_CAMERAS,
  ALL_EVENTS,
  ALL_HOURS,
  HOURS_KEY,
  minutesOfHour,
  parseCameraKey,
  parseEventKey,
  parseHourKey,
  parseMinuteKey,
  TOTAL_KEY,
  type KeyRange,
} from '../rows/keys.ts';
import { momentsFrom, type Moments } from '../rows/minute-row.ts';
import type { CounterTable, StoredRow } from '../rows/table.ts';
import type { Tally } from '../model/tally.ts';
import { ACTIVE_CAMERAS, readTotal, type StoredTotal } from '../rows/total-row.ts';

/** The counter rows of a shard but those of its minutes, as they are: in their compact form. */
export interface CounterRows {
  readonly total: Stored<StoredTotal>;
  /** How many active cameras the `total` row says there are. */
  readonly activeCameras: unknown;
  /** The hours of the day. */
  readonly hours: Stored<Buckets>;
  /** By hour: its minutes. */
  readonly minutes: ReadonlyMap<number, Stored<Buckets>>;
  readonly cameras: ReadonlyMap<string, Stored<CameraDay>>;
  /** Keys of rows among them that are no such row's. */
  readonly strays: readonly string[];
}

/** The rows of a key range by what their keys name. */
interface KeyedRows<Key, Value> {
  readonly rows: ReadonlyMap<Key, Stored<Value>>;
  /** Keys that name nothing. */
  readonly strays: readonly string[];
}

/** An event as an audit needs it. */
export interface CountedEvent {
  readonly cameraId: string;
  /** Minute of the day, 0 to 1439. */
  readonly minute: number;
  /** Microseconds into the minute. */
  readonly at: number;
  readonly contribution: Tally;
}

/** An event row: what it counts, or why it cannot be counted. */
export type AuditedEvent = CountedEvent | { readonly damaged: string };

const storedTotal = async (table: CounterTable, partition: string): Promise<Stored<StoredTotal>> => {
  try {
    return await readTotal(table, partition);
  } catch (error) {
    // Of what the table throws nothing is one of these.
    if (error instanceof TypeError || error instanceof SyntaxError) return DAMAGED;
    throw error;
  }
};

const keyedRows = async <Key, Value>(
  table: CounterTable,
  partition: string,
  range: KeyRange,
  parseKey: (rowKey: string) => Key,
  parse: (properties: StoredRow['properties']) => Value,
): Promise<KeyedRows<Key, Value>> => {
  const rows = new Map<Key, Stored<Value>>();
  const strays: string[] = [];
  for await (const page of table.pages(partition, range)) {
    for (const { rowKey, properties } of page) {
      const key = readable(() => parseKey(rowKey));
      if (key === DAMAGED) strays.push(rowKey);
      else
        rows.set(
          key,
          readable(() => parse(properties)),
        );
    }
  }
  return { rows, strays };
};

/**
 * Reads the counter rows of a shard but those of its minutes.
 *
 * @throws {StorageTrouble} where a part of them could not be read
 */
export const readCounterRows = async (table: CounterTable, partition: string): Promise<CounterRows> => {
  const total = await storedTotal(table, partition);
  const activeCameras = (await table.get(partition, TOTAL_KEY, [ACTIVE_CAMERAS]))?.properties[ACTIVE_CAMERAS];
  const hours = await table.get(partition, HOURS_KEY);
  const minutes = await keyedRows(table, partition, ALL_HOURS, parseHourKey, bucketsFrom);
  const cameras = await keyedRows(table, partition, ALL_CAMERAS, parseCameraKey, cameraDayFrom);
  return {
    total,
    activeCameras,
    hours: hours && readable(() => bucketsFrom(hours.properties)),
    minutes: minutes.rows,
    cameras: cameras.rows,
    strays: [...minutes.strays, ...cameras.strays],
  };
};

/**
 * Reads the minute rows of an hour (0 to 23) of a shard.
 *
 * @returns by minute of the day
 * @throws {StorageTrouble} where a part of them could not be read
 */
export const readMinuteRows = async (
  table: CounterTable,
  partition: string,
  hour: number,
): Promise<KeyedRows<number, Moments>> => keyedRows(table, partition, minutesOfHour(hour), parseMinuteKey, momentsFrom);

const auditedEvent = (day: Day, row: StoredRow): AuditedEvent => {
  const { cameraId, minute } = parseEventKey(row.rowKey);
  const { ts, facets } = eventFromRow(row);
  if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) return { damaged: 'its ts_utc is not in the minute of its key' };
  return { cameraId, minute, at: intoMinute(ts), contribution: contributionOf(facets) };
};

/**
 * Reads the event rows of a shard in the order of their minutes.
 *
 * @throws {StorageTrouble} where a part of them could not be read
 */
export async function* readEvents(
  table: CounterTable,
  partition: string,
  day: Day,
): AsyncGenerator<AuditedEvent & { readonly rowKey: string }> {
  for await (const page of table.pages(partition, ALL_EVENTS)) {
    for (const row of page) {
      const event = readable(() => auditedEvent(day, row));
      yield { rowKey: row.rowKey, ...(event === DAMAGED ? { damaged: DAMAGED } : event) };
    }
  }
}
