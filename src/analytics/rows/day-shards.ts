import { LRUCache } from 'lru-cache';

import { DamagedRow, DecodeError, decodingRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { ANY_VERSION, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { isDay, type Day } from '../model/day.ts';
import { type Instant, instantFrom, instantFromMilliseconds, parseInstant, sortableInstant } from '../model/instant.ts';
import { MAX_SHARDS } from '../model/shard.ts';
import { dayPartition, FENCE_KEY, OPEN_DAYS_PARTITION, SHARDS_KEY, shardPartition } from './keys.ts';

/** The day is closed: it takes no more changes, because nothing could tell a repeated message any more. */
export class DayClosed extends Error {
  override readonly name = 'DayClosed';
}

/** A day's manifest: its `shards` row. */
export interface Manifest {
  readonly shards: number;
  /** From this moment on the day takes no more changes; undefined: nobody closes it yet. */
  readonly closes: Instant | undefined;
}

/** How long a recorder goes on without reading a manifest again: less than a closing is announced ahead. */
const FRESH_MS = 60_000;

/**
 * How long before its moment a closing is announced, and how long after it event rows are still kept, in microseconds: longer than a
 * recorder goes on without reading the manifest, than a transaction takes, and than clocks differ.
 */
export const CLOSING_MARGIN = 120_000_000n;

/** The property of a manifest that says when the day closes. */
export const CLOSES = 'closes';

/** What a manifest says. @throws {DamagedRow} */
export const manifestFrom = (row: StoredRow): Manifest =>
  decodingRow(row, () => {
    const { shards, [CLOSES]: text } = row.properties;
    if (typeof shards !== 'number' || !Number.isInteger(shards) || shards < 1 || shards > MAX_SHARDS) {
      throw new DecodeError(`shards is not a number from 1 to ${MAX_SHARDS}`);
    }
    const closes = typeof text === 'string' ? parseInstant(text) : undefined;
    if (text !== undefined && closes === undefined) throw new DecodeError(`${CLOSES} is not a time`);
    return { shards, closes };
  });

// The index of open days: a row for each day that is not closed, inserted before the day's manifest and deleted as the last step of
// closing the day. So every day that has events and is not wholly closed is in it.

/** The open days before a day, oldest first. @throws {StorageTrouble | DamagedRow} */
export const openDaysBefore = async (table: Table, day: Day): Promise<readonly Day[]> => {
  const rows = await table.all(OPEN_DAYS_PARTITION, { from: '', before: day }, { select: [] });
  return rows.map(({ partitionKey, rowKey }) => {
    if (!isDay(rowKey)) throw new DamagedRow(partitionKey, rowKey, 'its key is not a day');
    return rowKey;
  });
};

/** Takes a day out of the index, if it is in it. @throws {StorageTrouble} */
export const removeOpenDay = async (table: Table, day: Day): Promise<void> => {
  try {
    await table.delete(OPEN_DAYS_PARTITION, [day]);
  } catch (error) {
    // Another process did.
    if (!(error instanceof WriteConflict)) throw error;
  }
};

/** Both clocks of the process, in milliseconds: one stands still while the machine is suspended, the other may be set back. */
const clocks = (): readonly number[] => [performance.now(), Date.now()];

const isFresh = (readAt: readonly number[]): boolean =>
  clocks().every((time, clock) => time - (readAt[clock] ?? 0) < FRESH_MS);

const now = (): Instant => instantFromMilliseconds(Date.now());

/**
 * The manifest of each day. The day's first event writes it; later only the moment at which the day closes is added. So the number of
 * shards of new days may be changed at any time, and one row says whether a day takes changes.
 */
export class DayShards {
  readonly #table: Table;
  readonly #forNewDays: number;
  readonly #known = new LRUCache<Day, { readonly manifest: Manifest; readonly readAt: readonly number[] }>({
    max: 1_000,
  });

  /** @param forNewDays shards of a day that has no data yet, 1 to 64 */
  constructor(table: Table, forNewDays: number) {
    this.#table = table;
    this.#forNewDays = forNewDays;
  }

  /** How many shards a day has; undefined if it has no events. @throws {StorageTrouble | DamagedRow} */
  async find(day: Day): Promise<number | undefined> {
    return (this.#known.get(day)?.manifest ?? (await this.#read(day)))?.shards;
  }

  /**
   * How many shards a day has that takes changes, by a manifest that was read less than a minute ago. Writes the manifest of a day that
   * has no events yet, after a row for the day in the index of open days: so the timer that closes old days finds every day.
   *
   * @throws {DayClosed}
   * @throws {StorageTrouble | DamagedRow}
   */
  async claim(day: Day): Promise<number> {
    const known = this.#known.get(day);
    const { shards, closes } =
      known !== undefined && isFresh(known.readAt)
        ? known.manifest
        : ((await this.#read(day)) ?? (await this.#write(day)));
    if (closes !== undefined && now() >= closes) throw new DayClosed();
    return shards;
  }

  /**
   * Checks that a day takes changes and still has so many shards: that changes only by a repair, or if storage was emptied.
   *
   * @param inStorage as storage says now: before the first event of a shard is written
   * @throws {StorageTrouble} if it has another number, or storage does not answer
   * @throws {DamagedRow | DayClosed}
   */
  async demand(day: Day, shards: number, inStorage = false): Promise<void> {
    if (inStorage) this.#known.delete(day);
    if ((await this.claim(day)) !== shards) throw new StorageTrouble(0, { reason: 'another manifest' });
  }

  /**
   * Announces that a day closes {@link CLOSING_MARGIN} after `at`, which is now, unless that was announced before. If the day has no manifest, because the
   * process that was about to write it ended, inserts one.
   *
   * @throws {StorageTrouble | DamagedRow}
   */
  async close(day: Day, at: Instant): Promise<Manifest & { readonly closes: Instant }> {
    for (;;) {
      const row = await this.#table.get(dayPartition(day), SHARDS_KEY);
      const { shards, closes } =
        row === undefined ? { shards: this.#forNewDays, closes: undefined } : manifestFrom(row);
      if (closes !== undefined) return { shards, closes };
      const announced = { [CLOSES]: sortableInstant(instantFrom(at + CLOSING_MARGIN)) };
      // First in the index, so that a day whose manifest is lost from now on is not taken for open.
      await this.#table.transact(OPEN_DAYS_PARTITION, [
        { kind: 'merge', rowKey: day, etag: ANY_VERSION, properties: announced },
      ]);
      try {
        await this.#table.transact(dayPartition(day), [writeOf(SHARDS_KEY, row?.etag, { shards, ...announced })]);
      } catch (error) {
        // Another process wrote it meanwhile.
        if (!(error instanceof WriteConflict)) throw error;
      }
    }
  }

  async #write(day: Day): Promise<Manifest> {
    if (await this.#wasClosed(day)) {
      // Since the manifest was looked for, others may have opened the day, recorded into it and announced its closing.
      const manifest = await this.#read(day);
      if (manifest !== undefined) return manifest;
      throw new DamagedRow(dayPartition(day), SHARDS_KEY, 'it is missing, and the day was closed');
    }
    await this.#table.insert(OPEN_DAYS_PARTITION, day, {});
    await this.#table.insert(dayPartition(day), SHARDS_KEY, { shards: this.#forNewDays });
    const stored = await this.#read(day);
    if (stored === undefined) throw new StorageTrouble(0, { reason: 'no manifest' });
    return stored;
  }

  /**
   * Whether a day has counters, and is not among the open days or closes. Without a manifest, it has lost it. Opened again, it would count
   * repeats twice, and a repair would take away what no event row tells any more.
   */
  async #wasClosed(day: Day): Promise<boolean> {
    const fences = await Promise.all(
      Array.from({ length: this.#forNewDays }, async (_, shard) =>
        this.#table.get(shardPartition(day, shard), FENCE_KEY, { select: [] }),
      ),
    );
    // Read last: the first event of a day comes after the row in the index.
    const open = await this.#table.get(OPEN_DAYS_PARTITION, day);
    const isOpen = open !== undefined && open.properties[CLOSES] === undefined;
    return !isOpen && fences.some((row) => row !== undefined);
  }

  async #read(day: Day): Promise<Manifest | undefined> {
    // What is answered was true at the earliest when it was asked for.
    const readAt = clocks();
    const row = await this.#table.get(dayPartition(day), SHARDS_KEY);
    if (row === undefined) {
      this.#known.delete(day);
      return undefined;
    }
    const manifest = manifestFrom(row);
    this.#known.set(day, { manifest, readAt });
    return manifest;
  }
}
