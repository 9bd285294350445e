import type { TableClient, TableEntityResult, TransactionAction } from '@azure/data-tables';

import { readSdkError, type SdkFailure } from '../../azure/sdk-error.ts';
import {
  type CommitResult,
  type KeyRange,
  type RowAddress,
  type RowChange,
  type Rows,
  RowsUnavailable,
  type RowValues,
  type StoredRow,
} from './rows.ts';

// Short: a callee hears silence meanwhile. Long enough to fetch the process's first token.
const DEADLINE_MS = 1_500;
// After two requests in a row that were not answered in time, further ones fail at once for so long. One alone may be bad luck.
const FAIL_AFTER_DEADLINE_MS = 5_000;
const MOST_MISSED = 2;
// Nobody listens to silence while a notification is written or looked up.
const PATIENT_DEADLINE_MS = 3_000;
const ROWS_A_PAGE = 1_000;

/** How long a request may take. */
interface Bounds {
  readonly deadlineMs: number;
  /** Whether it fails at once while the table was found not to answer. */
  readonly failsFast: boolean;
}

const IN_A_CALL: Bounds = { deadlineMs: DEADLINE_MS, failsFast: true };
const PATIENT: Bounds = { deadlineMs: PATIENT_DEADLINE_MS, failsFast: false };

/** The table `calls`. Every method throws {@link RowsUnavailable} and nothing else. */
export class CallsTable implements Rows {
  readonly #client: () => TableClient;
  #failsUntil = 0;
  /** Requests in a row that were not answered in time. */
  #missed = 0;

  /** @param client without the SDK's retries, which take longer than a call can wait */
  constructor(client: () => TableClient) {
    this.#client = client;
  }

  async read({ partitionKey, rowKey }: RowAddress, patience: 'in a call' | 'patient'): Promise<StoredRow | undefined> {
    return this.#request(
      patience === 'patient' ? PATIENT : IN_A_CALL,
      async (abortSignal) => storedRow(await this.#client().getEntity(partitionKey, rowKey, { abortSignal })),
      isMissing,
    );
  }

  write(address: RowAddress, values: RowValues, readEtag: string | undefined): Promise<string | undefined> {
    return this.#request(
      IN_A_CALL,
      async (abortSignal) => {
        const row = { ...address, ...values };
        const { etag } =
          readEtag === undefined
            ? await this.#client().createEntity(row, { abortSignal })
            : await this.#client().updateEntity(row, 'Replace', { etag: readEtag, abortSignal });
        return etag;
      },
      hasConflict,
    );
  }

  async list(partitionKey: string, { from, to }: KeyRange, mostRows = Infinity): Promise<readonly StoredRow[]> {
    const filter = `PartitionKey eq '${partitionKey}' and RowKey ge '${from}' and RowKey le '${to}'`;
    const rows: StoredRow[] = [];
    let continuationToken: string | undefined;
    do {
      const page = await this.#request(
        PATIENT,
        async (abortSignal) => {
          const pages = this.#client()
            .listEntities({ queryOptions: { filter }, abortSignal })
            .byPage({
              maxPageSize: Math.min(ROWS_A_PAGE, mostRows),
              ...(continuationToken === undefined ? {} : { continuationToken }),
            });
          for await (const found of pages) return found;
          return undefined;
        },
        () => false,
      );
      rows.push(...(page ?? []).map(storedRow));
      continuationToken = page?.continuationToken;
    } while (continuationToken !== undefined && rows.length < mostRows);
    return rows.slice(0, mostRows);
  }

  async commit(partitionKey: string, changes: readonly RowChange[]): Promise<CommitResult> {
    const done = await this.#request(
      PATIENT,
      async (abortSignal) => {
        await this.#client().submitTransaction(
          changes.map((change) => actionOf(partitionKey, change)),
          { abortSignal },
        );
        return 'done' as const;
      },
      hasConflict,
    );
    return done ?? 'conflict';
  }

  async delete({ partitionKey, rowKey }: RowAddress): Promise<void> {
    await this.#request(
      PATIENT,
      (abortSignal) => this.#client().deleteEntity(partitionKey, rowKey, { abortSignal }),
      isMissing,
    );
  }

  async #request<Answer>(
    { deadlineMs, failsFast }: Bounds,
    send: (abortSignal: AbortSignal) => Promise<Answer>,
    meansNone: (failure: SdkFailure) => boolean,
  ): Promise<Answer | undefined> {
    if (failsFast && performance.now() < this.#failsUntil) throw new RowsUnavailable('deadline');
    const deadline = AbortSignal.timeout(deadlineMs);
    for (let created = false; ; created = true) {
      try {
        const answer = await send(deadline);
        this.#failsUntil = 0;
        this.#missed = 0;
        return answer;
      } catch (error) {
        if (deadline.aborted) {
          this.#missed += 1;
          if (this.#missed >= MOST_MISSED) this.#failsUntil = performance.now() + FAIL_AFTER_DEADLINE_MS;
          throw new RowsUnavailable('deadline');
        }
        const failure = readSdkError(error);
        if (failure.code === 'TableNotFound' && !created) {
          await this.#create(deadline);
          continue;
        }
        if (meansNone(failure)) return undefined;
        throw unavailable(failure);
      }
    }
  }

  // The SDK's createTable does not throw where the table exists.
  async #create(abortSignal: AbortSignal): Promise<void> {
    try {
      await this.#client().createTable({ abortSignal });
    } catch (error) {
      throw unavailable(readSdkError(error));
    }
  }
}

// A 404 without the code of Table Storage comes from something else in between: it says nothing about rows.
const isMissing = ({ status, code }: SdkFailure): boolean =>
  status === 404 && (code === 'ResourceNotFound' || code === 'EntityNotFound');

const hasConflict = (failure: SdkFailure): boolean =>
  failure.status === 409 || failure.status === 412 || isMissing(failure);

const storedRow = (entity: TableEntityResult<Record<string, unknown>>): StoredRow => ({
  values: entity,
  rowKey: entity.rowKey ?? '',
  etag: entity.etag,
});

const actionOf = (partitionKey: string, change: RowChange): TransactionAction => {
  const address = { partitionKey, rowKey: change.rowKey };
  switch (change.kind) {
    case 'insert':
      return ['create', { ...address, ...change.values }];
    case 'replace':
      return ['update', { ...address, ...change.values }, 'Replace', { etag: change.etag }];
    case 'delete':
      return ['delete', address];
  }
};

const unavailable = ({ code, status, unanswered }: SdkFailure): RowsUnavailable =>
  new RowsUnavailable(code ?? unanswered ?? String(status));
