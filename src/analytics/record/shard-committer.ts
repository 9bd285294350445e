import { setImmediate, setTimeout } from 'node:timers/promises';

import { applyFacets, type EventMessage } from '../model/camera-event.ts';
import type { Table } from '../../storage/table.ts';
import { isFrame, rejectAll } from './batch.ts';
import { BatchCommitter } from './batch-committer.ts';
import type { Outcome } from './commit-draft.ts';
import type { CommitSlots } from './commit-slots.ts';
import { keyed } from './keyed-message.ts';
import { PendingQueue } from './pending-queue.ts';
import type { ShardRows } from './shard-rows.ts';
import { TransactionWriter, type Prepared } from './transaction-writer.ts';

/** What a committer works with, besides the rows of its shard. */
export interface CommitterOptions {
  readonly slots: CommitSlots;
  /** The categories that always find room. */
  readonly knownCategories: ReadonlySet<string>;
  /** Waits before the next try. */
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/**
 * The one writer of a shard in this process. While a transaction is in flight, messages queue; the next one takes as many as
 * fit. Instances do not wait for one another: after a conflict with another writer in its stripe this one moves to another stripe,
 * and an event that another instance changed is read again, as after an answer that never came. The differences are computed
 * again: a message that was applied already then makes none.
 *
 * A message goes down from here: {@link BatchCommitter} tries a batch until it is settled, {@link TransactionWriter} makes one try,
 * {@link ShardRows} has the rows that it needs.
 */
export class ShardCommitter {
  readonly #rows: ShardRows;
  readonly #queue = new PendingQueue();
  readonly #batches: BatchCommitter;
  #running: Promise<void> | undefined;

  constructor(
    table: Table,
    partition: string,
    rows: ShardRows,
    { slots, knownCategories, pause = async (milliseconds) => setTimeout(milliseconds) }: CommitterOptions,
  ) {
    this.#rows = rows;
    const writer = new TransactionWriter(table, partition, rows, this.#queue, { slots, knownCategories });
    this.#batches = new BatchCommitter(partition, rows, this.#queue, writer, pause);
  }

  /** Whether no commit is running. */
  get idle(): boolean {
    return this.#running === undefined;
  }

  /**
   * Commits a message together with others.
   *
   * @throws {StorageTrouble} where storage did not take it after bounded tries, or too much waits for it
   * @throws {WriteConflict | StaleSnapshot} where other processes always committed first
   * @throws {DamagedRow} where a row that it changes is damaged
   */
  async submit(message: EventMessage): Promise<Outcome> {
    const keys = keyed(message);
    const known = this.#rows.committedEvent(keys.eventKey);
    // Times of facets only grow, so a message that is older than a committed state stays older.
    if (known?.ts === message.ts && applyFacets(known.facets, message.facets) === known.facets) return 'unchanged';
    this.#queue.checkRoom();
    return new Promise((resolve, reject) => {
      this.#queue.add({ ...keys, resolve, reject, readFirst: !isFrame(message), uncertain: false });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    let next: Prepared | undefined;
    while (next !== undefined || !this.#queue.isEmpty) {
      // Lets every caller that was just answered queue its next messages.
      if (next === undefined) await setImmediate();
      const batch = next?.batch ?? this.#queue.take().batch;
      try {
        next = await this.#batches.commit(batch, next, true);
      } catch (error) {
        rejectAll(batch, error);
        next = undefined;
      }
    }
    this.#running = undefined;
    this.#batches.rest();
  }
}
