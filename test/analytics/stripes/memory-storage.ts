import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import type { Page, PageQuery, Selection } from '../../../src/storage/connection.ts';
import { LaterFormat, StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import { ANY_VERSION, type KeyRange, type RowWrite, type StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';

interface MemoryRow {
  readonly etag: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** What may go wrong, or differ, in the requests to a storage: each is asked at every request of its kind. */
export interface Weather {
  /** A transaction is applied and its answer is lost, or it is not applied. */
  readonly losesAnswer: () => 'applied' | 'not applied' | undefined;
  /** A page ends before its rows do. */
  readonly endsEarly: () => boolean;
  /** Milliseconds that pass before a transaction. */
  readonly passes: () => number;
  /** How many turns a request of a reader takes more than one. */
  readonly delay: () => number;
}

/** A storage that never fails. */
export const FAIR: Weather = { losesAnswer: () => undefined, endsEarly: () => false, passes: () => 1, delay: () => 0 };

/**
 * Rows in memory with the semantics of Table Storage: atomic transactions, ETags, inserts that fail, merges at any version, pages that
 * are read together.
 */
export class MemoryStorage {
  readonly #partitions = new Map<string, Map<string, MemoryRow>>();
  #writes = 0;
  #now = Date.parse('2026-11-21T00:00:00Z');

  /** A storage with the same rows. */
  copy(): MemoryStorage {
    const copy = new MemoryStorage();
    for (const [partition, rows] of this.#partitions) copy.#partitions.set(partition, new Map(rows));
    copy.#writes = this.#writes;
    copy.#now = this.#now;
    return copy;
  }

  /** All rows of a partition, in the order of their keys. */
  rows(partition: string): readonly StoredRow[] {
    return [...(this.#partitions.get(partition) ?? [])]
      .map(([rowKey, { etag, properties }]) => ({ partitionKey: partition, rowKey, etag, properties }))
      .sort((left, right) => (left.rowKey < right.rowKey ? -1 : 1));
  }

  get(partition: string, rowKey: string): StoredRow | undefined {
    const row = this.#partitions.get(partition)?.get(rowKey);
    return row && { partitionKey: partition, rowKey, ...row };
  }

  /** Applies all writes or none. @throws {WriteConflict} with the index of the first that fails */
  transact(partition: string, writes: readonly RowWrite[], passed: number): readonly string[] {
    this.#now += passed;
    const rows = this.#partitions.get(partition) ?? new Map<string, MemoryRow>();
    if (new Set(writes.map(({ rowKey }) => rowKey)).size !== writes.length) throw new Error('a row is written twice');
    for (const [index, write] of writes.entries()) {
      const row = rows.get(write.rowKey);
      const fits =
        write.kind === 'insert'
          ? row === undefined
          : row !== undefined && (write.kind === 'delete' || write.etag === ANY_VERSION || write.etag === row.etag);
      if (!fits) throw new WriteConflict(index);
    }
    this.#partitions.set(partition, rows);
    const timestamp = new Date(this.#now).toISOString();
    return writes.map((write) => {
      const before = write.kind === 'merge' ? rows.get(write.rowKey)?.properties : {};
      const etag = `W/"${(this.#writes += 1)}"`;
      if (write.kind === 'delete') rows.delete(write.rowKey);
      else
        rows.set(write.rowKey, {
          etag,
          properties: {
            ...before,
            ...write.properties,
            ...(write.kind === 'merge' ? {} : { format: FORMAT }),
            timestamp,
          },
        });
      return etag;
    });
  }

  /** Deletes all rows or none. @throws {WriteConflict} with the index of the first that is gone */
  remove(partition: string, rowKeys: readonly string[]): void {
    const rows = this.#partitions.get(partition);
    const gone = rowKeys.findIndex((rowKey) => rows?.has(rowKey) !== true);
    if (gone !== -1) throw new WriteConflict(gone);
    for (const rowKey of rowKeys) rows?.delete(rowKey);
  }
}

const fits = (row: StoredRow, where: PageQuery['where']): boolean => {
  if (where === undefined) return true;
  const text = String(row.properties[where.property]);
  return where.from <= text && text <= where.to;
};

const selected = (row: StoredRow, select: readonly string[] | undefined): StoredRow => {
  const { format } = row.properties;
  if (typeof format === 'number' && format > FORMAT) throw new LaterFormat(row, format, FORMAT);
  if (select === undefined) return row;
  const names = new Set([...select, ...(select.includes('Timestamp') ? ['timestamp'] : [])]);
  return { ...row, properties: Object.fromEntries(Object.entries(row.properties).filter(([name]) => names.has(name))) };
};

/** A table of a storage in memory. Each request waits for its turn, and is then done at one moment. */
export class MemoryTable extends Table {
  readonly #storage: MemoryStorage;
  readonly #turn: (request: string) => Promise<void>;
  readonly #weather: Weather;

  constructor(storage: MemoryStorage, turn: (request: string) => Promise<void>, weather: Weather = FAIR) {
    super(
      new AzureTable(() => {
        throw new Error('a table in memory has no client');
      }),
      { format: FORMAT },
    );
    this.#storage = storage;
    this.#turn = turn;
    this.#weather = weather;
  }

  override async get(partition: string, rowKey: string, { select }: Selection = {}): Promise<StoredRow | undefined> {
    await this.#turn(`get ${rowKey}`);
    const row = this.#storage.get(partition, rowKey);
    return row && selected(row, select);
  }

  override async page(
    partition: string,
    range: KeyRange,
    { select, where, continuation: from }: PageQuery = {},
  ): Promise<Page> {
    await this.#turn(`page ${from ?? range.from}`);
    const rows = this.#storage
      .rows(partition)
      .filter(({ rowKey }) => (from ?? range.from) <= rowKey && rowKey < range.before)
      .filter((row) => fits(row, where));
    const first = rows[0];
    if (first !== undefined && this.#weather.endsEarly()) {
      const [kept, next] = from === undefined ? [[], first] : [[first], rows[1]];
      if (next !== undefined) return { rows: kept.map((row) => selected(row, select)), continuation: next.rowKey };
    }
    return { rows: rows.map((row) => selected(row, select)), continuation: undefined };
  }

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    await this.#turn(`transact ${writes.map(({ rowKey }) => rowKey).join(', ')}`);
    const lost = this.#weather.losesAnswer();
    if (lost === 'not applied') throw new StorageTrouble(0);
    const etags = this.#storage.transact(partition, writes, this.#weather.passes());
    if (lost === 'applied') throw new StorageTrouble(0);
    return etags;
  }

  override async delete(partition: string, rowKeys: readonly string[]): Promise<void> {
    await this.#turn(`remove ${rowKeys.join(', ')}`);
    const lost = this.#weather.losesAnswer();
    if (lost === 'not applied') throw new StorageTrouble(0);
    this.#storage.remove(partition, rowKeys);
    if (lost === 'applied') throw new StorageTrouble(0);
  }
}
