import { odata, type TableClient, type TransactionAction } from '@azure/data-tables';

import { readSdkError } from '../../azure/sdk-error.ts';
import type { KeyRange } from './keys.ts';
import type { RowWrite, StoredRow } from './row.ts';
import { actionOf, moveActions, selectOf, storedRow, typedRow, type TypedRow } from './sdk-rows.ts';
import { isMissingTable, StorageTrouble, WriteConflict } from './storage-errors.ts';
import { TableRequests, type CounterTableOptions } from './table-requests.ts';

const PAGE_ROWS = 1_000;
const MOST_EMPTY_PAGES = 20;

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

/**
 * The table of the counters, over the SDK: every request has a deadline and every update an ETag. Failed reads are repeated.
 * Writes are not: the writer reads again and decides.
 */
export class CounterTable {
  readonly #requests: TableRequests;

  /** @param client created without retries of its own (`retryOptions: { maxRetries: 0 }`) */
  constructor(client: () => TableClient, options?: CounterTableOptions) {
    this.#requests = new TableRequests(client, options);
  }

  /**
   * One row as of one write, never half of two; undefined where there is none.
   *
   * @throws {StorageTrouble} after bounded tries
   * @throws {TableMissing} where there is no table and this client creates none
   */
  async get(partitionKey: string, rowKey: string, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.#requests.read(async (client, deadline) => {
      try {
        const entity = await client.getEntity(partitionKey, rowKey, {
          ...deadline,
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
   * A row with the type of each property, so that a copy of it is exact; undefined where there is none.
   *
   * @throws {StorageTrouble | TableMissing | LaterFormat}
   */
  async getTyped(partitionKey: string, rowKey: string): Promise<TypedRow | undefined> {
    const row = await this.get(partitionKey, rowKey);
    if (row === undefined) return undefined;
    return this.#requests.read(async (client, deadline) => {
      const entity = await client.getEntity(partitionKey, rowKey, { ...deadline, disableTypeConversion: true });
      return typedRow(rowKey, entity);
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
    const page = await this.#requests.read(async (client, deadline) => {
      const pages = client
        .listEntities({
          ...deadline,
          queryOptions: { filter, ...(options.select && { select: selectOf(options.select) }) },
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
    const etags = await this.#requests.submit(writes.map((write) => actionOf(partitionKey, write)));
    const answered = etags.filter((etag) => etag !== undefined);
    if (answered.length !== writes.length) throw new StorageTrouble(0);
    return answered;
  }

  /**
   * Moves rows to other keys of their partition and applies other writes, all or nothing. A row that one of the writes replaces is
   * copied only. The SDK deletes a row whatever its version: the other writes must fail where one of the rows may have changed.
   *
   * @param rows fewer than 50
   * @param movedTo the row at its new key
   * @throws {WriteConflict} where a row was not as a write expected, or is gone: nothing was applied
   * @throws {StorageTrouble | RequestRefused}
   */
  async move(
    partitionKey: string,
    rows: readonly TypedRow[],
    movedTo: (row: TypedRow) => TypedRow,
    writes: readonly RowWrite[],
  ): Promise<void> {
    const written = new Set(writes.map(({ rowKey }) => rowKey));
    await this.#requests.submit([
      ...writes.map((write) => actionOf(partitionKey, write)),
      ...rows.flatMap((row) => moveActions(partitionKey, row.rowKey, movedTo(row), written.has(row.rowKey))),
    ]);
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
    await this.#requests.submit(rowKeys.map((rowKey): TransactionAction => ['delete', { partitionKey, rowKey }]));
  }

  /** One cheap request: whether storage answers within a deadline. Never throws. */
  async answers(): Promise<boolean> {
    return this.#requests.answers(async (client, deadline) => {
      const filter = odata`PartitionKey eq ${'-'} and RowKey eq ${'-'}`;
      await client
        .listEntities({ ...deadline, queryOptions: { filter } })
        .byPage({ maxPageSize: 1 })
        .next();
    });
  }
}
