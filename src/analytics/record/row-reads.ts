import pLimit from 'p-limit';

import { hasKnownOrder, rangeOver } from '../rows/keys.ts';
import { EmptyPages } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import type { KnownRowsOfShard } from './known-rows.ts';
import type { KnownRow, ShardRow } from './shard-snapshot.ts';

const PARALLEL_READS = 16;
// From this many keys close together one range is cheaper than a read for each.
const KEYS_FOR_RANGE = 3;

/** Reads rows of one shard, each by its key, or many that are close together by a range. A row that is not stored is left out. */
export class RowReads {
  readonly table: Table;
  readonly partition: string;
  /** What the process knows of the shard's rows. */
  readonly known: KnownRowsOfShard;
  readonly #limit = pLimit(PARALLEL_READS);

  constructor(table: Table, partition: string, known: KnownRowsOfShard) {
    this.table = table;
    this.partition = partition;
    this.known = known;
  }

  /** Runs a read for each item, so many at a time. */
  async each<Item>(items: Iterable<Item>, read: (item: Item) => Promise<void>): Promise<void> {
    await this.#limit.map(items, read);
  }

  /** Reads a row. */
  async one(key: string, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.table.get(this.partition, key, { select });
  }

  /** A row from memory, or read and kept there. @throws {StorageTrouble | DamagedRow} */
  async kept(key: string, rowFrom: (row: StoredRow) => ShardRow): Promise<KnownRow> {
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const row = await this.one(key);
    return this.known.keep(key, row && { ...rowFrom(row), etag: row.etag });
  }

  /**
   * Reads rows, by row key.
   *
   * @param mostForRange how many rows a range over the keys may have at most to be cheaper than a read for each key
   * @param inRange about how many it has
   */
  async many(
    keys: readonly string[],
    inRange: number,
    mostForRange: number,
    select?: readonly string[],
  ): Promise<ReadonlyMap<string, StoredRow>> {
    const found = new Map<string, StoredRow>();
    let single = keys;
    if (keys.length >= KEYS_FOR_RANGE && inRange <= mostForRange) {
      const ordered = new Set(keys.filter(hasKnownOrder));
      try {
        const rows = await this.table.all(this.partition, rangeOver(ordered), { select });
        for (const row of rows) if (ordered.has(row.rowKey)) found.set(row.rowKey, row);
        single = keys.filter((key) => !ordered.has(key));
      } catch (error) {
        if (!(error instanceof EmptyPages)) throw error;
      }
    }
    await this.each(single, async (key) => {
      const row = await this.one(key, select);
      if (row !== undefined) found.set(key, row);
    });
    return found;
  }
}
