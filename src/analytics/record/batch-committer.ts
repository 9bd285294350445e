import { StorageTrouble } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';
import { listsTooShort } from '../rows/total-row.ts';
import { halvesOf, rejectAll, type Batch } from './batch.ts';
import { settleFailedBatch } from './failed-batch.ts';
import type { PendingQueue } from './pending-queue.ts';
import { isConflict, StaleSnapshot } from './shard-snapshot.ts';
import type { ShardRows } from './shard-rows.ts';
import type { Prepared, TransactionWriter } from './transaction-writer.ts';

const TROUBLE_TRIES = 6;
const TROUBLE_BUDGET_MS = 20_000;
const CONFLICT_BUDGET_MS = 40_000;
// Short: whoever meets another writer moves, and waits for nobody. The chance in the pause keeps those apart who move at the same time.
const CONFLICT_BASE_MS = 2;
const CONFLICT_MAX_MS = 20;
// Another process must add a category between the reads of each of these tries: after so many the rows are damaged.
const STALE_TRIES = 5;

/** Tries batches of one shard until each is settled. Tries are bounded, in number or in time. */
export class BatchCommitter {
  readonly #partition: string;
  readonly #rows: ShardRows;
  readonly #queue: PendingQueue;
  readonly #writer: TransactionWriter;
  readonly #pause: (milliseconds: number) => Promise<void>;
  /** Storage failed the last batch to the end. One try of the next batch shows whether storage is down. */
  #doubtful = false;
  /** After the first batch that stayed stale, one try of its halves tells. */
  #staleTries = STALE_TRIES;

  constructor(
    partition: string,
    rows: ShardRows,
    queue: PendingQueue,
    writer: TransactionWriter,
    pause: (milliseconds: number) => Promise<void>,
  ) {
    this.#partition = partition;
    this.#rows = rows;
    this.#queue = queue;
    this.#writer = writer;
    this.#pause = pause;
  }

  /** Nothing waits any more: what the last batches met says nothing about the next one. */
  rest(): void {
    this.#doubtful = false;
    this.#staleTries = STALE_TRIES;
  }

  /**
   * Commits a batch, with as many tries as it takes.
   *
   * @param ahead whether the next batch may be prepared while this one is written
   * @returns the next batch where it was prepared
   */
  async commit(batch: Batch, prepared?: Prepared, ahead = false): Promise<Prepared | undefined> {
    const started = Date.now();
    let first = prepared;
    for (let conflicts = 0, stale = 0, troubles = 0; ;) {
      const tried = await this.#writer.try(batch, first, ahead);
      first = undefined;
      if (tried.kind === 'done') {
        if (tried.written) this.#doubtful = false;
        return tried.next;
      }
      if (tried.kind === 'too large') {
        for (const half of halvesOf(batch)) await this.commit(half);
        return undefined;
      }
      const { error } = tried;
      const elapsed = Date.now() - started;
      stale = error instanceof StaleSnapshot ? stale + 1 : 0;
      if (stale === this.#staleTries) {
        this.#staleTries = 1;
        await this.#giveUp(batch, listsTooShort(this.#partition, tried.stripe));
        return undefined;
      }
      if (isConflict(error) && elapsed < CONFLICT_BUDGET_MS) {
        conflicts += 1;
        await this.#pause(backoffMs(conflicts, CONFLICT_BASE_MS, CONFLICT_MAX_MS));
      } else if (
        error instanceof StorageTrouble &&
        !this.#doubtful &&
        troubles < TROUBLE_TRIES &&
        elapsed < TROUBLE_BUDGET_MS
      ) {
        troubles += 1;
        await this.#pause(Math.max(Math.min(error.retryAfterMs, 5_000), backoffMs(troubles, 60, 2_000)));
      } else {
        await this.#giveUp(batch, error);
        return undefined;
      }
    }
  }

  async #giveUp(batch: Batch, error: unknown): Promise<void> {
    if (error instanceof StorageTrouble && this.#doubtful) {
      // Storage is down: the messages that wait fail now, and not each after a bounded wait of its own.
      rejectAll([...batch, ...this.#queue.takeAll()], error);
      return;
    }
    // The cause may be in one message: parts of the batch come back to be committed without it.
    for await (const part of settleFailedBatch(this.#writer, this.#rows, batch, error)) {
      if (part === 'nothing taken') this.#doubtful = true;
      else await this.commit(part);
    }
  }
}
