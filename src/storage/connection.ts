import type { KeyRange, RowWrite, StoredRow } from './row.ts';

export interface Page {
  /** Read together, in the order of their keys. */
  readonly rows: readonly StoredRow[];
  /** undefined: the range has no more rows. Otherwise it may have, even if this page is empty. */
  readonly continuation: string | undefined;
}

/** Which part of a row is read. */
export interface Selection {
  /** Names of the properties to read; all by default. `Timestamp` reads `timestamp`. */
  readonly select?: readonly string[] | undefined;
}

/** Which rows of a key range a page has. */
export interface PageQuery extends Selection {
  /** Only rows with a text between these two, both included. */
  readonly where?: { readonly property: string; readonly from: string; readonly to: string } | undefined;
  /** The maximum number of rows; by default 1,000, the limit of storage. */
  readonly most?: number | undefined;
  /** The continuation of the page before; undefined: the first page. */
  readonly continuation?: string | undefined;
}

/**
 * Single requests to one table: Table Storage by the SDK, or rows in memory. They are made once and throw the errors of this folder.
 * `Table` adds deadlines, tries, the creation of the table, and formats. Its methods have the descriptions.
 */
export interface TableConnection {
  get(partitionKey: string, rowKey: string, selection: Selection, signal: AbortSignal): Promise<StoredRow | undefined>;
  page(partitionKey: string, range: KeyRange, query: PageQuery, signal: AbortSignal): Promise<Page>;
  firstPartition(keys: KeyRange, signal: AbortSignal): Promise<string | undefined>;
  transact(partitionKey: string, writes: readonly RowWrite[], signal: AbortSignal): Promise<readonly string[]>;

  /** Creates the table; does nothing if it exists. Answers whether it did not exist. */
  create(signal: AbortSignal): Promise<boolean>;

  /**
   * Now, by the clock of storage, in milliseconds since 1970: see `StorageClock`. Before any answer to a read, by the clock of this process,
   * which may be wrong.
   */
  now(): number;
}
