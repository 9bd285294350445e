import { createHash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import type { Day } from '../model/day.ts';
import { dayPartition, SHARDS_KEY } from './keys.ts';
import { StorageTrouble, type CounterTable } from './table.ts';

/** Most shards of a day. */
export const MAX_SHARDS = 64;

/** The shard of a day that a camera belongs to: a stable hash of its id. */
export const shardOf = (cameraId: string, shards: number): number =>
  shards === 1 ? 0 : createHash('sha256').update(cameraId).digest().readUInt32BE(0) % shards;

/**
 * How many shards each day has: fixed by the day's first event, in a row that is written once and never changed. So the
 * number for new days may be changed at any time.
 */
export class DayShards {
  readonly #table: CounterTable;
  readonly #forNewDays: number;
  readonly #known = new LRUCache<Day, number>({ max: 5_000 });

  /** @param forNewDays shards of a day that has no data yet, 1 to 64 */
  constructor(table: CounterTable, forNewDays: number) {
    this.#table = table;
    this.#forNewDays = forNewDays;
  }

  /**
   * How many shards a day has; undefined where it has no events.
   *
   * @throws {StorageTrouble} where storage does not answer
   */
  async find(day: Day): Promise<number | undefined> {
    return this.#known.get(day) ?? this.#read(day);
  }

  /**
   * How many shards a day has; where it has no events yet, this fixes it.
   *
   * @throws {StorageTrouble} where storage does not answer
   */
  async claim(day: Day): Promise<number> {
    const known = await this.find(day);
    if (known !== undefined) return known;
    await this.#table.insert(dayPartition(day), {
      kind: 'insert',
      rowKey: SHARDS_KEY,
      properties: { shards: this.#forNewDays },
    });
    const stored = await this.#read(day);
    if (stored === undefined) throw new StorageTrouble(0);
    return stored;
  }

  /**
   * Makes sure that a day still has so many shards in storage, before the first event of a shard is written there. Only
   * storage that was emptied while the app runs says otherwise.
   *
   * @throws {StorageTrouble} where it has another number, or storage does not answer
   */
  async confirm(day: Day, shards: number): Promise<void> {
    this.#known.delete(day);
    if ((await this.claim(day)) !== shards) throw new StorageTrouble(0);
  }

  async #read(day: Day): Promise<number | undefined> {
    const row = await this.#table.get(dayPartition(day), SHARDS_KEY);
    if (row === undefined) return undefined;
    const shards = row.properties['shards'];
    if (typeof shards !== 'number' || shards < 1 || shards > MAX_SHARDS) throw new TypeError('a shards row is damaged');
    this.#known.set(day, shards);
    return shards;
  }
}
