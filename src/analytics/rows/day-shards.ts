import { LRUCache } from 'lru-cache';

import type { Day } from '../model/day.ts';
import { MAX_SHARDS } from '../model/shard.ts';
import { DamagedRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { ANY_VERSION } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { dayPartition, OPEN_DAYS_PARTITION, SHARDS_KEY } from './keys.ts';
import { CLOSED_MARK } from './total-row.ts';

/** The day is closed: it takes no more changes, because nothing could tell a repeated message any more. */
export class DayClosed extends Error {
  override readonly name = 'DayClosed';
}

interface Manifest {
  readonly shards: number;
  readonly closed: boolean;
}

/**
 * How many shards each day has, from the day's manifest: its `shards` row, which the day's first event writes and nothing changes
 * but the closing of the day. So the number for new days may be changed at any time.
 */
export class DayShards {
  readonly #table: Table;
  readonly #forNewDays: number;
  readonly #known = new LRUCache<Day, Manifest>({ max: 1_000 });

  /** @param forNewDays shards of a day that has no data yet, 1 to 64 */
  constructor(table: Table, forNewDays: number) {
    this.#table = table;
    this.#forNewDays = forNewDays;
  }

  /** How many shards a day has; undefined where it has no events. @throws {StorageTrouble | DamagedRow} */
  async find(day: Day): Promise<number | undefined> {
    return (this.#known.get(day) ?? (await this.#read(day)))?.shards;
  }

  /**
   * How many shards a day has. Writes the manifest of a day that has no events yet, after a row for the day in the index of open
   * days: so the timer that closes old days finds every day.
   *
   * @throws {StorageTrouble | DamagedRow}
   * @throws {DayClosed} where this process has seen that the day is closed. One that it remembers as open may be closed meanwhile:
   *   then the fence of the shard refuses the commit
   */
  async claim(day: Day): Promise<number> {
    const known = this.#known.get(day) ?? (await this.#read(day)) ?? (await this.#write(day));
    if (known.closed) throw new DayClosed();
    return known.shards;
  }

  /**
   * Checks in storage that a day still has so many shards, before the first event of a shard is written. It has another number
   * only where storage was emptied while the app runs.
   *
   * @throws {StorageTrouble} where it has another number, or storage does not answer
   * @throws {DamagedRow}
   * @throws {DayClosed}
   */
  async confirm(day: Day, shards: number): Promise<void> {
    this.#known.delete(day);
    if ((await this.claim(day)) !== shards) throw new StorageTrouble(0);
  }

  /**
   * Writes into the manifest that a day is closed. Where the day has no manifest, because the process that was about to write it
   * ended, inserts one.
   *
   * @returns how many shards the day has
   * @throws {StorageTrouble | DamagedRow}
   */
  async close(day: Day): Promise<number> {
    this.#known.delete(day);
    for (;;) {
      const manifest = await this.#read(day);
      if (manifest?.closed === true) return manifest.shards;
      try {
        await this.#table.transact(dayPartition(day), [
          manifest === undefined
            ? { kind: 'insert', rowKey: SHARDS_KEY, properties: { shards: this.#forNewDays, ...CLOSED_MARK } }
            : { kind: 'merge', rowKey: SHARDS_KEY, etag: ANY_VERSION, properties: CLOSED_MARK },
        ]);
      } catch (error) {
        // Another process inserted it meanwhile.
        if (!(error instanceof WriteConflict)) throw error;
      }
    }
  }

  /** Forgets that a day is open, after a shard of it was found closed: its manifest is read again. */
  forgetOpen(day: Day): void {
    if (this.#known.get(day)?.closed === false) this.#known.delete(day);
  }

  async #write(day: Day): Promise<Manifest> {
    await this.#table.insert(OPEN_DAYS_PARTITION, day, {});
    await this.#table.insert(dayPartition(day), SHARDS_KEY, { shards: this.#forNewDays });
    const stored = await this.#read(day);
    if (stored === undefined) throw new StorageTrouble(0);
    return stored;
  }

  async #read(day: Day): Promise<Manifest | undefined> {
    const row = await this.#table.get(dayPartition(day), SHARDS_KEY);
    if (row === undefined) return undefined;
    const { shards, closed = false } = row.properties;
    if (typeof shards !== 'number' || !Number.isInteger(shards) || shards < 1 || shards > MAX_SHARDS) {
      throw new DamagedRow(row.partitionKey, row.rowKey, `shards is not a number from 1 to ${MAX_SHARDS}`);
    }
    if (typeof closed !== 'boolean') {
      throw new DamagedRow(row.partitionKey, row.rowKey, 'closed is not true or false');
    }
    const manifest = { shards, closed };
    this.#known.set(day, manifest);
    return manifest;
  }
}
