/** A row's address. */
export interface RowAddress {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** The values of a row; times are `Date`s. A property that is undefined is not stored. */
export type RowValues = Readonly<Record<string, string | number | boolean | Date | undefined>>;

/** A row as it was read, with the ETag that a later write must send. */
export interface StoredRow {
  readonly rowKey: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly etag: string;
}

/** Row keys, both ends included. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** A change of one row in a commit. A deleted row must exist. */
export type RowChange =
  | { readonly kind: 'insert'; readonly rowKey: string; readonly values: RowValues }
  | { readonly kind: 'replace'; readonly rowKey: string; readonly values: RowValues; readonly etag: string }
  | { readonly kind: 'delete'; readonly rowKey: string };

/** `conflict`: nothing was changed; another writer was first. */
export type CommitResult = 'done' | 'conflict';

/** The rows could not be read or written in time. A write may have been done. */
export class RowsUnavailable extends Error {
  override readonly name = 'RowsUnavailable';
  /** An error code, an HTTP status or a few words; never the SDK's message. */
  readonly kind: string;

  constructor(kind: string) {
    super('The rows of calls cannot be used.');
    this.kind = kind;
  }
}

/** Rows with compare-and-swap, and transactions within a partition. */
export interface Rows {
  /**
   * The row; undefined where there is none.
   *
   * @param patience `in a call`: a callee hears silence meanwhile
   */
  read(address: RowAddress, patience: 'in a call' | 'patient'): Promise<StoredRow | undefined>;

  /**
   * Inserts a row, or replaces the one that was read.
   *
   * @param readEtag the ETag of the row that was read; undefined: insert
   * @returns the new ETag; undefined where another writer was first
   */
  write(address: RowAddress, values: RowValues, readEtag: string | undefined): Promise<string | undefined>;

  /** The rows of a range in the order of their keys, at most so many. */
  list(partitionKey: string, range: KeyRange, mostRows?: number): Promise<readonly StoredRow[]>;

  /** Makes all of up to 100 changes, or none. */
  commit(partitionKey: string, changes: readonly RowChange[]): Promise<CommitResult>;

  /** Deletes a row, if it is there. */
  delete(address: RowAddress): Promise<void>;
}
