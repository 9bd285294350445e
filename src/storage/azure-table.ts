import { odata, TableClient, type TransactionAction } from '@azure/data-tables';
import type { TokenCredential } from '@azure/identity';

import { lazily } from '../azure/lazily.ts';
import { ONE_REQUEST } from '../azure/one-request.ts';
import { readSdkError } from '../azure/sdk-error.ts';
import type { Settings } from '../settings.ts';
import type { Page, PageQuery, Selection, TableConnection } from './connection.ts';
import { RequestRefused, StorageTrouble, TableMissing, WriteConflict } from './errors.ts';
import type { KeyRange, RowWrite, StoredRow } from './row.ts';
import { StorageClock } from './storage-clock.ts';

const PAGE_ROWS = 1_000;

/**
 * A table of Azure Table Storage, or of Azurite.
 *
 * @param name the table's name without the prefix
 */
export const azureTable = (
  { connection, prefix }: Settings['tables'],
  name: string,
  credential: TokenCredential,
): TableConnection =>
  new AzureTable(
    lazily(() => {
      const table = `${prefix}${name}`;
      return 'connectionString' in connection
        ? // The settings accept plain http for loopback addresses only.
          TableClient.fromConnectionString(connection.connectionString, table, {
            ...ONE_REQUEST,
            allowInsecureConnection: true,
          })
        : new TableClient(connection.endpoint, table, credential, ONE_REQUEST);
    }),
  );

/** Requests to a table over the SDK. */
export class AzureTable implements TableConnection {
  readonly #client: () => TableClient;
  readonly #clock = new StorageClock();

  /** @param client without the SDK's own retries, which take longer than the callers can wait ({@link ONE_REQUEST}) */
  constructor(client: () => TableClient) {
    this.#client = client;
  }

  async get(
    partitionKey: string,
    rowKey: string,
    { select }: Selection,
    abortSignal: AbortSignal,
  ): Promise<StoredRow | undefined> {
    try {
      const entity = await this.#client().getEntity(partitionKey, rowKey, {
        abortSignal,
        onResponse: this.#noteDate,
        ...(select && { queryOptions: { select: selectOf(select) } }),
      });
      return storedRow(partitionKey, { ...entity, rowKey });
    } catch (error) {
      // A 404 without the code of Table Storage comes from something in between: it says nothing about rows.
      if (isCode(error, 404, 'ResourceNotFound', 'EntityNotFound')) return undefined;
      throw readFailure(error);
    }
  }

  async page(
    partitionKey: string,
    range: KeyRange,
    { select, where, most = PAGE_ROWS, continuation }: PageQuery,
    abortSignal: AbortSignal,
  ): Promise<Page> {
    const keys = odata`PartitionKey eq ${partitionKey} and RowKey ge ${range.from} and RowKey lt ${range.before}`;
    // A template of `odata` quotes every value: it accepts no name of a property.
    const filter = where
      ? `${keys} and ${where.property} ${odata`ge ${where.from}`} and ${where.property} ${odata`le ${where.to}`}`
      : keys;
    try {
      const pages = this.#client()
        .listEntities({
          abortSignal,
          onResponse: this.#noteDate,
          queryOptions: { filter, ...(select && { select: selectOf(select) }) },
        })
        .byPage({
          maxPageSize: most,
          ...(continuation !== undefined && { continuationToken: continuation }),
        });
      const { value, done } = await pages.next();
      const page = done === true ? undefined : value;
      const next = page?.continuationToken;
      return {
        rows: (page ?? []).map((entity) => storedRow(partitionKey, entity)),
        continuation: next === '' ? undefined : next,
      };
    } catch (error) {
      throw readFailure(error);
    }
  }

  async firstPartition({ from, before }: KeyRange, abortSignal: AbortSignal): Promise<string | undefined> {
    const filter = odata`PartitionKey ge ${from} and PartitionKey lt ${before}`;
    try {
      const rows = this.#client().listEntities({
        abortSignal,
        onResponse: this.#noteDate,
        queryOptions: { filter, select: ['PartitionKey'] },
      });
      // Azure may answer empty pages before the first row.
      for await (const [row] of rows.byPage({ maxPageSize: 1 })) if (row !== undefined) return row.partitionKey;
      return undefined;
    } catch (error) {
      throw readFailure(error);
    }
  }

  now(): number {
    return this.#clock.now();
  }

  readonly #noteDate = (answer: { readonly headers: { get: (name: string) => string | undefined } }): void =>
    this.#clock.note(Date.parse(answer.headers.get('date') ?? ''));

  async transact(
    partitionKey: string,
    writes: readonly RowWrite[],
    abortSignal: AbortSignal,
  ): Promise<readonly string[]> {
    try {
      const actions = writes.map((write) => actionOf(partitionKey, write));
      const { subResponses } = await this.#client().submitTransaction(actions, { abortSignal });
      return writes.map(({ kind }, index) => (kind === 'delete' ? '' : ownEtag(subResponses[index]?.etag)));
    } catch (error) {
      throw writeFailure(error);
    }
  }

  async create(abortSignal: AbortSignal): Promise<boolean> {
    try {
      // The SDK does not throw if the table exists: then the status is 409.
      let status: number | undefined;
      await this.#client().createTable({ abortSignal, onResponse: (answer) => (status = answer.status) });
      return status !== 409;
    } catch (error) {
      const failure = readFailure(error);
      // RequestRefused would say that the rows of a write are at fault.
      throw failure instanceof RequestRefused
        ? new StorageTrouble(0, { reason: 'not created', cause: error })
        : failure;
    }
  }
}

const actionOf = (partitionKey: string, write: RowWrite): TransactionAction => {
  const entity = { ...(write.kind !== 'delete' && write.properties), partitionKey, rowKey: write.rowKey };
  switch (write.kind) {
    case 'insert':
      return ['create', entity];
    case 'merge':
    case 'replace':
      // Without the ETag the SDK sends If-Match: * and a stale write would win silently.
      return ['update', entity, write.kind === 'merge' ? 'Merge' : 'Replace', { etag: write.etag }];
    case 'delete':
      return ['delete', entity];
  }
};

/**
 * A copy of an ETag: the SDK cuts it out of the text of an answer, and V8 keeps that whole text for as long as a part of it is kept.
 *
 * @throws {StorageTrouble} without an ETag: every success has an ETag, so the answer cannot be read
 */
const ownEtag = (etag: unknown): string => {
  if (typeof etag !== 'string') throw new StorageTrouble(0, { reason: 'no etag' });
  return Buffer.from(etag, 'latin1').toString('latin1');
};

const selectOf = (select: readonly string[]): string[] => ['RowKey', ...select];

const storedRow = (partitionKey: string, entity: Readonly<Record<string, unknown>>): StoredRow => {
  const { partitionKey: _, rowKey, etag, ...others } = entity;
  if (typeof rowKey !== 'string') throw new StorageTrouble(0, { reason: 'no key' });
  const properties: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(others)) {
    // Table Storage answers null for each selected property that a row lacks; Azurite leaves it out.
    if (value === null || name.startsWith('odata.')) continue;
    // A copy of the bytes: small values are slices of a shared block, and a remembered slice would keep the whole block.
    properties[name] = value instanceof Uint8Array ? new Uint8Array(value) : value;
  }
  return { partitionKey, rowKey, etag: ownEtag(etag), properties };
};

const isCode = (error: unknown, status: number, ...codes: readonly string[]): boolean => {
  const failure = readSdkError(error);
  return failure.status === status && failure.code !== undefined && codes.includes(failure.code);
};

/** Table Storage's codes are words such as `EntityTooLarge`; the SDK's own codes are `PARSE_ERROR` and the like. */
const isTableCode = (code: string | undefined): boolean => code !== undefined && /^[A-Z][a-z]/.test(code);

/** The meaning of a failed request: each status with its reason. */
const readFailure = (error: unknown): Error => {
  if (error instanceof StorageTrouble) return error;
  if (isCode(error, 404, 'TableNotFound')) return new TableMissing({ cause: error });
  const { status, code, unanswered, retryAfterMs = 0 } = readSdkError(error);
  const reason = code ?? unanswered ?? String(status);
  // Below 400: success, in an answer that cannot be read. A write may have been applied.
  if (status === undefined || status < 400) return new StorageTrouble(0, { reason, cause: error });
  // 400 and 413 with a code of Table Storage: it never stores such rows. Any other failure is not a fault of the rows, and an operator can fix it:
  // the access of the app is wrong (401, 403), or something in between answers.
  if ((status === 400 || status === 413) && isTableCode(code)) return new RequestRefused(status, { cause: error });
  return new StorageTrouble(retryAfterMs, { reason, cause: error });
};

const writeFailure = (error: unknown): Error => {
  const { status } = readSdkError(error);
  const isConflict = status === 409 || status === 412 || isCode(error, 404, 'ResourceNotFound', 'EntityNotFound');
  // A table that is being deleted answers 409, too: that is not a conflict of rows.
  if (isConflict && !isCode(error, 409, 'TableBeingDeleted')) {
    return new WriteConflict(failedIndex(error), { cause: error });
  }
  return readFailure(error);
};

/** The message of a failed transaction starts with the index of the write that failed: `2:The update condition …`. */
const failedIndex = (error: unknown): number | undefined => {
  const index = error instanceof Error ? /^(\d{1,2}):/.exec(error.message)?.[1] : undefined;
  return index === undefined ? undefined : Number(index);
};
