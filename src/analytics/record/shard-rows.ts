import { bucketsFrom, eventsOf, type HourRow, type HoursRow } from '../rows/hour-rows.ts';
import { decodingRow } from '../rows/damaged-row.ts';
import type { EventRow } from '../rows/event-row.ts';
import { cameraKey, hourKey, HOURS_KEY, minuteKey, TOTAL_KEY } from '../rows/keys.ts';
import { minuteRowFrom, type MinuteRow } from '../rows/minute-row.ts';
import type { StoredRow } from '../rows/row.ts';
import type { CounterTable } from '../rows/table.ts';
import { readTotal, type StoredTotal } from '../rows/total-row.ts';
import { hourOfMinute } from '../model/day.ts';
import type { CommitPlan } from './commit-plan.ts';
import type { KeyedMessage } from './keyed-message.ts';
import type { RowCache, RowsOfKind } from './row-cache.ts';
import { RowReads } from './row-reads.ts';
import type { ShardSnapshot, Versioned } from './shard-snapshot.ts';

/** A message, and whether its event's row must be read before anything is written. */
export interface Candidate extends KeyedMessage {
  /** A new frame is inserted without reading first; after a conflict every row is read. */
  readonly readFirst: boolean;
}

/** In place of the ETag of a row that a transaction in flight is about to write. */
export const PENDING = 'pending';

const ALL_DAY: ReadonlySet<number> = new Set(Array.from({ length: 24 }, (_, hour) => hour));

/** The rows of the whole day. */
interface DayRows {
  readonly total: StoredTotal | undefined;
  readonly hours: Versioned<HoursRow> | undefined;
}

/**
 * What one process knows of the rows of one shard of a day: read when needed, kept from the last commit, forgotten after a
 * conflict.
 */
export class ShardRows {
  readonly #table: CounterTable;
  readonly #partition: string;
  readonly #cache: RowCache;
  readonly #onEmpty: () => Promise<void>;
  readonly #reads: RowReads;
  #day: DayRows | undefined;
  /** By hour of the day. */
  readonly #hourRows = new Map<number, Versioned<HourRow>>();

  /** @param onEmpty called before the first event of the shard is written */
  constructor(table: CounterTable, partition: string, cache: RowCache, onEmpty: () => Promise<void>) {
    this.#table = table;
    this.#partition = partition;
    this.#cache = cache;
    this.#onEmpty = onEmpty;
    this.#reads = new RowReads(table, partition);
  }

  /** The event as it was last seen in storage, from memory. */
  committedEvent(key: string): EventRow | undefined {
    const event = this.#cache.events.get(this.#partition, key);
    return event?.etag === PENDING ? undefined : event?.value;
  }

  /**
   * The rows that a plan for these messages needs.
   *
   * @param readAll whether no event is inserted without reading first
   * @throws {StorageTrouble | DamagedRow}
   */
  async snapshot(candidates: readonly Candidate[], readAll = false): Promise<ShardSnapshot> {
    const { total, hours } = await this.#readDay();
    const [hourRows, cameras] = await Promise.all([
      this.#readHourRows(candidates, hours),
      this.#readCameras(candidates, total),
    ]);
    const [minuteRows, events] = await Promise.all([
      this.#readMinuteRows(candidates, hourRows),
      this.#readEvents(candidates, total, readAll),
    ]);
    return { partition: this.#partition, total, hours, hourRows, minuteRows, cameras, events };
  }

  /**
   * Takes over the rows that a transaction writes: with the ETags of its answer, or before the answer, so that the next
   * transaction can be planned meanwhile.
   */
  apply(plan: CommitPlan, snapshot: ShardSnapshot, etagOf: (rowKey: string) => string = () => PENDING): void {
    const listEtags = [...(this.#day?.total?.listEtags ?? [])];
    for (const { rowKey } of plan.writes) {
      const number = /^cameras\|(\d+)$/.exec(rowKey)?.[1];
      if (number !== undefined) listEtags[Number(number) - 1] = etagOf(rowKey);
    }
    this.#day = {
      total: { ...plan.total, etag: etagOf(TOTAL_KEY), listEtags },
      hours: { value: plan.hours, etag: etagOf(HOURS_KEY) },
    };
    for (const [hour, value] of plan.hourRows) this.#hourRows.set(hour, { etag: etagOf(hourKey(hour)), value });
    for (const [minute, value] of plan.minuteRows) {
      this.#cache.minutes.set(this.#partition, minute, { etag: etagOf(minuteKey(minute)), value });
    }
    for (const [cameraId, value] of plan.cameras) {
      // A camera that had no row has only the hours that the plan writes.
      const known = snapshot.cameras.get(cameraId)?.known ?? ALL_DAY;
      this.#cache.cameras.set(this.#partition, cameraId, { etag: etagOf(cameraKey(cameraId)), value, known });
    }
    for (const [key, value] of plan.events) this.#cache.events.set(this.#partition, key, { etag: etagOf(key), value });
  }

  /** Forgets all rows that a failed transaction relied on. */
  forget(candidates: readonly Candidate[]): void {
    this.#day = undefined;
    this.#hourRows.clear();
    for (const { message, eventKey, minute } of candidates) {
      this.#cache.cameras.forget(this.#partition, message.cameraId);
      this.#cache.events.forget(this.#partition, eventKey);
      this.#cache.minutes.forget(this.#partition, minute);
    }
  }

  async #readDay(): Promise<DayRows> {
    if (this.#day === undefined) {
      const [total, hours] = await Promise.all([
        readTotal(this.#table, this.#partition),
        this.#readRow(HOURS_KEY, bucketsFrom),
      ]);
      if (total === undefined) await this.#onEmpty();
      this.#day = { total, hours };
    }
    return this.#day;
  }

  async #readHourRows(
    candidates: readonly Candidate[],
    hours: Versioned<HoursRow> | undefined,
  ): Promise<ShardSnapshot['hourRows']> {
    // An hour that has no events has no row of its own: both are written together.
    const wanted = new Set(candidates.map(({ hour }) => hour).filter((hour) => hours?.value.has(hour)));
    const missing = [...wanted].filter((hour) => !this.#hourRows.has(hour));
    await this.#reads.each(missing, async (hour) => {
      const row = await this.#readRow(hourKey(hour), bucketsFrom);
      if (row !== undefined) this.#hourRows.set(hour, row);
    });
    return new Map([...this.#hourRows].filter(([hour]) => wanted.has(hour)));
  }

  async #readMinuteRows(
    candidates: readonly Candidate[],
    hourRows: ShardSnapshot['hourRows'],
  ): Promise<ShardSnapshot['minuteRows']> {
    const found = new Map<number, Versioned<MinuteRow>>();
    // A minute that has no events has no row of its own: both are written together.
    const wanted = new Set(candidates.map(({ minute }) => minute));
    const stored = [...wanted].filter((minute) => hourRows.get(hourOfMinute(minute))?.value.has(minute % 60));
    const missing = stored.filter((minute) => this.#cache.minutes.get(this.#partition, minute) === undefined);
    await this.#reads.each(missing, async (minute) => {
      const row = await this.#readRow(minuteKey(minute), minuteRowFrom);
      if (row !== undefined) found.set(minute, row);
    });
    return this.#collect(stored, found, this.#cache.minutes);
  }

  async #readCameras(
    candidates: readonly Candidate[],
    total: StoredTotal | undefined,
  ): Promise<ShardSnapshot['cameras']> {
    const wanted = new Map<string, Set<number>>();
    for (const { message, hour } of candidates) {
      // A camera that the total does not list has no row: both are written together.
      if (total?.cameras.indexes.has(message.cameraId) !== true) continue;
      wanted.set(message.cameraId, (wanted.get(message.cameraId) ?? new Set()).add(hour));
    }
    const missing = new Map<string, ReadonlySet<number>>();
    for (const [cameraId, hours] of wanted) {
      const known = this.#cache.cameras.get(this.#partition, cameraId)?.known ?? new Set();
      if (hours.isSubsetOf(known)) continue;
      missing.set(cameraId, hours.union(known));
      // A row that is not found now must not be taken from memory, which lacks the wanted hours.
      this.#cache.cameras.forget(this.#partition, cameraId);
    }
    const found = await this.#reads.cameras(missing, total?.cameras.ids.length ?? 0);
    return this.#collect(wanted.keys(), found, this.#cache.cameras);
  }

  async #readEvents(
    candidates: readonly Candidate[],
    total: StoredTotal | undefined,
    readAll: boolean,
  ): Promise<ShardSnapshot['events']> {
    const missing = new Map<number, Set<string>>();
    for (const { message, eventKey, minute, readFirst } of candidates) {
      // A camera that the total does not list has no events.
      if (!(readFirst || readAll) || total?.cameras.indexes.has(message.cameraId) !== true) continue;
      if (this.#cache.events.get(this.#partition, eventKey) !== undefined) continue;
      missing.set(minute, (missing.get(minute) ?? new Set()).add(eventKey));
    }
    const found = await this.#reads.events(missing, (minute) => this.#eventsIn(minute));
    const keys = candidates.map(({ eventKey }) => eventKey);
    return this.#collect(keys, found, this.#cache.events);
  }

  /** The rows that were found in storage, and others from memory; keeps all of them there. */
  #collect<Key extends string | number, Row extends object>(
    keys: Iterable<Key>,
    found: ReadonlyMap<Key, Row>,
    memory: RowsOfKind<Key, Row>,
  ): ReadonlyMap<Key, Row> {
    const rows = new Map<Key, Row>();
    for (const key of keys) {
      const row = found.get(key) ?? memory.get(this.#partition, key);
      if (row === undefined) continue;
      memory.set(this.#partition, key, row);
      rows.set(key, row);
    }
    return rows;
  }

  /** How many events a minute has, from its hour's row. */
  #eventsIn(minute: number): number {
    const hour = hourOfMinute(minute);
    const bucket = this.#hourRows.get(hour)?.value.get(minute % 60);
    if (bucket === undefined) return 0;
    return decodingRow({ partitionKey: this.#partition, rowKey: hourKey(hour) }, () => eventsOf(bucket));
  }

  async #readRow<Row>(rowKey: string, rowFrom: (row: StoredRow) => Row): Promise<Versioned<Row> | undefined> {
    const row = await this.#table.get(this.#partition, rowKey);
    return row && { etag: row.etag, value: rowFrom(row) };
  }
}
