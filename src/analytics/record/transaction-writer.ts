import { setImmediate } from 'node:timers/promises';

import { StorageTrouble } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { isFrame, isTooLarge, type Batch } from './batch.ts';
import { planCommit, type CommitPlan } from './commit-plan.ts';
import type { CommitSlots } from './commit-slots.ts';
import { recover } from './failed-try.ts';
import type { PendingQueue } from './pending-queue.ts';
import { answeredVersion, type ShardRows } from './shard-rows.ts';
import type { ShardSnapshot } from './shard-snapshot.ts';
import { wantedByMessages } from './wanted-rows.ts';

/** A batch with its plan. It is written once the ETags from the answer to the transaction before it are known. */
export interface Prepared {
  readonly batch: Batch;
  readonly snapshot: ShardSnapshot;
  readonly plan: CommitPlan;
}

/** What came of one try to commit a batch. */
export type Tried =
  /** All messages are settled. `written`: by a transaction; `next`: the next batch where it was prepared meanwhile. */
  | { readonly kind: 'done'; readonly written: boolean; readonly next?: Prepared | undefined }
  /** The batch has several messages, and does not fit into one transaction. */
  | { readonly kind: 'too large' }
  /** No message is settled, and what must be read again is forgotten. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly stripe: number };

/** Makes single tries to commit batches of one shard: the rows, the plan, one transaction. */
export class TransactionWriter {
  readonly #table: Table;
  readonly #partition: string;
  readonly #rows: ShardRows;
  readonly #queue: PendingQueue;
  readonly #slots: CommitSlots;
  readonly #knownCategories: ReadonlySet<string>;
  /** The ETags that the last transaction answered, by row key. */
  #answered: ReadonlyMap<string, string> = new Map();
  /** Frames are repeated, perhaps a whole delivery: reading first is cheaper than one failed transaction after another. */
  #expectsKnown = false;

  constructor(
    table: Table,
    partition: string,
    rows: ShardRows,
    queue: PendingQueue,
    { slots, knownCategories }: { readonly slots: CommitSlots; readonly knownCategories: ReadonlySet<string> },
  ) {
    this.#table = table;
    this.#partition = partition;
    this.#rows = rows;
    this.#queue = queue;
    this.#slots = slots;
    this.#knownCategories = knownCategories;
  }

  /**
   * One try to commit a batch. Never throws.
   *
   * @param prepared its plan where it was prepared before
   * @param ahead whether the next batch may be prepared while this one is written
   */
  async try(batch: Batch, prepared?: Prepared, ahead = false): Promise<Tried> {
    let ready = prepared;
    try {
      return await this.#slots.run(async (): Promise<Tried> => {
        ready ??= await this.#prepare(batch);
        if (ready.plan.writes.length === 0) {
          settle(ready);
          return { kind: 'done', written: false };
        }
        if (batch.length > 1 && isTooLarge(ready.plan)) return { kind: 'too large' };
        return { kind: 'done', written: true, next: await this.#write(ready, ahead) };
      });
    } catch (thrown) {
      const error = await recover(this.#rows, batch, thrown, ready);
      return { kind: 'failed', error, stripe: ready?.snapshot.stripe ?? 0 };
    }
  }

  async #prepare(batch: Batch): Promise<Prepared> {
    const readAll = this.#expectsKnown;
    const snapshot = await this.#rows.snapshot(wantedByMessages(batch, readAll));
    const read = batch.filter(({ message, readFirst }) => isFrame(message) && (readFirst || readAll));
    if (read.length > 0) this.#expectsKnown = read.some(({ eventKey }) => snapshot.rows.has(eventKey));
    return { batch, snapshot, plan: planCommit(snapshot, batch, this.#knownCategories) };
  }

  /** Writes one transaction. While it is in flight, prepares the next one if enough messages wait to fill it. */
  async #write(prepared: Prepared, ahead: boolean): Promise<Prepared | undefined> {
    const { batch, snapshot, plan } = prepared;
    const writes = plan.writes.map((write) =>
      write.kind === 'insert' ? write : { ...write, etag: answeredVersion(this.#answered, write.rowKey, write.etag) },
    );
    const answer = Promise.allSettled([this.#table.transact(this.#partition, writes)]);
    // The request is sent before anything else is computed.
    await setImmediate();
    const next = ahead ? await this.#prepareNext(prepared) : undefined;
    try {
      const [result] = await answer;
      if (result.status === 'rejected') throw result.reason;
      this.#answered = new Map(writes.map((write, index) => [write.rowKey, result.value[index] ?? '']));
      this.#rows.apply(plan, (rowKey) => this.#answered.get(rowKey) ?? '');
    } catch (error) {
      if (next !== undefined) this.#queue.putBack(next.batch);
      this.#rows.restore(plan, snapshot);
      if (error instanceof StorageTrouble) for (const pending of batch) pending.uncertain = true;
      throw error;
    }
    settle(prepared);
    return next;
  }

  /** Takes the next batch from the queue here, and not where batches are taken in turn: the answer is still to come. */
  async #prepareNext({ plan }: Prepared): Promise<Prepared | undefined> {
    const { batch, full } = this.#queue.take();
    if (full) {
      try {
        this.#rows.apply(plan);
        const next = await this.#prepare(batch);
        if (next.plan.writes.length > 0 && !isTooLarge(next.plan)) return next;
      } catch {
        // The batch is prepared again in its own turn, where an error that lasts is answered.
      }
    }
    this.#queue.putBack(batch);
    return undefined;
  }
}

/** Answers the messages of a batch whose plan is committed. */
const settle = ({ batch, plan }: Prepared): void => {
  for (const [index, pending] of batch.entries()) {
    const outcome = plan.outcomes[index] ?? 'unchanged';
    pending.resolve(outcome === 'unchanged' && pending.uncertain ? 'recorded' : outcome);
  }
};
