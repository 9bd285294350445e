import pLimit from 'p-limit';

import { bucketsFrom, eventsOf, type Buckets } from '../rows/bucket-row.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { cameraDayFrom, cameraProperties } from '../rows/camera-row.ts';
import type { CommitPlan } from './commit-plan.ts';
import { hourOfMinute, minuteOfDay } from '../model/day.ts';
import { eventFromRow } from '../rows/event-row.ts';
import { cameraKey, hourKey, HOURS_KEY, minuteKey, parseCameraKey, TOTAL_KEY, type KeyRange } from '../rows/keys.ts';
import { momentsFrom, type Moments } from '../rows/minute-row.ts';
import type { RowCache } from './row-cache.ts';
import type { KnownCamera, KnownEvent, ShardView, Versioned } from './shard-snapshot.ts';
import type { CounterTable, StoredRow } from '../rows/table.ts';
import { readTotal, type StoredTotal } from '../rows/total-row.ts';

/** A message, and whether its event's row must be read before anything is written. */
export interface Candidate {
  readonly message: EventMessage;
  readonly key: string;
  /** A frame that was never seen is inserted without looking; after a conflict nothing is taken for granted. */
  readonly readFirst: boolean;
}

/** In place of the ETag of a row that a transaction under way is about to write. */
export const PENDING = 'pending';

const PARALLEL_READS = 16;
// From this many keys close together one range is cheaper than a read for each.
const KEYS_FOR_RANGE = 3;
const CAMERAS_A_KEY_FOR_RANGE = 8;
const ROWS_A_KEY_FOR_RANGE = 20;

const hourOf = ({ ts }: EventMessage): number => hourOfMinute(minuteOfDay(ts));

const bucketsOf = ({ etag, properties }: StoredRow): Versioned<Buckets> => ({ etag, value: bucketsFrom(properties) });

const rangeOver = (keys: readonly string[]): KeyRange => {
  const sorted = [...keys].sort();
  return { from: sorted[0] ?? '', before: `${sorted.at(-1) ?? ''}\u0000` };
};

/**
 * What one process knows of the rows of one shard of a day: read when needed, kept from the last commit, dropped after a
 * conflict.
 */
export class ShardRows {
  readonly #table: CounterTable;
  readonly #partition: string;
  readonly #cache: RowCache;
  readonly #onEmpty: () => Promise<void>;
  #day: DayRows | undefined;
  /** By hour. */
  readonly #minutes = new Map<number, Versioned<Buckets>>();

  /** @param onEmpty called before the first event of the shard is written */
  constructor(table: CounterTable, partition: string, cache: RowCache, onEmpty: () => Promise<void>) {
    this.#table = table;
    this.#partition = partition;
    this.#cache = cache;
    this.#onEmpty = onEmpty;
  }

  /** The event as it was last seen in storage, from memory. */
  committedEvent(key: string): KnownEvent | undefined {
    const event = this.#cache.events.get(this.#partition, key);
    return event?.etag === PENDING ? undefined : event?.value;
  }

  /**
   * All that a plan for these messages needs.
   *
   * @throws {StorageTrouble} where storage does not answer
   */
  async view(candidates: readonly Candidate[]): Promise<ShardView> {
    const { total, hours } = await this.#readDay();
    const limit = pLimit(PARALLEL_READS);
    const [minutes, cameras] = await Promise.all([
      this.#readMinutes(candidates, hours, limit),
      this.#readCameras(candidates, total, limit),
    ]);
    const [moments, events] = await Promise.all([
      this.#readMoments(candidates, minutes, limit),
      this.#readEvents(candidates, total, limit),
    ]);
    return { total, hours, minutes, moments, cameras, events };
  }

  /**
   * Takes over what a transaction writes: with the ETags it answered, or ahead of its answer, so that the next one can be
   * planned meanwhile.
   */
  adopt(plan: CommitPlan, view: ShardView, etagOf: (rowKey: string) => string = () => PENDING): void {
    const listEtags = [...(this.#day?.total?.listEtags ?? [])];
    for (const { rowKey } of plan.writes) {
      const part = /^cameras\|(\d+)$/.exec(rowKey)?.[1];
      if (part !== undefined) listEtags[Number(part) - 1] = etagOf(rowKey);
    }
    this.#day = {
      total: { ...plan.total, etag: etagOf(TOTAL_KEY), listEtags },
      hours: { value: plan.hours, etag: etagOf(HOURS_KEY) },
    };
    for (const [hour, value] of plan.minutes) this.#minutes.set(hour, { etag: etagOf(hourKey(hour)), value });
    for (const [minute, value] of plan.moments) {
      this.#cache.moments.set(this.#partition, minute, { etag: etagOf(minuteKey(minute)), value });
    }
    for (const [cameraId, value] of plan.cameras) {
      // A camera that had no row has no hours but those that the plan writes.
      const known = view.cameras.get(cameraId)?.known ?? ALL_DAY;
      this.#cache.cameras.set(this.#partition, cameraId, { etag: etagOf(cameraKey(cameraId)), value, known });
    }
    for (const [key, value] of plan.events) this.#cache.events.set(this.#partition, key, { etag: etagOf(key), value });
  }

  /** Forgets all that a failed transaction took for granted. */
  forget(candidates: readonly Candidate[]): void {
    this.#day = undefined;
    this.#minutes.clear();
    for (const { message, key } of candidates) {
      this.#cache.cameras.forget(this.#partition, message.cameraId);
      this.#cache.events.forget(this.#partition, key);
      this.#cache.moments.forget(this.#partition, minuteOfDay(message.ts));
    }
  }

  async #readDay(): Promise<DayRows> {
    if (this.#day === undefined) {
      const [total, hours] = await Promise.all([
        readTotal(this.#table, this.#partition),
        this.#table.get(this.#partition, HOURS_KEY),
      ]);
      if (total === undefined) await this.#onEmpty();
      this.#day = { total, hours: hours && bucketsOf(hours) };
    }
    return this.#day;
  }

  async #readMinutes(
    candidates: readonly Candidate[],
    hours: Versioned<Buckets> | undefined,
    limit: Limit,
  ): Promise<ShardView['minutes']> {
    // An hour that has no events has no row of minutes: they are written together.
    const wanted = new Set(candidates.map(({ message }) => hourOf(message)).filter((hour) => hours?.value.has(hour)));
    const missing = [...wanted].filter((hour) => !this.#minutes.has(hour));
    await limit.map(missing, async (hour) => {
      const row = await this.#table.get(this.#partition, hourKey(hour));
      if (row !== undefined) this.#minutes.set(hour, bucketsOf(row));
    });
    return new Map([...this.#minutes].filter(([hour]) => wanted.has(hour)));
  }

  async #readMoments(
    candidates: readonly Candidate[],
    minutes: ShardView['minutes'],
    limit: Limit,
  ): Promise<ShardView['moments']> {
    const view = new Map<number, Versioned<Moments>>();
    // A minute that has no events has no row of moments: they are written together.
    const wanted = new Set(candidates.map(({ message }) => minuteOfDay(message.ts)));
    const stored = [...wanted].filter((minute) => minutes.get(hourOfMinute(minute))?.value.has(minute % 60));
    await limit.map(stored, async (minute) => {
      let moments = this.#cache.moments.get(this.#partition, minute);
      if (moments === undefined) {
        const row = await this.#table.get(this.#partition, minuteKey(minute));
        if (row === undefined) return;
        moments = { etag: row.etag, value: momentsFrom(row.properties) };
        this.#cache.moments.set(this.#partition, minute, moments);
      }
      view.set(minute, moments);
    });
    return view;
  }

  async #readCameras(
    candidates: readonly Candidate[],
    total: StoredTotal | undefined,
    limit: Limit,
  ): Promise<ShardView['cameras']> {
    const wanted = new Map<string, Set<number>>();
    for (const { message } of candidates) {
      // A camera that the total does not list has no row: they are written together.
      if (total?.cameras.places.has(message.cameraId) !== true) continue;
      wanted.set(message.cameraId, (wanted.get(message.cameraId) ?? new Set()).add(hourOf(message)));
    }
    const missing = [...wanted].filter(([cameraId, hours]) => {
      const cached = this.#cache.cameras.get(this.#partition, cameraId);
      return cached === undefined || ![...hours].every((hour) => cached.known.has(hour));
    });
    const found = new Map<string, KnownCamera>();
    const ids = missing.map(([cameraId]) => cameraId);
    const asked = new Set(ids);
    const camerasInAll = total?.cameras.ids.length ?? 0;
    if (ids.length >= KEYS_FOR_RANGE && camerasInAll <= CAMERAS_A_KEY_FOR_RANGE * ids.length) {
      const known = new Set(missing.flatMap(([, hours]) => [...hours]));
      const select = cameraProperties(known, known);
      for (const row of await this.#table.all(this.#partition, rangeOver(ids.map(cameraKey)), { select })) {
        const cameraId = parseCameraKey(row.rowKey);
        // The range also has cameras that are known already, perhaps with hours that were not read now.
        if (asked.has(cameraId)) found.set(cameraId, { etag: row.etag, value: cameraDayFrom(row.properties), known });
      }
    } else {
      await limit.map(missing, async ([cameraId, hours]) => {
        const known = new Set([...hours, ...(this.#cache.cameras.get(this.#partition, cameraId)?.known ?? [])]);
        const row = await this.#table.get(this.#partition, cameraKey(cameraId), cameraProperties(known, known));
        if (row !== undefined) found.set(cameraId, { etag: row.etag, value: cameraDayFrom(row.properties), known });
      });
    }
    const view = new Map<string, KnownCamera>();
    for (const cameraId of wanted.keys()) {
      // One that was looked for and not found is not taken from memory: what is known of it lacks the hours that are wanted.
      const camera = asked.has(cameraId) ? found.get(cameraId) : this.#cache.cameras.get(this.#partition, cameraId);
      if (camera === undefined) continue;
      this.#cache.cameras.set(this.#partition, cameraId, camera);
      view.set(cameraId, camera);
    }
    return view;
  }

  async #readEvents(
    candidates: readonly Candidate[],
    total: StoredTotal | undefined,
    limit: Limit,
  ): Promise<ShardView['events']> {
    const minutes = new Map<number, Set<string>>();
    for (const { message, key, readFirst } of candidates) {
      if (!readFirst || total?.cameras.places.has(message.cameraId) !== true) continue;
      if (this.#cache.events.get(this.#partition, key) !== undefined) continue;
      const minute = minuteOfDay(message.ts);
      minutes.set(minute, (minutes.get(minute) ?? new Set()).add(key));
    }
    const found = new Map<string, Versioned<KnownEvent>>();
    const keep = (row: StoredRow): void => void found.set(row.rowKey, { etag: row.etag, value: eventFromRow(row) });
    const one = async (key: string): Promise<void> => {
      const row = await this.#table.get(this.#partition, key);
      if (row !== undefined) keep(row);
    };
    const ranges: ReadonlySet<string>[] = [];
    const singles: string[] = [];
    for (const [minute, keys] of minutes) {
      if (this.#isCheapRange(minute, keys.size)) ranges.push(keys);
      else singles.push(...keys);
    }
    await Promise.all([
      limit.map(ranges, async (keys) => {
        for (const row of await this.#table.all(this.#partition, rangeOver([...keys]))) {
          if (keys.has(row.rowKey)) keep(row);
        }
      }),
      limit.map(singles, one),
    ]);
    const view = new Map<string, Versioned<KnownEvent>>();
    for (const { key } of candidates) {
      const event = found.get(key) ?? this.#cache.events.get(this.#partition, key);
      if (event === undefined) continue;
      this.#cache.events.set(this.#partition, key, event);
      view.set(key, event);
    }
    return view;
  }

  /** Whether a range over a minute's events costs less than a read for each key; the hour's row knows how many there are. */
  #isCheapRange(minute: number, keys: number): boolean {
    const ofMinute = this.#minutes.get(hourOfMinute(minute))?.value.get(minute % 60);
    const rows = ofMinute === undefined ? 0 : eventsOf(ofMinute);
    return keys >= KEYS_FOR_RANGE && rows <= ROWS_A_KEY_FOR_RANGE * keys;
  }
}

/** The rows of the whole day. */
interface DayRows {
  readonly total: StoredTotal | undefined;
  readonly hours: Versioned<Buckets> | undefined;
}

type Limit = ReturnType<typeof pLimit>;

const ALL_DAY: ReadonlySet<number> = new Set(Array.from({ length: 24 }, (_, hour) => hour));
