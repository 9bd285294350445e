import { odata, type TableClient, type TransactionAction } from '@azure/data-tables';

import { readSdkError } from '../../azure/sdk-error.ts';
import { checkFormat, FORMAT_PROPERTY, LaterFormat } from './format.ts';
import type { KeyRange } from './keys.ts';
import { sentProperties, type RowWrite, type StoredRow } from './row.ts';
import { backoffMs, isMissingTable, kindOf, StorageTrouble, TableMissing, WriteConflict } from './storage-errors.ts';

/** How a table is used. */
export interface CounterTableOptions {
  /** Whether the table is created on first use; true by default, false for those who only read. */
  readonly makesTable?: boolean;
  /** Deadline of each request, in milliseconds; 5,000 by default. */
  readonly deadlineMs?: number;
}

const REQUEST_DEADLINE_MS = 5_000;
const READ_TRIES = 4;
const PAGE_ROWS = 1_000;
const MOST_EMPTY_PAGES = 20;

const wait = async (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** A page of rows. */
export interface Page {
  /** Read together, in the order of their keys. */
  readonly rows: readonly StoredRow[];
  /** undefined: the range has no more rows. Else it may have, also where this page is empty. */
  readonly continuation: string | undefined;
}

/** Storage answered one empty page after another. Reading the rows by their keys may help. */
export class EmptyPages extends StorageTrouble {}

/** Options of a read. */
export interface ReadOptions {
  /** Names of the properties to read; all by default. */
  readonly select?: readonly string[];
  /** A condition in OData besides the key range. */
  readonly filter?: string;
}

const storedRow = (partitionKey: string, entity: Readonly<Record<string, unknown>>): StoredRow => {
  const { rowKey, etag } = entity;
  // Every answer has both: one without is an answer that cannot be read.
  if (typeof rowKey !== 'string' || typeof etag !== 'string') throw new StorageTrouble(0);
  // Table Storage answers null for each selected property that a row lacks; Azurite leaves it out.
  const properties = Object.fromEntries(Object.entries(entity).filter(([, value]) => value !== null));
  checkFormat({ partitionKey, rowKey }, properties);
  return { partitionKey, rowKey, etag, properties };
};

/** A row as it is stored, each property with its type, in the form of the SDK. */
export interface TypedRow {
  readonly rowKey: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

const SYSTEM_PROPERTIES: ReadonlySet<string> = new Set(['partitionKey', 'rowKey', 'timestamp', 'etag']);

const actionOf = (partitionKey: string, write: RowWrite): TransactionAction => {
  const entity = { partitionKey, rowKey: write.rowKey, ...sentProperties(write) };
  if (write.kind === 'insert') return ['create', entity];
  // Without the ETag the SDK sends If-Match: * and a stale write would win silently.
  return ['update', entity, write.kind === 'merge' ? 'Merge' : 'Replace', { etag: write.etag }];
};

/** The names to select for some properties. */
const selectOf = (select: readonly string[]): string[] => ['RowKey', FORMAT_PROPERTY, ...select];

/**
 * The table of the counters, over the SDK: every request has a deadline and every update an ETag. Failed reads are repeated.
 * Writes are not: the writer reads again and decides.
 */
export class CounterTable {
  readonly #client: () => TableClient;
  readonly #makesTable: boolean;
  readonly #deadlineMs: number;
  #created: Promise<void> | undefined;

  /** @param client created without retries of its own (`retryOptions: { maxRetries: 0 }`) */
  constructor(
    client: () => TableClient,
    { makesTable = true, deadlineMs = REQUEST_DEADLINE_MS }: CounterTableOptions = {},
  ) {
    this.#client = client;
    this.#makesTable = makesTable;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * One row as of one write, never half of two; undefined where there is none.
   *
   * @throws {StorageTrouble} after bounded tries
   * @throws {TableMissing} where there is no table and this client creates none
   */
  async get(partitionKey: string, rowKey: string, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.#reading(async () => {
      try {
        const entity = await this.#client().getEntity(partitionKey, rowKey, {
          abortSignal: AbortSignal.timeout(this.#deadlineMs),
          ...(select && { queryOptions: { select: selectOf(select) } }),
        });
        return storedRow(partitionKey, { ...entity, rowKey });
      } catch (error) {
        if (readSdkError(error).status === 404 && !isMissingTable(error)) return undefined;
        throw error;
      }
    });
  }

  /**
   * The rows of a key range in order, page by page; every continuation is followed, also after an empty page. The rows of a
   * page were read together, those of two pages were not.
   *
   * @throws {EmptyPages} where storage only answers empty pages
   * @throws {StorageTrouble} after bounded tries of one page
   * @throws {TableMissing} where there is no table and this client creates none
   */
  async *pages(partitionKey: string, range: KeyRange, options: ReadOptions = {}): AsyncGenerator<readonly StoredRow[]> {
    let next: string | undefined;
    let empty = 0;
    do {
      const { rows, continuation } = await this.page(partitionKey, range, options, next);
      empty = rows.length === 0 ? empty + 1 : 0;
      if (empty > MOST_EMPTY_PAGES) throw new EmptyPages(0);
      next = continuation;
      yield rows;
    } while (next !== undefined);
  }

  /**
   * One page of the rows of a key range, which were read together.
   *
   * @param from the continuation of the page before; undefined: the first page
   * @throws {StorageTrouble} after bounded tries
   * @throws {TableMissing} where there is no table and this client creates none
   */
  async page(partitionKey: string, range: KeyRange, options: ReadOptions = {}, from?: string): Promise<Page> {
    const keys = odata`PartitionKey eq ${partitionKey} and RowKey ge ${range.from} and RowKey lt ${range.before}`;
    const filter = options.filter === undefined ? keys : `${keys} and ${options.filter}`;
    const page = await this.#reading(async () => {
      const pages = this.#client()
        .listEntities({
          queryOptions: { filter, ...(options.select && { select: selectOf(options.select) }) },
          abortSignal: AbortSignal.timeout(this.#deadlineMs),
        })
        .byPage({ maxPageSize: PAGE_ROWS, ...(from !== undefined && { continuationToken: from }) });
      const { value, done } = await pages.next();
      return done === true ? undefined : value;
    });
    const continuation = page?.continuationToken;
    return {
      rows: (page ?? []).map((entity) => storedRow(partitionKey, entity)),
      continuation: continuation === '' ? undefined : continuation,
    };
  }

  /** All rows of a key range; see {@link pages}. */
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
   * @throws {StorageTrouble} where storage failed: the writes may have been applied or not
   * @throws {RequestRefused} where storage would never take them
   */
  async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await this.#submit(writes.map((write) => actionOf(partitionKey, write)));
    const answered = etags.filter((etag) => etag !== undefined);
    if (answered.length !== writes.length) throw new StorageTrouble(0);
    return answered;
  }

  async #submit(actions: TransactionAction[]): Promise<readonly (string | undefined)[]> {
    await this.#create();
    try {
      const answer = await this.#client().submitTransaction(actions, {
        abortSignal: AbortSignal.timeout(this.#deadlineMs),
      });
      return answer.subResponses.map((response) => response.etag);
    } catch (error) {
      throw this.#writeError(error);
    }
  }

  /**
   * A row with the type of each property, so that a copy of it is exact; undefined where there is none.
   *
   * @throws {StorageTrouble | TableMissing | LaterFormat}
   */
  async getTyped(partitionKey: string, rowKey: string): Promise<TypedRow | undefined> {
    const row = await this.get(partitionKey, rowKey);
    if (row === undefined) return undefined;
    return this.#reading(async () => {
      const entity = await this.#client().getEntity(partitionKey, rowKey, {
        abortSignal: AbortSignal.timeout(this.#deadlineMs),
        disableTypeConversion: true,
      });
      const own = Object.entries(entity).filter(([name]) => !SYSTEM_PROPERTIES.has(name) && !name.startsWith('odata.'));
      return { rowKey, properties: Object.fromEntries(own) };
    });
  }

  /**
   * Moves rows to other keys of their partition and applies other writes, all or nothing. A row that one of the writes replaces is
   * copied only. The SDK deletes a row whatever its version: the other writes must fail where one of the rows may have changed.
   *
   * @param rows fewer than 50
   * @param keyOf the new key of a row
   * @throws {WriteConflict} where a row was not as a write expected, or is gone: nothing was applied
   * @throws {StorageTrouble | RequestRefused}
   */
  async move(
    partitionKey: string,
    rows: readonly TypedRow[],
    keyOf: (rowKey: string) => string,
    writes: readonly RowWrite[],
  ): Promise<void> {
    const written = new Set(writes.map(({ rowKey }) => rowKey));
    const moves = rows.flatMap(({ rowKey, properties }): TransactionAction[] => {
      const copied: TransactionAction = ['create', { ...properties, partitionKey, rowKey: keyOf(rowKey) }];
      return written.has(rowKey) ? [copied] : [copied, ['delete', { partitionKey, rowKey }]];
    });
    await this.#submit([...writes.map((write) => actionOf(partitionKey, write)), ...moves]);
  }

  /**
   * Inserts one row.
   *
   * @returns false where the row exists already
   * @throws {StorageTrouble} where storage failed: the row may have been inserted or not
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

  /**
   * Deletes rows, all or none, whatever their versions.
   *
   * @param rowKeys 1 to 100
   * @throws {WriteConflict} where one of them is gone already: nothing was deleted
   * @throws {StorageTrouble} where storage failed: they may have been deleted or not
   */
  async remove(partitionKey: string, rowKeys: readonly string[]): Promise<void> {
    await this.#submit(rowKeys.map((rowKey): TransactionAction => ['delete', { partitionKey, rowKey }]));
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

  #writeError(error: unknown): Error {
    if (isMissingTable(error)) {
      this.#created = undefined;
      return new StorageTrouble(0, { cause: error });
    }
    return error instanceof StorageTrouble ? error : kindOf(error);
  }

  async #reading<Result>(read: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      await this.#create();
      try {
        return await read();
      } catch (error) {
        if (error instanceof LaterFormat) throw error;
        if (isMissingTable(error)) {
          if (!this.#makesTable) throw new TableMissing('the table does not exist', { cause: error });
          this.#created = undefined;
        }
        const kind = isMissingTable(error) ? new StorageTrouble(0, { cause: error }) : kindOf(error);
        if (!(kind instanceof StorageTrouble) || tries === READ_TRIES) throw kind;
        await wait(Math.max(Math.min(kind.retryAfterMs, 3_000), backoffMs(tries, 50, 1_000)));
      }
    }
  }

  /** Creates the table, once a process. Creating one that exists does not fail. */
  async #create(): Promise<void> {
    if (!this.#makesTable) return;
    this.#created ??= this.#client().createTable({ abortSignal: AbortSignal.timeout(this.#deadlineMs) });
    try {
      await this.#created;
    } catch (error) {
      this.#created = undefined;
      // An identity may be allowed to use the table and not to create one: the request itself shows that.
      const { status, retryAfterMs = 0 } = readSdkError(error);
      if (status === 403) this.#created = Promise.resolve();
      else throw new StorageTrouble(retryAfterMs, { cause: error });
    }
  }
}
