import { LRUCache } from 'lru-cache';

import type { Log } from '../../log.ts';
import { DamagedRow, DecodeError, decodingRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import { type Instant, instantFrom, sortableInstant } from '../model/instant.ts';
import { MAX_SHARDS } from '../model/shard.ts';
import { dayPartition, OPEN_DAYS_PARTITION, SHARDS_KEY, shardPartition } from './keys.ts';
import { CLOSES, openDayFrom, readMoment, storageNow } from './open-days.ts';

/** The day is closed: it takes no more changes, because nothing could tell a repeated message any more. */
export class DayClosed extends Error {
  override readonly name = 'DayClosed';
}

/** A repair of the day is at work, or was stopped before its end: until one has finished, the day does not close. */
export class DayInRepair extends Error {
  override readonly name = 'DayInRepair';
}

/** A day's manifest: its `shards` row. */
export interface Manifest {
  readonly shards: number;
  /** From this moment on the day takes no more changes; undefined: nobody closes it yet. */
  readonly closes: Instant | undefined;
  /** The version of the row: what is remembered of a day belongs to it. */
  readonly version: string;
}

/** How long a process goes on without reading a manifest again: less than a closing is announced ahead. */
const FRESH_MS = 60_000;

/**
 * How long before its moment a closing is announced, and how long after it event rows are still kept, in microseconds: longer than a
 * process goes on without reading the manifest, and than a transaction takes.
 */
export const CLOSING_MARGIN = 120_000_000n;

/** A clock that differs more from that of storage is told, hourly. */
const CLOCK_OFF_MS = 60_000;
const TELL_AGAIN_MS = 3_600_000;

/** What a manifest says. @throws {DamagedRow} */
export const manifestFrom = (row: StoredRow): Manifest =>
  decodingRow(row, () => {
    const { shards } = row.properties;
    if (typeof shards !== 'number' || !Number.isInteger(shards) || shards < 1 || shards > MAX_SHARDS) {
      throw new DecodeError(`shards is not a number from 1 to ${MAX_SHARDS}`);
    }
    return { shards, closes: readMoment(CLOSES, row.properties), version: row.etag };
  });

/** The first shard of a day, from one on, that has a row, whatever the manifest says; undefined: none. @throws {StorageTrouble} */
export const shardInStorage = async (table: Table, day: Day, from = 0): Promise<number | undefined> => {
  const keys = { from: shardPartition(day, from), before: shardPartition(day, MAX_SHARDS) };
  const partition = await table.firstPartition(keys);
  return partition === undefined ? undefined : Number(partition.slice(day.length + 1));
};

/** Both clocks of the process, in milliseconds: one stands still while the machine is suspended, the other may be set back. */
const clocks = (): readonly number[] => [performance.now(), Date.now()];

const isFresh = (readAt: readonly number[]): boolean =>
  clocks().every((time, clock) => time - (readAt[clock] ?? 0) < FRESH_MS);

/**
 * The manifest of each day. The day's first event writes it; later only the moment at which the day closes is added. So the number of
 * shards of new days may be changed at any time, and one row says whether a day takes changes.
 */
export class DayShards {
  readonly #table: Table;
  readonly #forNewDays: number;
  readonly #log: Log;
  readonly #known = new LRUCache<Day, { readonly manifest: Manifest; readonly readAt: readonly number[] }>({
    max: 1_000,
  });
  /** The days that had no row less than a minute ago. */
  readonly #empty = new LRUCache<Day, true>({ max: 1_000, ttl: FRESH_MS });
  /** The claims under way: many requests may come with the first events of a day. */
  readonly #claiming = new Map<Day, Promise<Manifest>>();
  #toldClockAt = -Infinity;

  /** @param forNewDays shards of a day that has no data yet, 1 to 64 */
  constructor(table: Table, forNewDays: number, log: Log) {
    this.#table = table;
    this.#forNewDays = forNewDays;
    this.#log = log;
  }

  /** How many shards a day has, as storage said less than a minute ago; undefined if it has no events. @throws {StorageTrouble | DamagedRow} */
  async find(day: Day): Promise<number | undefined> {
    const manifest = this.#fresh(day) ?? (await this.#read(day));
    if (manifest !== undefined || this.#empty.has(day)) return manifest?.shards;
    const stored = await this.#unlessLost(day);
    if (stored === undefined) this.#empty.set(day, true);
    return stored?.shards;
  }

  /** The manifest of a day as it is in storage now; undefined: the day has no rows. @throws {StorageTrouble | DamagedRow} if it is lost */
  async stored(day: Day): Promise<Manifest | undefined> {
    return (await this.#read(day)) ?? this.#unlessLost(day);
  }

  /**
   * The manifest of a day that takes changes, read less than a minute ago. Writes that of a day that has no events yet, after a row for the
   * day in the index of open days: so the timer that closes old days finds every day.
   *
   * @param inStorage as storage says now
   * @throws {DayClosed}
   * @throws {StorageTrouble | DamagedRow}
   */
  async claim(day: Day, inStorage = false): Promise<Manifest> {
    const manifest = inStorage ? await this.#readOrWrite(day) : (this.#fresh(day) ?? (await this.#claimTogether(day)));
    if (manifest.closes !== undefined && storageNow(this.#table) >= manifest.closes) throw new DayClosed();
    return manifest;
  }

  /**
   * Announces that a day of the index closes {@link CLOSING_MARGIN} from now, unless that was announced before. If the day has no manifest,
   * because the process that was about to write it ended, inserts one.
   *
   * @throws {DayInRepair}
   * @throws {StorageTrouble | DamagedRow}
   */
  async close(day: Day): Promise<Manifest & { readonly closes: Instant }> {
    for (;;) {
      const [manifest, open] = await Promise.all([this.stored(day), this.#table.get(OPEN_DAYS_PARTITION, day)]);
      const { shards = this.#forNewDays, closes, version } = manifest ?? {};
      if (manifest !== undefined && closes !== undefined) return { ...manifest, closes };
      const now = storageNow(this.#table);
      const { etag, repairUntil = now, isRepairing = false } = open === undefined ? {} : openDayFrom(open);
      if (isRepairing || repairUntil > now) throw new DayInRepair();
      const announced = { [CLOSES]: sortableInstant(instantFrom(now + CLOSING_MARGIN)) };
      try {
        // First in the index, at the version that no repair has changed: a day whose manifest is lost from now on is not taken for open.
        await this.#table.transact(OPEN_DAYS_PARTITION, [writeOf(day, etag, announced)]);
        await this.#table.transact(dayPartition(day), [writeOf(SHARDS_KEY, version, { shards, ...announced })]);
      } catch (error) {
        // Another process wrote it meanwhile.
        if (!(error instanceof WriteConflict)) throw error;
      }
    }
  }

  /** The manifest as it was less than a minute ago, if that is remembered. */
  #fresh(day: Day): Manifest | undefined {
    const known = this.#known.get(day);
    return known !== undefined && isFresh(known.readAt) ? known.manifest : undefined;
  }

  #claimTogether(day: Day): Promise<Manifest> {
    const claiming = this.#claiming.get(day) ?? this.#readOrWrite(day).finally(() => this.#claiming.delete(day));
    this.#claiming.set(day, claiming);
    return claiming;
  }

  async #readOrWrite(day: Day): Promise<Manifest> {
    const stored = (await this.#read(day)) ?? (await this.#unlessLost(day));
    if (stored !== undefined) return stored;
    await this.#table.insert(OPEN_DAYS_PARTITION, day, {});
    await this.#table.insert(dayPartition(day), SHARDS_KEY, { shards: this.#forNewDays });
    const written = await this.#read(day);
    if (written === undefined) throw new StorageTrouble(0, { reason: 'no manifest' });
    return written;
  }

  /**
   * The manifest of a day that had none, if others have just written it; undefined: the day has no rows. Of one that has rows it is lost,
   * whatever COUNTER_SHARDS says now: one that is made up would hide rows of other shards, or open a closed day, which would count repeats
   * twice.
   */
  async #unlessLost(day: Day): Promise<Manifest | undefined> {
    if ((await shardInStorage(this.#table, day)) === undefined) return undefined;
    const manifest = await this.#read(day);
    if (manifest !== undefined) return manifest;
    throw new DamagedRow(dayPartition(day), SHARDS_KEY, 'it is missing, and the day has rows');
  }

  async #read(day: Day): Promise<Manifest | undefined> {
    // What is answered was true at the earliest when it was asked for.
    const readAt = clocks();
    const row = await this.#table.get(dayPartition(day), SHARDS_KEY);
    this.#tellClock();
    this.#known.delete(day);
    if (row === undefined) return undefined;
    const manifest = manifestFrom(row);
    this.#known.set(day, { manifest, readAt });
    return manifest;
  }

  #tellClock(): void {
    const aheadMs = Date.now() - this.#table.now();
    if (Math.abs(aheadMs) <= CLOCK_OFF_MS || performance.now() - this.#toldClockAt < TELL_AGAIN_MS) return;
    this.#toldClockAt = performance.now();
    this.#log.warn('clock is off', { ahead_seconds: Math.round(aheadMs / 1_000) });
  }
}
