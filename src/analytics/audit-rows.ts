import { DAMAGED, readable, type Stored } from './audit-findings.ts';
import { contributionOf } from './camera-event.ts';
import { cameraDayFrom, type CameraDay } from './camera-row.ts';
import { dayOf, minuteOfDay, type Day } from './day.ts';
import { eventFromRow } from './event-row.ts';
import { shardHourFrom, type ShardHour } from './hour-row.ts';
import { ALL_CAMERAS, ALL_EVENTS, ALL_HOURS, parseCameraKey, parseEventKey, TOTAL_KEY } from './keys.ts';
import type { CounterTable, StoredRow } from './table.ts';
import type { Tally } from './tally.ts';
import { readTotal, type StoredTotal } from './total-row.ts';

/** The counter rows of a shard, as they are; minutes are still in their compact form. */
export interface CounterRows {
  readonly total: Stored<StoredTotal>;
  /** How many active cameras the `total` row says there are. */
  readonly activeCameras: unknown;
  readonly hours: ReadonlyMap<number, Stored<ShardHour>>;
  readonly cameras: ReadonlyMap<string, Stored<CameraDay>>;
  /** Keys of rows among them that are no such row's. */
  readonly strays: readonly string[];
}

/** An event row: what it counts, or why it cannot be counted. */
export type AuditedEvent =
  { readonly cameraId: string; readonly minute: number; readonly contribution: Tally } | { readonly damaged: string };

/** The version of a shard: every commit writes its `total` row. */
export const versionOf = async (table: CounterTable, partition: string): Promise<string | undefined> =>
  (await table.get(partition, TOTAL_KEY, ['hours']))?.etag;

const storedTotal = async (table: CounterTable, partition: string): Promise<Stored<StoredTotal>> => {
  try {
    return await readTotal(table, partition);
  } catch (error) {
    // Of what the table throws nothing is one of these.
    if (error instanceof TypeError || error instanceof SyntaxError) return DAMAGED;
    throw error;
  }
};

/**
 * Reads the counter rows of a shard.
 *
 * @throws {StorageTrouble} where a part of them could not be read
 */
export const readCounterRows = async (table: CounterTable, partition: string): Promise<CounterRows> => {
  const total = await storedTotal(table, partition);
  const activeCameras = (await table.get(partition, TOTAL_KEY, ['active_cameras']))?.properties['active_cameras'];
  const hours = new Map<number, Stored<ShardHour>>();
  const cameras = new Map<string, Stored<CameraDay>>();
  const strays: string[] = [];
  for await (const page of table.pages(partition, ALL_HOURS)) {
    for (const { rowKey, properties } of page) {
      const hour = /^hour\|([01]\d|2[0-3])$/.exec(rowKey)?.[1];
      if (hour === undefined) strays.push(rowKey);
      else
        hours.set(
          Number(hour),
          readable(() => shardHourFrom(properties)),
        );
    }
  }
  for await (const page of table.pages(partition, ALL_CAMERAS)) {
    for (const { rowKey, properties } of page) {
      const cameraId = readable(() => parseCameraKey(rowKey));
      if (cameraId === DAMAGED) strays.push(rowKey);
      else
        cameras.set(
          cameraId,
          readable(() => cameraDayFrom(properties)),
        );
    }
  }
  return { total, activeCameras, hours, cameras, strays };
};

const auditedEvent = (day: Day, row: StoredRow): AuditedEvent => {
  const { cameraId, minute } = parseEventKey(row.rowKey);
  const { ts, facets } = eventFromRow(row);
  if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) return { damaged: 'its ts_utc is not in the minute of its key' };
  return { cameraId, minute, contribution: contributionOf(facets) };
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
