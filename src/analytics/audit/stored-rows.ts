import { setTimeout } from 'node:timers/promises';

import { contributionOf } from '../model/camera-event.ts';
import { dayOf, microsecondOfMinute, minuteOfDay, type Day } from '../model/day.ts';
import type { Tally } from '../model/tally.ts';
import { cameraRowFrom, type CameraRow } from '../rows/camera-row.ts';
import { COMMIT_NUMBER, commitNumberOf } from '../rows/commit-number.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { readFence, type Fence } from '../rows/fence-row.ts';
import { bucketsFrom, type HoursRow } from '../rows/hour-rows.ts';
import {
  ALL_CAMERAS,
  cameraKey,
  HOURS_AND_HOUR_ROWS,
  HOURS_KEY,
  parseCameraKey,
  parseEventKey,
  parseHourKey,
  parseMinuteKey,
  TOTAL_KEY,
  type KeyRange,
} from '../rows/keys.ts';
import { minuteRowFrom, type MinuteRow } from '../rows/minute-row.ts';
import type { StoredRow } from '../rows/row.ts';
import { inStripe, parseStripe, stripesOf } from '../rows/stripe-keys.ts';
import { readStripes } from '../rows/stripe-reads.ts';
import type { CounterTable } from '../rows/table.ts';
import { readTotal, totalFrom, type StoredTotal } from '../rows/total-row.ts';
import { DAMAGED, damageOf, decodedOr, type Stored } from './findings.ts';

/** A counter row: its number of the latest commit, and its value, of which what it keeps in bytes is not decoded yet. */
export interface AuditedRow<Value> {
  readonly commit: number;
  readonly value: Value;
}

/** The rows of one stripe of a shard that are not about single minutes or cameras. */
export interface StripeTop {
  readonly stripe: number;
  readonly total: Stored<StoredTotal>;
  readonly hours: Stored<AuditedRow<HoursRow>>;
  /** By hour of the day. */
  readonly hourRows: ReadonlyMap<number, Stored<AuditedRow<HoursRow>>>;
}

/** What was read together of a shard. */
export interface ShardTop {
  /** By their numbers. */
  readonly stripes: readonly StripeTop[];
  /** The fence; undefined: the shard has none. */
  readonly fence: Stored<Fence>;
  /** Keys in the same ranges that the service never writes. */
  readonly strays: readonly string[];
}

/** The minute rows of a shard or of a part of it. Each minute has up to two rows a stripe. */
export interface MinuteRows {
  /** By minute of the day. */
  readonly byMinute: ReadonlyMap<number, readonly KeyedRow<MinuteKey, MinuteRow>[]>;
  readonly strays: readonly string[];
}

/** What the key of a minute row says. */
interface MinuteKey {
  readonly minute: number;
  readonly second: number;
}

/** The camera rows of a shard, by camera id and stripe. */
export interface CameraRows {
  readonly byCamera: ReadonlyMap<string, ReadonlyMap<number, Stored<AuditedRow<CameraRow>>>>;
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

/** A row as an audit needs it. */
export const audited = <Value>(row: StoredRow, rowFrom: (row: StoredRow) => Value): Stored<AuditedRow<Value>> =>
  decodedOr(() => ({ commit: commitNumberOf(row), value: rowFrom(row) }));

/** A row of a key range. */
export interface KeyedRow<Key, Value> {
  readonly rowKey: string;
  readonly etag: string;
  readonly stripe: number;
  readonly key: Key;
  readonly row: Stored<AuditedRow<Value>>;
}

/** Rows by their parsed keys, and the keys that cannot be parsed. */
const keyed = <Key, Value>(
  stored: readonly StoredRow[],
  parseKey: (rowKey: string) => Key,
  rowFrom: (row: StoredRow) => Value,
): { readonly rows: readonly KeyedRow<Key, Value>[]; readonly strays: readonly string[] } => {
  const rows: KeyedRow<Key, Value>[] = [];
  const strays: string[] = [];
  for (const row of stored) {
    const parsed = decodedOr(() => {
      const { key, stripe } = parseStripe(row.rowKey);
      return { stripe, key: parseKey(key) };
    });
    if (parsed === DAMAGED) strays.push(row.rowKey);
    else rows.push({ ...parsed, rowKey: row.rowKey, etag: row.etag, row: audited(row, rowFrom) });
  }
  return { rows, strays };
};

/** Where a row of the range of {@link HOURS_AND_HOUR_ROWS} stands: the hour of the day, or `hours`. */
const parseHoursOrHourKey = (key: string): number | 'hours' => (key === HOURS_KEY ? 'hours' : parseHourKey(key));

const TOP_TRIES = 40;
const MOST_PAUSE_MS = 40;

/** Pauses for a random time, so that the tries of a reader do not keep step with a writer. */
export const pause = async (): Promise<void> => setTimeout(Math.random() * MOST_PAUSE_MS);

const versionsOf = (rows: readonly StoredRow[]): string =>
  rows.map(({ rowKey, etag }) => `${rowKey} ${etag}`).join('\n');

/**
 * Reads the totals, the fence, the hours and the hour rows of a shard as they were at one moment: every commit changes a total.
 *
 * @returns undefined where a total changed during every try
 * @throws {StorageTrouble}
 */
export const readTop = async (table: CounterTable, partition: string): Promise<ShardTop | undefined> => {
  for (let tries = 1; tries <= TOP_TRIES; tries += 1) {
    const totals = await table.all(partition, stripesOf(TOTAL_KEY));
    const fence = await readFence(table, partition).catch(damageOf);
    const rows = await table.all(partition, HOURS_AND_HOUR_ROWS);
    const after = await table.all(partition, stripesOf(TOTAL_KEY), { select: [] });
    if (versionsOf(totals) === versionsOf(after)) return topOf(table, totals, fence, rows);
    await pause();
  }
  return undefined;
};

const topOf = async (
  table: CounterTable,
  totals: readonly StoredRow[],
  fence: Stored<Fence>,
  hours: readonly StoredRow[],
): Promise<ShardTop> => {
  const ofHours = keyed(hours, parseHoursOrHourKey, bucketsFrom);
  const ofTotals = keyed(
    totals,
    () => undefined,
    (row) => row,
  );
  const numbers = new Set([...ofTotals.rows, ...ofHours.rows].map(({ stripe }) => stripe));
  const stripes: StripeTop[] = [];
  for (const stripe of [...numbers].sort((left, right) => left - right)) {
    const rows = ofHours.rows.filter((row) => row.stripe === stripe);
    const total = totals.find(({ rowKey }) => rowKey === inStripe(TOTAL_KEY, stripe));
    stripes.push({
      stripe,
      total: total && (await totalFrom(table, total, stripe, undefined).catch(damageOf)),
      hours: rows.find(({ key }) => key === 'hours')?.row,
      hourRows: new Map(rows.flatMap(({ key, row }) => (key === 'hours' ? [] : [[key, row] as const]))),
    });
  }
  return { stripes, fence, strays: [...ofTotals.strays, ...ofHours.strays] };
};

/** Reads the totals of some stripes, each as of one moment. @throws {StorageTrouble} */
export const readTotals = async (
  table: CounterTable,
  partition: string,
  stripes: Iterable<number>,
): Promise<ReadonlyMap<number, Stored<StoredTotal>>> =>
  new Map(
    await Promise.all(
      Array.from(
        stripes,
        async (stripe) => [stripe, await readTotal(table, partition, stripe).catch(damageOf)] as const,
      ),
    ),
  );

/**
 * Reads the camera rows of a shard, those of one camera as they were at one moment.
 *
 * @param select the properties to read; all by default
 * @throws {StorageTrouble}
 */
export const readCameras = async (
  table: CounterTable,
  partition: string,
  select?: readonly string[],
): Promise<CameraRows> => {
  const byCamera = new Map<string, Map<number, Stored<AuditedRow<CameraRow>>>>();
  const strays: string[] = [];
  const split = new Set<string>();
  const options = select && { select: [...select, COMMIT_NUMBER] };
  for await (const page of table.pages(partition, ALL_CAMERAS, options)) {
    const found = keyed(page, parseCameraKey, cameraRowFrom);
    strays.push(...found.strays);
    const before = new Set(byCamera.keys());
    for (const { key, stripe, row } of found.rows) {
      if (before.has(key)) split.add(key);
      byCamera.set(key, (byCamera.get(key) ?? new Map<number, Stored<AuditedRow<CameraRow>>>()).set(stripe, row));
    }
  }
  // The rows of these cameras were on two pages.
  for (const cameraId of split) {
    const rows = await readStripes(table, partition, cameraKey(cameraId), options?.select);
    byCamera.set(cameraId, new Map(Array.from(rows, ([stripe, row]) => [stripe, audited(row, cameraRowFrom)])));
  }
  return { byCamera, strays };
};

/** Reads the minute rows of a key range. @throws {StorageTrouble} */
export const readMinuteRows = async (table: CounterTable, partition: string, range: KeyRange): Promise<MinuteRows> => {
  const { rows, strays } = keyed(await table.all(partition, range), parseMinuteKey, minuteRowFrom);
  return { byMinute: Map.groupBy(rows, ({ key }) => key.minute), strays };
};

/** The versions of the minute rows of a key range, by minute of the day: every change of an event changes one. @throws {StorageTrouble} */
export const readMinuteVersions = async (
  table: CounterTable,
  partition: string,
  range: KeyRange,
): Promise<ReadonlyMap<number, string>> => {
  const { rows } = keyed(await table.all(partition, range, { select: [] }), parseMinuteKey, () => undefined);
  return versionsByMinute(rows);
};

/** The versions of minute rows, by minute of the day. */
export const versionsByMinute = (rows: readonly KeyedRow<MinuteKey, unknown>[]): ReadonlyMap<number, string> =>
  new Map(
    Array.from(
      Map.groupBy(rows, ({ key }) => key.minute),
      ([minute, own]) => [minute, own.map(({ rowKey, etag }) => `${rowKey} ${etag}`).join('\n')],
    ),
  );

const auditedEvent = (day: Day, row: StoredRow): AuditedEvent => {
  const { cameraId, minute } = parseEventKey(row.rowKey);
  const { ts, facets } = eventRowFrom(row);
  if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) return { damaged: 'its ts_utc is not in the minute of its key' };
  return { cameraId, minute, microsecond: microsecondOfMinute(ts), contribution: contributionOf(facets) };
};

/** Reads the event rows of a key range in the order of their minutes. @throws {StorageTrouble} */
export async function* readEvents(
  table: CounterTable,
  partition: string,
  day: Day,
  range: KeyRange,
): AsyncGenerator<AuditedEvent & { readonly rowKey: string }> {
  for await (const page of table.pages(partition, range)) {
    for (const row of page) {
      const event = decodedOr(() => auditedEvent(day, row));
      yield { rowKey: row.rowKey, ...(event === DAMAGED ? { damaged: DAMAGED } : event) };
    }
  }
}
