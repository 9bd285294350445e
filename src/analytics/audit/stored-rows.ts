import { contributionOf } from '../model/camera-event.ts';
import { dayOf, microsecondOfMinute, minuteOfDay, type Day } from '../model/day.ts';
import type { Tally } from '../model/tally.ts';
import { cameraRowFrom, type CameraRow } from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { bucketsFrom, type HourRow, type HoursRow } from '../rows/hour-rows.ts';
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
import { minuteRowFrom, type MinuteRow } from '../rows/minute-row.ts';
import type { StoredRow } from '../rows/row.ts';
import type { CounterTable } from '../rows/table.ts';
import { ACTIVE_CAMERAS, readTotal, type StoredTotal } from '../rows/total-row.ts';
import { DAMAGED, damageOf, decodedOr, type Stored } from './findings.ts';

/** The counter rows of a shard except its minute rows; what they keep in bytes is not decoded yet. */
export interface CounterRows {
  readonly total: Stored<StoredTotal>;
  /** How many active cameras the `total` row says there are. */
  readonly activeCameras: unknown;
  readonly hours: Stored<HoursRow>;
  /** By hour of the day. */
  readonly hourRows: ReadonlyMap<number, Stored<HourRow>>;
  /** By camera id. */
  readonly cameras: ReadonlyMap<string, Stored<CameraRow>>;
  /** Keys in the same ranges that the service never writes. */
  readonly strays: readonly string[];
}

/** The rows of a key range, by what is parsed from their keys. */
interface KeyedRows<Key, Value> {
  readonly rows: ReadonlyMap<Key, Stored<Value>>;
  /** Keys that cannot be parsed. */
  readonly strays: readonly string[];
}

/** An event as an audit needs it. */
export interface CountedEvent {
  readonly cameraId: string;
  /** Minute of the day, 0 to 1439. */
  readonly minute: number;
  /** Microsecond of the minute. */
  readonly microsecond: number;
  readonly contribution: Tally;
}

/** An event row: its contribution, or why that cannot be known. */
export type AuditedEvent = CountedEvent | { readonly damaged: string };

const decoded = <Value>(row: StoredRow, rowFrom: (row: StoredRow) => Value): Value | typeof DAMAGED =>
  decodedOr(() => rowFrom(row));

const keyedRows = async <Key, Value>(
  table: CounterTable,
  partition: string,
  range: KeyRange,
  parseKey: (rowKey: string) => Key,
  rowFrom: (row: StoredRow) => Value,
): Promise<KeyedRows<Key, Value>> => {
  const rows = new Map<Key, Stored<Value>>();
  const strays: string[] = [];
  for await (const page of table.pages(partition, range)) {
    for (const row of page) {
      const key = decodedOr(() => parseKey(row.rowKey));
      if (key === DAMAGED) strays.push(row.rowKey);
      else rows.set(key, decoded(row, rowFrom));
    }
  }
  return { rows, strays };
};

/** Reads the counter rows of a shard except its minute rows. @throws {StorageTrouble} */
export const readCounterRows = async (table: CounterTable, partition: string): Promise<CounterRows> => {
  const total = await readTotal(table, partition).catch(damageOf);
  const activeCameras = (await table.get(partition, TOTAL_KEY, [ACTIVE_CAMERAS]))?.properties[ACTIVE_CAMERAS];
  const hours = await table.get(partition, HOURS_KEY);
  const hourRows = await keyedRows(table, partition, ALL_HOURS, parseHourKey, bucketsFrom);
  const cameras = await keyedRows(table, partition, ALL_CAMERAS, parseCameraKey, cameraRowFrom);
  return {
    total,
    activeCameras,
    hours: hours && decoded(hours, bucketsFrom),
    hourRows: hourRows.rows,
    cameras: cameras.rows,
    strays: [...hourRows.strays, ...cameras.strays],
  };
};

/** Reads the minute rows of an hour (0 to 23) of a shard, by minute of the day. @throws {StorageTrouble} */
export const readMinuteRows = async (
  table: CounterTable,
  partition: string,
  hour: number,
): Promise<KeyedRows<number, MinuteRow>> =>
  keyedRows(table, partition, minutesOfHour(hour), parseMinuteKey, minuteRowFrom);

const auditedEvent = (day: Day, row: StoredRow): AuditedEvent => {
  const { cameraId, minute } = parseEventKey(row.rowKey);
  const { ts, facets } = eventRowFrom(row);
  if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) return { damaged: 'its ts_utc is not in the minute of its key' };
  return { cameraId, minute, microsecond: microsecondOfMinute(ts), contribution: contributionOf(facets) };
};

/** Reads the event rows of a shard in the order of their minutes. @throws {StorageTrouble} */
export async function* readEvents(
  table: CounterTable,
  partition: string,
  day: Day,
): AsyncGenerator<AuditedEvent & { readonly rowKey: string }> {
  for await (const page of table.pages(partition, ALL_EVENTS)) {
    for (const row of page) {
      const event = decodedOr(() => auditedEvent(day, row));
      yield { rowKey: row.rowKey, ...(event === DAMAGED ? { damaged: DAMAGED } : event) };
    }
  }
}
