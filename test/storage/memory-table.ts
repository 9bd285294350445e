import { isUint8Array } from 'node:util/types';

import type { Page, PageQuery, Selection, TableConnection } from '../../src/storage/connection.ts';
import { RequestRefused, TableMissing, WriteConflict } from '../../src/storage/errors.ts';
import { ANY_VERSION, type KeyRange, type RowWrite, type StoredRow } from '../../src/storage/row.ts';

const MOST_ROWS = 1_000;
const MOST_WRITES = 100;
const MOST_PROPERTIES = 252;
const MOST_KEY_LENGTH = 512;
const MOST_VALUE_BYTES = 64 * 1024;
const MOST_ROW_BYTES = 1024 * 1024;
const MOST_TRANSACTION_BYTES = 4 * 1024 * 1024;

interface MemoryRow {
  readonly etag: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * A table in memory that behaves as Table Storage does: atomic transactions with their limits, ETags, inserts that fail, merges at any
 * version, pages of which each is one snapshot. It never fails by itself: a world stands in front of it. The contract tests hold it
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

  async create(): Promise<void> {
    this.#exists = true;
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

  /** A table with the same rows; the rows of one do not change those of the other. */
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
    return row && selected({ partitionKey, rowKey, ...row }, selection);
  }

  async page(
    partitionKey: string,
    range: KeyRange,
    { where, most = MOST_ROWS, continuation, ...selection }: PageQuery,
  ): Promise<Page> {
    this.#demandTable();
    const from = continuation ?? range.from;
    const rows = this.#partitions.get(partitionKey);
    const found: StoredRow[] = [];
    for (const rowKey of this.#keys(partitionKey)) {
      if (rowKey < from) continue;
      if (rowKey >= range.before) break;
      const row = rows?.get(rowKey);
      const text = where && row?.properties[where.property];
      const isWanted = where === undefined || (typeof text === 'string' && where.from <= text && text <= where.to);
      if (row !== undefined && isWanted)
        found.push({ partitionKey, rowKey, etag: row.etag, properties: row.properties });
    }
    const size = Math.min(most, MOST_ROWS);
    return {
      rows: found.slice(0, size).map((row) => selected(row, selection)),
      continuation: found[size]?.rowKey,
    };
  }

  async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    this.#demandTable();
    demandLimits(partitionKey, writes);
    const rows = this.#partitions.get(partitionKey) ?? new Map<string, MemoryRow>();
    for (const [index, write] of writes.entries()) {
      if (!fits(write, rows.get(write.rowKey))) throw new WriteConflict(index);
    }
    const after = writes.map((write) => [write.rowKey, propertiesAfter(write, rows.get(write.rowKey))] as const);
    for (const [, properties] of after) demandRowLimits(properties);
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

/** undefined: the row is deleted. */
const propertiesAfter = (write: RowWrite, row: MemoryRow | undefined): MemoryRow['properties'] | undefined => {
  if (write.kind === 'delete') return undefined;
  const own = Object.entries(write.properties).filter(([, value]) => value !== undefined);
  return {
    ...(write.kind === 'merge' && row?.properties),
    ...Object.fromEntries(own.map(([name, value]) => [name, copied(value)])),
  };
};

/** Bytes and dates are copied, as on their way to storage. */
const copied = (value: unknown): unknown => {
  if (isUint8Array(value)) return Uint8Array.from(value);
  return value instanceof Date ? new Date(value) : value;
};

const selected = (row: StoredRow, { select, exact }: Selection): StoredRow => {
  const names = select && new Set(select.map((name) => (name === 'Timestamp' ? 'timestamp' : name)));
  const own = Object.entries(row.properties).filter(
    ([name]) => (names === undefined || names.has(name)) && !(exact === true && name === 'timestamp'),
  );
  return { ...row, properties: Object.fromEntries(own) };
};

const refuse = (): never => {
  throw new RequestRefused(400);
};

const isKey = (key: string): boolean =>
  // oxlint-disable-next-line no-control-regex -- these are what a key must not have
  key.length <= MOST_KEY_LENGTH && !/[/\\#?\u0000-\u001F\u007F-\u009F]/.test(key);

const demandLimits = (partitionKey: string, writes: readonly RowWrite[]): void => {
  if (writes.length === 0 || writes.length > MOST_WRITES) refuse();
  if (new Set(writes.map(({ rowKey }) => rowKey)).size !== writes.length) refuse();
  if (!isKey(partitionKey) || !writes.every(({ rowKey }) => isKey(rowKey))) refuse();
  const bytes = writes.map((write) => (write.kind === 'delete' ? 0 : bytesOf(write.properties)));
  if (bytes.reduce((sum, one) => sum + one, 0) > MOST_TRANSACTION_BYTES) refuse();
};

const demandRowLimits = (properties: Readonly<Record<string, unknown>> | undefined): void => {
  if (properties === undefined) return;
  const values = Object.entries(properties);
  if (values.length > MOST_PROPERTIES) refuse();
  if (values.some(([, value]) => valueBytes(value) > MOST_VALUE_BYTES)) refuse();
  if (bytesOf(properties) > MOST_ROW_BYTES) refuse();
};

const bytesOf = (properties: Readonly<Record<string, unknown>>): number =>
  Object.entries(properties).reduce((sum, [name, value]) => sum + 2 * name.length + valueBytes(value), 0);

const valueBytes = (value: unknown): number => {
  if (typeof value === 'string') return 2 * value.length;
  return isUint8Array(value) ? value.byteLength : 8;
};
