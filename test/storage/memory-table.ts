import type { Page, PageQuery, Selection, TableConnection } from '../../src/storage/connection.ts';
import { RequestRefused, TableMissing, WriteConflict } from '../../src/storage/errors.ts';
import { ANY_VERSION, type KeyRange, type RowWrite, type StoredRow } from '../../src/storage/row.ts';
import { LIMITS, objectionsTo, rowBytes } from './table-limits.ts';

const MOST_ROWS = 1_000;

interface MemoryRow {
  readonly etag: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * A table in memory that behaves as Table Storage does: atomic transactions with their limits, ETags, inserts that fail, merges at any
 * version, pages that are one snapshot each. It never fails by itself: a world stands in front of it. The contract tests hold it
 * against Azurite.
 */
export class MemoryTable implements TableConnection {
  readonly #partitions = new Map<string, Map<string, MemoryRow>>();
  readonly #now: () => number;
  /** The sorted keys of a partition, until a row comes or goes. */
  readonly #sortedKeys = new Map<string, readonly string[]>();
  #exists = false;
  #writes = 0;

  /** @param now for the rows' timestamps, in milliseconds since 1970 */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async create(): Promise<boolean> {
    const isNew = !this.#exists;
    this.#exists = true;
    return isNew;
  }

  /** Deletes the table with all rows. */
  drop(): void {
    this.#exists = false;
    this.#partitions.clear();
    this.#sortedKeys.clear();
  }

  /** All rows of a partition, in the order of their keys. */
  rows(partitionKey: string): readonly StoredRow[] {
    const rows = this.#partitions.get(partitionKey);
    return this.#keys(partitionKey).flatMap((rowKey) => {
      const row = rows?.get(rowKey);
      return row === undefined ? [] : [{ partitionKey, rowKey, etag: row.etag, properties: row.properties }];
    });
  }

  /** The keys of all partitions that have rows, sorted. */
  partitions(): readonly string[] {
    return [...this.#partitions.keys()].sort();
  }

  /** A table with copies of the rows. */
  copy(): MemoryTable {
    const copy = new MemoryTable(this.#now);
    copy.#exists = this.#exists;
    copy.#writes = this.#writes;
    for (const [partition, rows] of this.#partitions) copy.#partitions.set(partition, new Map(rows));
    return copy;
  }

  async get(partitionKey: string, rowKey: string, selection: Selection): Promise<StoredRow | undefined> {
    this.#demandTable();
    const row = this.#partitions.get(partitionKey)?.get(rowKey);
    return row && { partitionKey, rowKey, etag: row.etag, properties: selected(row.properties, selection) };
  }

  async page(
    partitionKey: string,
    range: KeyRange,
    { where, most = MOST_ROWS, continuation, ...selection }: PageQuery,
  ): Promise<Page> {
    this.#demandTable();
    const size = Math.min(most, MOST_ROWS);
    const rows = this.#partitions.get(partitionKey);
    const from = continuation ?? range.from;
    const found: StoredRow[] = [];
    for (const rowKey of this.#keys(partitionKey)) {
      if (rowKey < from) continue;
      if (rowKey >= range.before) break;
      const row = rows?.get(rowKey);
      if (row === undefined || !isWanted(row, where)) continue;
      if (found.length === size) return { rows: found, continuation: rowKey };
      found.push({ partitionKey, rowKey, etag: row.etag, properties: selected(row.properties, selection) });
    }
    return { rows: found, continuation: undefined };
  }

  async firstPartition({ from, before }: KeyRange): Promise<string | undefined> {
    this.#demandTable();
    return this.partitions().find((partition) => partition >= from && partition < before);
  }

  now(): number {
    return this.#now();
  }

  async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    this.#demandTable();
    demandLimits(partitionKey, writes);
    const rows = this.#partitions.get(partitionKey) ?? new Map<string, MemoryRow>();
    for (const [index, write] of writes.entries()) {
      if (!fits(write, rows.get(write.rowKey))) throw new WriteConflict(index);
    }
    const after = writes.map((write) => [write.rowKey, propertiesAfter(write, rows.get(write.rowKey))] as const);
    for (const [rowKey, properties = {}] of after) {
      if (objectionsTo({ partitionKey, rowKey, properties }).length > 0) refuse();
    }
    const timestamp = new Date(this.#now()).toISOString();
    if (writes.some(({ kind }) => kind === 'insert' || kind === 'delete')) this.#sortedKeys.delete(partitionKey);
    const etags = after.map(([rowKey, properties]) => {
      if (properties === undefined) {
        rows.delete(rowKey);
        return '';
      }
      this.#writes += 1;
      const etag = `W/"${this.#writes}"`;
      rows.set(rowKey, { etag, properties: { ...properties, timestamp } });
      return etag;
    });
    if (rows.size === 0) this.#partitions.delete(partitionKey);
    else this.#partitions.set(partitionKey, rows);
    return etags;
  }

  #keys(partitionKey: string): readonly string[] {
    const keys = this.#sortedKeys.get(partitionKey) ?? [...(this.#partitions.get(partitionKey)?.keys() ?? [])].sort();
    this.#sortedKeys.set(partitionKey, keys);
    return keys;
  }

  #demandTable(): void {
    if (!this.#exists) throw new TableMissing();
  }
}

const fits = (write: RowWrite, row: MemoryRow | undefined): boolean => {
  if (write.kind === 'insert') return row === undefined;
  if (row === undefined) return false;
  return write.kind === 'delete' || write.etag === ANY_VERSION || write.etag === row.etag;
};

/** undefined: the row is deleted. Bytes and dates are copied, as on their way to storage. */
const propertiesAfter = (write: RowWrite, row: MemoryRow | undefined): MemoryRow['properties'] | undefined => {
  if (write.kind === 'delete') return undefined;
  const properties: Record<string, unknown> = write.kind === 'merge' ? { ...row?.properties } : {};
  for (const [name, value] of Object.entries(write.properties)) {
    if (value !== undefined) properties[name] = typeof value === 'object' ? structuredClone(value) : value;
  }
  return properties;
};

const isWanted = (row: MemoryRow, where: PageQuery['where']): boolean => {
  if (where === undefined) return true;
  const text = row.properties[where.property];
  return typeof text === 'string' && where.from <= text && text <= where.to;
};

const selected = (properties: MemoryRow['properties'], { select }: Selection): MemoryRow['properties'] => {
  const own: Record<string, unknown> = {};
  for (const name of select ?? Object.keys(properties)) {
    const stored = name === 'Timestamp' ? 'timestamp' : name;
    const value = properties[stored];
    if (value !== undefined) own[stored] = value;
  }
  return own;
};

const refuse = (): never => {
  throw new RequestRefused(400);
};

const demandLimits = (partitionKey: string, writes: readonly RowWrite[]): void => {
  if (writes.length === 0 || writes.length > LIMITS.transactionOperations) refuse();
  if (new Set(writes.map(({ rowKey }) => rowKey)).size !== writes.length) refuse();
  let bytes = 0;
  for (const write of writes) if (write.kind !== 'delete') bytes += rowBytes({ partitionKey, ...write });
  if (bytes > LIMITS.transactionBytes) refuse();
};
