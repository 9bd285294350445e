import { odata, type TableClient, type TransactionAction } from '@azure/data-tables';

import { readSdkError } from '../../azure/sdk-error.ts';
import type { KeyRange } from './keys.ts';

/** A row as it is stored: its properties by name, and its version. */
export interface StoredRow {
  readonly rowKey: string;
  readonly etag: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** What a property may hold here. Numbers stay below 2^31: the SDK sends them without a type. */
export type PropertyValue = string | number | boolean | Uint8Array;

/** One write of a transaction. An insert demands that the row is not there, the others that it has not changed. */
export type RowWrite =
  | { readonly kind: 'insert'; readonly rowKey: string; readonly properties: Readonly<Record<string, PropertyValue>> }
  | {
      /** `merge` leaves alone the properties that it does not name; `replace` removes them. */
      readonly kind: 'merge' | 'replace';
      readonly rowKey: string;
      readonly etag: string;
      readonly properties: Readonly<Record<string, PropertyValue>>;
    };

/** A write of a row that was stored with a version, or never (`etag` undefined: an insert). */
export const writeOf = (
  rowKey: string,
  etag: string | undefined,
  properties: Readonly<Record<string, PropertyValue>>,
  kind: 'merge' | 'replace' = 'merge',
): RowWrite => (etag === undefined ? { kind: 'insert', rowKey, properties } : { kind, rowKey, etag, properties });

/** A row was not as a write expected: inserted, changed or removed by someone else, or by an answer that got lost. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
}

/** Storage did not take a request, or did not answer: nobody knows whether a write was applied. Trying again may help. */
export class StorageTrouble extends Error {
  override readonly name = 'StorageTrouble';
  /** What storage asked to wait, in milliseconds; 0 where it did not say. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number, options?: ErrorOptions) {
    super('table storage did not take the request', options);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Storage will never take this request: the same again would fail the same way. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly status: number;

  constructor(status: number, options?: ErrorOptions) {
    super(`table storage refused the request with status ${status}`, options);
    this.status = status;
  }
}

/** The table is not there, and this client does not make it. */
export class TableMissing extends Error {
  override readonly name = 'TableMissing';
}

/** How a table is used. */
export interface CounterTableOptions {
  /** Whether the table is made on first use, true by default; false for those who only read. */
  readonly makesTable?: boolean;
  /** Most that one request may take, in milliseconds; 5,000 by default. */
  readonly deadlineMs?: number;
}

const REQUEST_DEADLINE_MS = 5_000;
const READ_TRIES = 4;
const PAGE_ROWS = 1_000;

/** How long to wait before try `n` (1, 2, …) of something that was refused: exponential, with full jitter, in milliseconds. */
export const backoffMs = (tries: number, baseMs: number, mostMs: number): number =>
  Math.random() * Math.min(mostMs, baseMs * 2 ** (tries - 1));

const wait = async (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

const isMissingTable = (error: unknown): boolean => {
  const { status, code } = readSdkError(error);
  return status === 404 && code === 'TableNotFound';
};

/** An error of the SDK → one of the three kinds that matter here. */
const kindOf = (error: unknown): Error => {
  const { status, retryAfterMs = 0 } = readSdkError(error);
  // Below 400: success, in an answer that cannot be read. The write may have been applied.
  if (status === undefined || status < 400) return new StorageTrouble(0, { cause: error });
  if (status === 409 || status === 412 || status === 404) return new WriteConflict('a row changed', { cause: error });
  // 401 and 403: the app's own access is wrong. That is no fault of what is written, and it can be mended.
  if (status >= 500 || [401, 403, 408, 429].includes(status)) return new StorageTrouble(retryAfterMs, { cause: error });
  return new RequestRefused(status, { cause: error });
};

/** Options of a read. */
export interface ReadOptions {
  /** Names of the properties wanted; all where it is not given. */
  readonly select?: readonly string[];
  /** A further condition, in OData, on top of the key range. */
  readonly filter?: string;
}

const toStoredRow = (entity: Readonly<Record<string, unknown>>): StoredRow => {
  const { rowKey, etag } = entity;
  if (typeof rowKey !== 'string' || typeof etag !== 'string') throw new TypeError('a row came without key or etag');
  // Table Storage answers null for each selected property that a row has not; Azurite leaves it out.
  const properties = Object.fromEntries(Object.entries(entity).filter(([, value]) => value !== null));
  return { rowKey, etag, properties };
};

/**
 * The table of the counters, over the SDK: every request has a deadline, every update an ETag, reads are tried again, and
 * the errors are the three kinds above. Writes are never repeated here: whoever writes decides after reading again.
 */
export class CounterTable {
  readonly #client: () => TableClient;
  readonly #makesTable: boolean;
  readonly #deadlineMs: number;
  #created: Promise<void> | undefined;

  /** @param client made without retries of its own (`retryOptions: { maxRetries: 0 }`) */
  constructor(
    client: () => TableClient,
    { makesTable = true, deadlineMs = REQUEST_DEADLINE_MS }: CounterTableOptions = {},
  ) {
    this.#client = client;
    this.#makesTable = makesTable;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * One row, whole as of one moment; undefined where there is none.
   *
   * @throws {StorageTrouble} after bounded tries
   * @throws {TableMissing} where there is no table and this client makes none
   */
  async get(partitionKey: string, rowKey: string, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.#reading(async () => {
      try {
        const entity = await this.#client().getEntity(partitionKey, rowKey, {
          abortSignal: AbortSignal.timeout(this.#deadlineMs),
          ...(select && { queryOptions: { select: ['RowKey', ...select] } }),
        });
        return toStoredRow({ ...entity, rowKey });
      } catch (error) {
        if (readSdkError(error).status === 404 && !isMissingTable(error)) return undefined;
        throw error;
      }
    });
  }

  /**
   * The rows of a key range in order, page by page; every continuation is followed, also after an empty page. A page is
   * whole as of one moment, two pages are not.
   *
   * @throws {StorageTrouble} after bounded tries of one page
   * @throws {TableMissing} where there is no table and this client makes none
   */
  async *pages(partitionKey: string, range: KeyRange, options: ReadOptions = {}): AsyncGenerator<readonly StoredRow[]> {
    const keys = odata`PartitionKey eq ${partitionKey} and RowKey ge ${range.from} and RowKey lt ${range.before}`;
    const filter = options.filter === undefined ? keys : `${keys} and ${options.filter}`;
    let continuation: string | undefined;
    do {
      const page = await this.#reading(async () => {
        const pages = this.#client()
          .listEntities({
            queryOptions: { filter, ...(options.select && { select: ['RowKey', ...options.select] }) },
            abortSignal: AbortSignal.timeout(this.#deadlineMs),
          })
          .byPage({ maxPageSize: PAGE_ROWS, ...(continuation !== undefined && { continuationToken: continuation }) });
        const { value, done } = await pages.next();
        return done === true ? undefined : value;
      });
      if (page === undefined) return;
      continuation = page.continuationToken;
      yield page.map(toStoredRow);
    } while (continuation !== undefined && continuation !== '');
  }

  /** All rows of a key range, see {@link pages}. */
  async all(partitionKey: string, range: KeyRange, options: ReadOptions = {}): Promise<readonly StoredRow[]> {
    const rows: StoredRow[] = [];
    for await (const page of this.pages(partitionKey, range, options)) rows.push(...page);
    return rows;
  }

  /**
   * Applies all writes or none, once.
   *
   * @param writes 1 to 100, each to another row, 4 MiB in all
   * @returns the rows' new ETags, in the order of the writes
   * @throws {WriteConflict} where a row was not as expected: nothing was applied
   * @throws {StorageTrouble} where storage could not, or where nobody knows
   * @throws {RequestRefused} where it never will
   */
  async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const actions = writes.map((write): TransactionAction => {
      const entity = { partitionKey, rowKey: write.rowKey, ...write.properties };
      if (write.kind === 'insert') return ['create', entity];
      // Without the ETag the SDK sends If-Match: * and a stale write would win in silence.
      return ['update', entity, write.kind === 'merge' ? 'Merge' : 'Replace', { etag: write.etag }];
    });
    await this.#create();
    try {
      const answer = await this.#client().submitTransaction(actions, {
        abortSignal: AbortSignal.timeout(this.#deadlineMs),
      });
      const etags = answer.subResponses.map((response) => response.etag);
      if (etags.length !== writes.length || !etags.every((etag) => etag !== undefined)) {
        throw new StorageTrouble(0);
      }
      return etags;
    } catch (error) {
      if (isMissingTable(error)) {
        this.#created = undefined;
        throw new StorageTrouble(0, { cause: error });
      }
      throw error instanceof StorageTrouble ? error : kindOf(error);
    }
  }

  /**
   * Inserts one row.
   *
   * @returns false where there was one
   * @throws {StorageTrouble} where storage could not, or where nobody knows
   */
  async insert(partitionKey: string, write: RowWrite): Promise<boolean> {
    try {
      await this.transact(partitionKey, [write]);
      return true;
    } catch (error) {
      if (error instanceof WriteConflict) return false;
      throw error;
    }
  }

  /** One cheap request: whether storage answers within a deadline. Never throws. */
  async answers(): Promise<boolean> {
    try {
      await this.#create();
      await this.#client()
        .listEntities({
          queryOptions: { filter: odata`PartitionKey eq ${'-'} and RowKey eq ${'-'}` },
          abortSignal: AbortSignal.timeout(this.#deadlineMs),
        })
        .byPage({ maxPageSize: 1 })
        .next();
      return true;
    } catch {
      return false;
    }
  }

  async #reading<Result>(read: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      await this.#create();
      try {
        return await read();
      } catch (error) {
        if (isMissingTable(error)) {
          if (!this.#makesTable) throw new TableMissing('the table is not there', { cause: error });
          this.#created = undefined;
        }
        const kind = isMissingTable(error) ? new StorageTrouble(0, { cause: error }) : kindOf(error);
        if (!(kind instanceof StorageTrouble) || tries === READ_TRIES) throw kind;
        await wait(Math.max(Math.min(kind.retryAfterMs, 3_000), backoffMs(tries, 50, 1_000)));
      }
    }
  }

  /** Makes the table, once a process; creating one that is there does not fail. */
  async #create(): Promise<void> {
    if (!this.#makesTable) return;
    this.#created ??= this.#client().createTable({ abortSignal: AbortSignal.timeout(this.#deadlineMs) });
    try {
      await this.#created;
    } catch (error) {
      this.#created = undefined;
      // An identity may use the table and yet not make tables: the request itself will tell.
      const { status, retryAfterMs = 0 } = readSdkError(error);
      if (status === 403) this.#created = Promise.resolve();
      else throw new StorageTrouble(retryAfterMs, { cause: error });
    }
  }
}
