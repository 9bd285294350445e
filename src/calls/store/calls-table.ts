import type { TableClient, TableEntityResult } from '@azure/data-tables';

import { readSdkError, type SdkFailure } from '../../azure/sdk-error.ts';

/** A row's address in the `calls` table. */
export interface RowAddress {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** The values of a row; times are `Date`s. A property that is undefined is not stored. */
export type RowValues = Readonly<Record<string, string | number | Date | undefined>>;

/** A row as it was read, with the ETag that a later write must send. */
export interface StoredRow {
  readonly values: Readonly<Record<string, unknown>>;
  readonly etag: string;
}

/** The table did not answer in time, or with an error. A write may have been done. */
export class CallsTableUnavailable extends Error {
  override readonly name = 'CallsTableUnavailable';
  /** An error code, an HTTP status or a few words; never the SDK's message. */
  readonly kind: string;

  constructor(kind: string) {
    super('The calls table cannot be used.');
    this.kind = kind;
  }
}

// Short: a callee hears silence meanwhile. Long enough to fetch the process's first token.
const DEADLINE_MS = 1_500;
// After a request that was not answered in time, further requests fail at once for so long.
const FAIL_AFTER_DEADLINE_MS = 5_000;

/** Rows with compare-and-swap. Every method throws {@link CallsTableUnavailable} and nothing else. */
export class CallsTable {
  readonly #client: () => TableClient;
  #failsUntil = 0;

  /** @param client without the SDK's retries, which take longer than a call can wait */
  constructor(client: () => TableClient) {
    this.#client = client;
  }

  /** The row; undefined where there is none. */
  async read({ partitionKey, rowKey }: RowAddress): Promise<StoredRow | undefined> {
    const row = await this.#request<TableEntityResult<Record<string, unknown>> | undefined>(
      (abortSignal) => this.#client().getEntity(partitionKey, rowKey, { abortSignal }),
      (failure) => (failure.status === 404 ? { answer: undefined } : undefined),
    );
    return row === undefined ? undefined : { values: row, etag: row.etag };
  }

  /**
   * Inserts a row, or replaces the one that was read.
   *
   * @param readEtag the ETag of the row that was read; undefined: insert
   * @returns the new ETag; undefined where another writer was first
   */
  write(address: RowAddress, values: RowValues, readEtag: string | undefined): Promise<string | undefined> {
    return this.#request(
      async (abortSignal) => {
        const row = { ...address, ...values };
        const { etag } =
          readEtag === undefined
            ? await this.#client().createEntity(row, { abortSignal })
            : await this.#client().updateEntity(row, 'Replace', { etag: readEtag, abortSignal });
        return etag;
      },
      ({ status }) => (status === 409 || status === 412 || status === 404 ? { answer: undefined } : undefined),
    );
  }

  async #request<Answer>(
    send: (abortSignal: AbortSignal) => Promise<Answer>,
    meaningOf: (failure: SdkFailure) => { readonly answer: Answer } | undefined,
  ): Promise<Answer> {
    if (performance.now() < this.#failsUntil) throw new CallsTableUnavailable('deadline');
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    for (let created = false; ; created = true) {
      try {
        return await send(deadline);
      } catch (error) {
        if (deadline.aborted) {
          this.#failsUntil = performance.now() + FAIL_AFTER_DEADLINE_MS;
          throw new CallsTableUnavailable('deadline');
        }
        const failure = readSdkError(error);
        if (failure.code === 'TableNotFound' && !created) {
          await this.#create(deadline);
          continue;
        }
        const meaning = failure.code === 'TableNotFound' ? undefined : meaningOf(failure);
        if (meaning === undefined) throw unavailable(failure);
        return meaning.answer;
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

const unavailable = ({ code, status, unanswered }: SdkFailure): CallsTableUnavailable =>
  new CallsTableUnavailable(code ?? unanswered ?? String(status));
