import type { TableClient, TransactionAction } from '@azure/data-tables';

import { readSdkError } from '../../azure/sdk-error.ts';
import { LaterFormat } from './format.ts';
import { backoffMs, isMissingTable, kindOf, StorageTrouble, TableMissing } from './storage-errors.ts';

/** How a table is used. */
export interface CounterTableOptions {
  /** Whether the table is created on first use; true by default, false for those who only read. */
  readonly makesTable?: boolean;
  /** Deadline of each request, in milliseconds; 5,000 by default. */
  readonly deadlineMs?: number;
}

const REQUEST_DEADLINE_MS = 5_000;
const READ_TRIES = 4;

const wait = async (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** A request of the SDK, with its deadline. */
export type Request<Result> = (client: TableClient, deadline: { readonly abortSignal: AbortSignal }) => Promise<Result>;

/**
 * Makes requests to one table: each has a deadline, the table is created before the first, failed reads are repeated, and errors of
 * the SDK become those of this folder.
 */
export class TableRequests {
  readonly #client: () => TableClient;
  readonly #makesTable: boolean;
  readonly #deadlineMs: number;
  #created: Promise<void> | undefined;

  constructor(
    client: () => TableClient,
    { makesTable = true, deadlineMs = REQUEST_DEADLINE_MS }: CounterTableOptions = {},
  ) {
    this.#client = client;
    this.#makesTable = makesTable;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Reads, with bounded tries.
   *
   * @throws {StorageTrouble | RequestRefused | LaterFormat}
   * @throws {TableMissing} where there is no table and none is created
   */
  async read<Result>(request: Request<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      await this.#create();
      try {
        return await this.#once(request);
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

  /**
   * Submits a transaction, once.
   *
   * @returns the new ETags, in the order of the operations
   * @throws {WriteConflict | StorageTrouble | RequestRefused}
   */
  async submit(actions: TransactionAction[]): Promise<readonly (string | undefined)[]> {
    await this.#create();
    try {
      const answer = await this.#once(async (client, deadline) => client.submitTransaction(actions, deadline));
      return answer.subResponses.map((response) => response.etag);
    } catch (error) {
      if (isMissingTable(error)) {
        this.#created = undefined;
        throw new StorageTrouble(0, { cause: error });
      }
      throw error instanceof StorageTrouble ? error : kindOf(error);
    }
  }

  /** Whether a request is answered within the deadline, in one try. Never throws. */
  async answers(request: Request<unknown>): Promise<boolean> {
    try {
      await this.#create();
      await this.#once(request);
      return true;
    } catch {
      return false;
    }
  }

  async #once<Result>(request: Request<Result>): Promise<Result> {
    return request(this.#client(), { abortSignal: AbortSignal.timeout(this.#deadlineMs) });
  }

  /** Creates the table, once a process. Creating one that exists does not fail. */
  async #create(): Promise<void> {
    if (!this.#makesTable) return;
    this.#created ??= this.#once(async (client, deadline) => client.createTable(deadline));
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
