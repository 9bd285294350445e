import pLimit from 'p-limit';

import type { EventMessage } from './camera-event.ts';
import { cameraDayFrom, cameraProperties } from './camera-row.ts';
import type { CommitPlan, KnownEvent, ShardView, Versioned } from './commit-plan.ts';
import { minuteOfDay } from './day.ts';
import { eventFromRow } from './event-row.ts';
import { shardHourFrom, type ShardHour } from './hour-row.ts';
import { cameraKey, eventsOfMinute, hourKey, parseCameraKey, type KeyRange } from './keys.ts';
import type { KnownCamera, RowCache } from './row-cache.ts';
import type { CounterTable } from './table.ts';
import { readTotal, type StoredTotal } from './total-row.ts';

/** A message, and whether its event's row must be read before anything is written. */
export interface Candidate {
  readonly message: EventMessage;
  readonly key: string;
  /** A frame that was never seen is inserted without looking; after a conflict nothing is taken for granted. */
  readonly readFirst: boolean;
}

const PARALLEL_READS = 16;
// From this many keys close together one range is cheaper than a read for each.
const KEYS_FOR_RANGE = 3;
const CAMERAS_A_KEY_FOR_RANGE = 8;

const hourOf = ({ ts }: EventMessage): number => Math.floor(minuteOfDay(ts) / 60);

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
  #total: { readonly stored: StoredTotal | undefined } | undefined;
  readonly #hours = new Map<number, Versioned<ShardHour>>();

  /** @param onEmpty called before the first event of the shard is written */
  constructor(table: CounterTable, partition: string, cache: RowCache, onEmpty: () => Promise<void>) {
    this.#table = table;
    this.#partition = partition;
    this.#cache = cache;
    this.#onEmpty = onEmpty;
  }

  /** The event as last seen, from memory. */
  knownEvent(key: string): ReturnType<RowCache['event']> {
    return this.#cache.event(this.#partition, key);
  }

  /**
   * All that a plan for these messages needs.
   *
   * @throws {StorageTrouble} where storage does not answer
   */
  async view(candidates: readonly Candidate[]): Promise<ShardView> {
    const total = await this.#readTotal();
    const limit = pLimit(PARALLEL_READS);
    const [hours, cameras, events] = await Promise.all([
      this.#readHours(candidates, total, limit),
      this.#readCameras(candidates, total, limit),
      this.#readEvents(candidates, total, limit),
    ]);
    return { total, hours, cameras, events };
  }

  /** Takes over what a transaction wrote, with the ETags it answered. */
  adopt(plan: CommitPlan, etags: readonly string[], view: ShardView): void {
    const etagOf = new Map(plan.writes.map((write, at) => [write.rowKey, etags[at] ?? '']));
    const etag = (rowKey: string): string => etagOf.get(rowKey) ?? '';
    const listEtags = [...(view.total?.listEtags ?? [])];
    for (const write of plan.writes) {
      const part = /^cameras\|(\d+)$/.exec(write.rowKey)?.[1];
      if (part !== undefined) listEtags[Number(part) - 1] = etag(write.rowKey);
    }
    this.#total = { stored: { ...plan.total, etag: etag('total'), listEtags } };
    for (const [hour, value] of plan.hours) this.#hours.set(hour, { etag: etag(hourKey(hour)), value });
    for (const [cameraId, day] of plan.cameras) {
      const known = view.cameras.has(cameraId) ? this.#cache.camera(this.#partition, cameraId)?.known : ALL_DAY;
      if (known !== undefined) {
        this.#cache.setCamera(this.#partition, cameraId, { etag: etag(cameraKey(cameraId)), day, known });
      }
    }
    for (const [key, event] of plan.events) this.#cache.setEvent(this.#partition, key, { ...event, etag: etag(key) });
  }

  /** Forgets all that a failed transaction took for granted. */
  forget(candidates: readonly Candidate[]): void {
    this.#total = undefined;
    this.#hours.clear();
    for (const { message, key } of candidates) {
      this.#cache.forgetCamera(this.#partition, message.cameraId);
      this.#cache.forgetEvent(this.#partition, key);
    }
  }

  async #readTotal(): Promise<StoredTotal | undefined> {
    if (this.#total === undefined) {
      const stored = await readTotal(this.#table, this.#partition);
      if (stored === undefined) await this.#onEmpty();
      this.#total = { stored };
    }
    return this.#total.stored;
  }

  async #readHours(
    candidates: readonly Candidate[],
    total: StoredTotal | undefined,
    limit: Limit,
  ): Promise<ReadonlyMap<number, Versioned<ShardHour>>> {
    // The total says which hours have a row: it is written together with them.
    const stored = new Set(candidates.map(({ message }) => hourOf(message)));
    const missing = [...stored].filter((hour) => ((total?.hours ?? 0) & (1 << hour)) !== 0 && !this.#hours.has(hour));
    await limit.map(missing, async (hour) => {
      const row = await this.#table.get(this.#partition, hourKey(hour));
      if (row !== undefined) this.#hours.set(hour, { etag: row.etag, value: shardHourFrom(row.properties) });
    });
    return new Map([...this.#hours].filter(([hour]) => stored.has(hour)));
  }

  async #readCameras(
    candidates: readonly Candidate[],
    total: StoredTotal | undefined,
    limit: Limit,
  ): Promise<ReadonlyMap<string, Versioned<KnownCamera['day']>>> {
    const wanted = new Map<string, Set<number>>();
    for (const { message } of candidates) {
      // A camera that the total does not list has no row: they are written together.
      if (total?.cameras.places.has(message.cameraId) !== true) continue;
      wanted.set(message.cameraId, (wanted.get(message.cameraId) ?? new Set()).add(hourOf(message)));
    }
    const missing = [...wanted].filter(([cameraId, hours]) => {
      const cached = this.#cache.camera(this.#partition, cameraId);
      return cached === undefined || ![...hours].every((hour) => cached.known.has(hour));
    });
    const found = new Map<string, KnownCamera>();
    const ids = missing.map(([cameraId]) => cameraId);
    const camerasInAll = total?.cameras.ids.length ?? 0;
    if (ids.length >= KEYS_FOR_RANGE && camerasInAll <= CAMERAS_A_KEY_FOR_RANGE * ids.length) {
      const asked = new Set(ids);
      const known = new Set(missing.flatMap(([, hours]) => [...hours]));
      const select = cameraProperties(known, known);
      for (const row of await this.#table.all(this.#partition, rangeOver(ids.map(cameraKey)), { select })) {
        const cameraId = parseCameraKey(row.rowKey);
        // The range also has cameras that are known already, perhaps with hours that were not read now.
        if (asked.has(cameraId)) found.set(cameraId, { etag: row.etag, day: cameraDayFrom(row.properties), known });
      }
    } else {
      await limit.map(missing, async ([cameraId, hours]) => {
        const known = new Set([...hours, ...(this.#cache.camera(this.#partition, cameraId)?.known ?? [])]);
        const row = await this.#table.get(this.#partition, cameraKey(cameraId), cameraProperties(known, known));
        if (row !== undefined) found.set(cameraId, { etag: row.etag, day: cameraDayFrom(row.properties), known });
      });
    }
    const view = new Map<string, Versioned<KnownCamera['day']>>();
    for (const cameraId of wanted.keys()) {
      const camera = found.get(cameraId) ?? this.#cache.camera(this.#partition, cameraId);
      if (camera === undefined) continue;
      this.#cache.setCamera(this.#partition, cameraId, camera);
      view.set(cameraId, { etag: camera.etag, value: camera.day });
    }
    return view;
  }

  async #readEvents(
    candidates: readonly Candidate[],
    total: StoredTotal | undefined,
    limit: Limit,
  ): Promise<ShardView['events']> {
    const groups = new Map<string, { range: KeyRange; keys: Set<string> }>();
    for (const { message, key, readFirst } of candidates) {
      if (!readFirst || total?.cameras.places.has(message.cameraId) !== true) continue;
      if (this.knownEvent(key) !== undefined) continue;
      const range = eventsOfMinute(minuteOfDay(message.ts), message.cameraId);
      const group = groups.get(range.from) ?? { range, keys: new Set() };
      group.keys.add(key);
      groups.set(range.from, group);
    }
    const found = new Map<string, ReturnType<typeof eventFromRow>>();
    await limit.map([...groups.values()], async ({ keys }) => {
      if (keys.size >= KEYS_FOR_RANGE) {
        for (const row of await this.#table.all(this.#partition, rangeOver([...keys]))) {
          if (keys.has(row.rowKey)) found.set(row.rowKey, eventFromRow(row));
        }
        return;
      }
      for (const key of keys) {
        const row = await this.#table.get(this.#partition, key);
        if (row !== undefined) found.set(key, eventFromRow(row));
      }
    });
    const view = new Map<string, Versioned<KnownEvent>>();
    for (const { key } of candidates) {
      const event = found.get(key) ?? this.knownEvent(key);
      if (event === undefined) continue;
      this.#cache.setEvent(this.#partition, key, event);
      view.set(key, { etag: event.etag, value: event });
    }
    return view;
  }
}

type Limit = ReturnType<typeof pLimit>;

const ALL_DAY: ReadonlySet<number> = new Set(Array.from({ length: 24 }, (_, hour) => hour));
