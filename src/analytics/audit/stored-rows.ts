import { contributionOf } from '../model/camera-event.ts';
import { dayOf, microsecondOfMinute, minuteOfDay, type Day } from '../model/day.ts';
import type { Tally } from '../model/tally.ts';
import { cameraRowFrom, type CameraRow } from '../rows/camera-row.ts';
import { commitNumberOf } from '../rows/commit-number.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { bucketsFrom, type HoursRow } from '../rows/hour-rows.ts';
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
import { inStripe, parseStripe } from '../rows/stripe-keys.ts';
import type { CounterTable } from '../rows/table.ts';
import { activeCamerasOf, readTotal, type StoredTotal } from '../rows/total-row.ts';
import { DAMAGED, damageOf, decodedOr, type Stored } from './findings.ts';

/** A counter row: its number of the latest commit, and its value, of which what it keeps in bytes is not decoded yet. */
export interface AuditedRow<Value> {
  readonly commit: number;
  readonly value: Value;
}

/** The counter rows of one stripe of a shard except its minute rows. */
export interface StripeCounters {
  readonly stripe: number;
  readonly total: Stored<StoredTotal>;
  /** How many active cameras the `total` row says there are. */
  readonly activeCameras: Stored<number>;
  readonly hours: Stored<AuditedRow<HoursRow>>;
  /** By hour of the day. */
  readonly hourRows: ReadonlyMap<number, Stored<AuditedRow<HoursRow>>>;
  /** By camera id. */
  readonly cameras: ReadonlyMap<string, Stored<AuditedRow<CameraRow>>>;
}

/** The counter rows of a shard except its minute rows. */
export interface CounterRows {
  /** By their numbers. */
  readonly stripes: readonly StripeCounters[];
  /** Keys in the same ranges that the service never writes. */
  readonly strays: readonly string[];
}

/** The minute rows of an hour, by stripe and then by minute of the day; each minute has one or two rows. */
export interface MinuteRows {
  readonly byStripe: ReadonlyMap<number, ReadonlyMap<number, readonly Stored<AuditedRow<MinuteRow>>[]>>;
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

const audited = <Value>(row: StoredRow, rowFrom: (row: StoredRow) => Value): Stored<AuditedRow<Value>> =>
  decodedOr(() => ({ commit: commitNumberOf(row), value: rowFrom(row) }));

/** A row of a key range. */
interface KeyedRow<Key, Value> {
  readonly stripe: number;
  readonly key: Key;
  readonly row: Stored<AuditedRow<Value>>;
}

const keyedRows = async <Key, Value>(
  table: CounterTable,
  partition: string,
  range: KeyRange,
  parseKey: (rowKey: string) => Key,
  rowFrom: (row: StoredRow) => Value,
): Promise<{ readonly rows: readonly KeyedRow<Key, Value>[]; readonly strays: readonly string[] }> => {
  const rows: KeyedRow<Key, Value>[] = [];
  const strays: string[] = [];
  for await (const page of table.pages(partition, range)) {
    for (const row of page) {
      const parsed = decodedOr(() => {
        const { key, stripe } = parseStripe(row.rowKey);
        return { stripe, key: parseKey(key) };
      });
      if (parsed === DAMAGED) strays.push(row.rowKey);
      else rows.push({ ...parsed, row: audited(row, rowFrom) });
    }
  }
  return { rows, strays };
};

const ofStripe = <Key, Value>(
  rows: readonly KeyedRow<Key, Value>[],
  stripe: number,
): ReadonlyMap<Key, Stored<AuditedRow<Value>>> =>
  new Map(rows.filter((row) => row.stripe === stripe).map(({ key, row }) => [key, row]));

/**
 * Reads the counter rows of a shard except its minute rows.
 *
 * @param stripes how many it should have; rows of others are read as well
 * @throws {StorageTrouble}
 */
export const readCounterRows = async (
  table: CounterTable,
  partition: string,
  stripes: number,
): Promise<CounterRows> => {
  const hourRows = await keyedRows(table, partition, ALL_HOURS, parseHourKey, bucketsFrom);
  const cameras = await keyedRows(table, partition, ALL_CAMERAS, parseCameraKey, cameraRowFrom);
  const count = Math.max(stripes, ...[...hourRows.rows, ...cameras.rows].map(({ stripe }) => stripe + 1));
  const found: StripeCounters[] = [];
  for (let stripe = 0; stripe < count; stripe += 1) {
    const hours = await table.get(partition, inStripe(HOURS_KEY, stripe));
    const total = await table.get(partition, inStripe(TOTAL_KEY, stripe));
    found.push({
      stripe,
      total: await readTotal(table, partition, stripe).catch(damageOf),
      activeCameras: total && decodedOr(() => activeCamerasOf(total)),
      hours: hours && audited(hours, bucketsFrom),
      hourRows: ofStripe(hourRows.rows, stripe),
      cameras: ofStripe(cameras.rows, stripe),
    });
  }
  return { stripes: found, strays: [...hourRows.strays, ...cameras.strays] };
};

/** Reads the minute rows of an hour (0 to 23) of a shard. @throws {StorageTrouble} */
export const readMinuteRows = async (table: CounterTable, partition: string, hour: number): Promise<MinuteRows> => {
  const { rows, strays } = await keyedRows(table, partition, minutesOfHour(hour), parseMinuteKey, minuteRowFrom);
  const byStripe = new Map<number, Map<number, Stored<AuditedRow<MinuteRow>>[]>>();
  for (const { stripe, key, row } of rows) {
    const minutes = byStripe.get(stripe) ?? new Map<number, Stored<AuditedRow<MinuteRow>>[]>();
    byStripe.set(stripe, minutes);
    minutes.set(key.minute, [...(minutes.get(key.minute) ?? []), row]);
  }
  return { byStripe, strays };
};

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
