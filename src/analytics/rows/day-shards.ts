import { LRUCache } from 'lru-cache';

import type { Day } from '../model/day.ts';
import { MAX_SHARDS } from '../model/shard.ts';
import { DamagedRow } from './damaged-row.ts';
import { dayPartition, SHARDS_KEY } from './keys.ts';
import { StorageTrouble, type CounterTable } from './table.ts';

/**
 * How many shards each day has, from the day's manifest: its `shards` row, which the day's first event writes and nothing changes.
 * So the number for new days may be changed at any time.
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

  /** How many shards a day has; undefined where it has no events. @throws {StorageTrouble | DamagedRow} */
  async find(day: Day): Promise<number | undefined> {
    return this.#known.get(day) ?? this.#read(day);
  }

  /** How many shards a day has. Writes the manifest of a day that has no events yet. @throws {StorageTrouble | DamagedRow} */
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
   * Checks in storage that a day still has so many shards, before the first event of a shard is written. It has another number
   * only where storage was emptied while the app runs.
   *
   * @throws {StorageTrouble} where it has another number, or storage does not answer
   * @throws {DamagedRow}
   */
  async confirm(day: Day, shards: number): Promise<void> {
    this.#known.delete(day);
    if ((await this.claim(day)) !== shards) throw new StorageTrouble(0);
  }

  async #read(day: Day): Promise<number | undefined> {
    const row = await this.#table.get(dayPartition(day), SHARDS_KEY);
    if (row === undefined) return undefined;
    const { shards } = row.properties;
    if (typeof shards !== 'number' || !Number.isInteger(shards) || shards < 1 || shards > MAX_SHARDS) {
      throw new DamagedRow(row.partitionKey, row.rowKey, `shards is not a number from 1 to ${MAX_SHARDS}`);
    }
    this.#known.set(day, shards);
    return shards;
  }
}
