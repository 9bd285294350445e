import { setImmediate, setTimeout } from 'node:timers/promises';

import { RequestRefused, StorageTrouble } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';
import { StaleSnapshot } from '../errors.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { applyFacets } from '../model/newest-wins.ts';
import { DayClosed } from '../rows/day-shards.ts';
import { listsTooShort } from '../rows/total-row.ts';
import {
  areTooLarge,
  fittingInFront,
  halvesOf,
  isFrame,
  keyed,
  rejectAll,
  type Batch,
  type Outcome,
  type Pending,
} from './batch.ts';
import type { CommitSlots } from './commit-slots.ts';
import type { ShardRows } from './shard-rows.ts';
import { isConflict } from './shard-snapshot.ts';
import type { Prepared, TransactionWriter } from './transaction.ts';

/** The reason why a closed day takes no event. */
export const CLOSED_DAY = 'the day of data.ts_utc is closed: its counts are final';

/** Most messages that wait for one shard, so that one in trouble does not use up what may wait in all. */
const MAX_WAITING = 20_000;
const TROUBLE_TRIES = 6;
const TROUBLE_BUDGET_MS = 20_000;
const CONFLICT_BUDGET_MS = 40_000;
// Short: whoever meets another writer moves, and waits for nobody. Jitter keeps those apart who move at the same time.
const CONFLICT_BASE_MS = 2;
const CONFLICT_MAX_MS = 20;
// Another process must add a category between the reads of each of these tries: after so many the rows are damaged.
const STALE_TRIES = 5;

/** What came of one try to commit a batch. */
type Tried =
  /** All messages are settled. `written`: by a transaction; `next`: the next batch if it was prepared meanwhile. */
  | { readonly kind: 'done'; readonly written: boolean; readonly next?: Prepared | undefined }
  /** The batch has several messages, and does not fit into one transaction. */
  | { readonly kind: 'too large' }
  /** No message is settled, and what must be read again is forgotten. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly stripe: number };

/** What a committer works with. */
export interface CommitterOptions {
  readonly partition: string;
  readonly rows: ShardRows;
  readonly writer: TransactionWriter;
  readonly slots: CommitSlots;
  /** Waits before the next try. */
  readonly pause?: ((milliseconds: number) => Promise<void>) | undefined;
}

/**
 * The one writer of a shard in this process. While a transaction is in flight, messages queue; the next one takes as many as
 * fit. Instances do not wait for one another: after a conflict with another writer in its stripe this one moves to another stripe,
 * and an event that another instance changed is read again, as after an answer that never came. The differences are computed
 * again: a message that was applied already then makes none. Tries are bounded, in number or in time.
 */
export class ShardCommitter {
  readonly #partition: string;
  readonly #rows: ShardRows;
  readonly #writer: TransactionWriter;
  readonly #slots: CommitSlots;
  readonly #pause: (milliseconds: number) => Promise<void>;
  #queue: Pending[] = [];
  #isRunning = false;
  /** Storage failed the last batch to the end. One try of the next batch shows whether storage is down. */
  #doubtful = false;
  /** After the first batch that stayed stale, one try of its halves tells. */
  #staleTries = STALE_TRIES;

  constructor({
    partition,
    rows,
    writer,
    slots,
    pause = async (milliseconds) => setTimeout(milliseconds),
  }: CommitterOptions) {
    this.#partition = partition;
    this.#rows = rows;
    this.#writer = writer;
    this.#slots = slots;
    this.#pause = pause;
  }

  /** Whether no commit is running. */
  get idle(): boolean {
    return !this.#isRunning;
  }

  /**
   * Commits a message together with others.
   *
   * @throws {StorageTrouble} if storage did not take it after bounded tries, or too much waits for it
   * @throws {WriteConflict | StaleSnapshot} if other processes always committed first
   * @throws {DamagedRow} if a row that it changes is damaged
   */
  async submit(message: EventMessage): Promise<Outcome> {
    const keys = keyed(message);
    const known = this.#rows.committedEvent(keys.eventKey);
    // Times of facets only grow, so a message that is older than a committed state stays older.
    if (known?.ts === message.ts && applyFacets(known.facets, message.facets) === known.facets) return 'unchanged';
    if (this.#queue.length >= MAX_WAITING) throw new StorageTrouble(0, { reason: 'too many messages wait' });
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...keys, resolve, reject, readFirst: !isFrame(message), uncertain: false });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    let next: Prepared | undefined;
    while (next !== undefined || this.#queue.length > 0) {
      // Lets every caller that was just answered queue its next messages.
      if (next === undefined) await setImmediate();
      const batch = next?.batch ?? this.#take().batch;
      try {
        next = await this.#commit(batch, next, true);
      } catch (error) {
        rejectAll(batch, error);
        next = undefined;
      }
    }
    this.#isRunning = false;
    // Nothing waits any more: what the last batches met says nothing about the next one.
    this.#doubtful = false;
    this.#staleTries = STALE_TRIES;
  }

  /** Takes as many messages from the front of the queue as fit into a transaction, and says whether they fill it. */
  #take(): { readonly batch: Batch; readonly full: boolean } {
    const count = fittingInFront(this.#queue);
    const full = count < this.#queue.length;
    return { batch: this.#queue.splice(0, count), full };
  }

  /**
   * Commits a batch, with as many tries as it takes.
   *
   * @param ahead whether the next batch may be prepared while this one is written
   * @returns the next batch if it was prepared
   */
  async #commit(batch: Batch, prepared?: Prepared, ahead = false): Promise<Prepared | undefined> {
    const started = performance.now();
    let first = prepared;
    for (let conflicts = 0, stale = 0, troubles = 0; ;) {
      const tried = await this.#try(batch, first, ahead);
      first = undefined;
      if (tried.kind === 'done') {
        if (tried.written) this.#doubtful = false;
        return tried.next;
      }
      if (tried.kind === 'too large') {
        for (const half of halvesOf(batch)) await this.#commit(half);
        return undefined;
      }
      const { error } = tried;
      const elapsed = performance.now() - started;
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

  /** One try to commit a batch. Never throws. */
  async #try(batch: Batch, prepared?: Prepared, ahead = false): Promise<Tried> {
    let ready = prepared;
    try {
      return await this.#slots.run(async (): Promise<Tried> => {
        ready ??= await this.#writer.prepare(batch);
        const { writes } = ready.plan;
        if (writes.length === 0) {
          settle(ready);
          return { kind: 'done', written: false };
        }
        if (batch.length > 1 && areTooLarge(writes)) return { kind: 'too large' };
        return { kind: 'done', written: true, next: await this.#write(ready, ahead) };
      });
    } catch (thrown) {
      const error = await this.#writer.recover(batch, thrown, ready);
      return { kind: 'failed', error, stripe: ready?.snapshot.stripe ?? 0 };
    }
  }

  /** Writes one transaction. While it is in flight, prepares the next one if enough messages wait to fill it. */
  async #write(prepared: Prepared, ahead: boolean): Promise<Prepared | undefined> {
    const sent = await this.#writer.send(prepared);
    // The request is sent before anything else is computed.
    await setImmediate();
    let next: Prepared | undefined;
    if (ahead) {
      const { batch, full } = this.#take();
      if (full) {
        try {
          this.#writer.expect(sent);
          next = await this.#writer.prepare(batch);
          if (next.plan.writes.length === 0 || areTooLarge(next.plan.writes)) next = undefined;
        } catch {
          // The batch is prepared again in its own turn, where an error that lasts is answered.
        }
      }
      if (next === undefined) this.#queue.unshift(...batch);
    }
    try {
      await this.#writer.finish(sent);
    } catch (error) {
      if (next !== undefined) this.#queue.unshift(...next.batch);
      throw error;
    }
    settle(prepared);
    return next;
  }

  /** Settles the messages of a batch that failed. An error of one message must not fail the others: its batch is halved until it is alone. */
  async #giveUp(batch: Batch, error: unknown): Promise<void> {
    if (error instanceof StorageTrouble) {
      if (this.#doubtful) {
        // Storage is down: the messages that wait fail now, and not each after a bounded wait of its own.
        rejectAll([...batch, ...this.#queue.splice(0)], error);
      } else if (!(await this.#withoutTrouble(batch))) {
        this.#doubtful = true;
        rejectAll(batch, error);
      }
    } else if (error instanceof DayClosed) {
      for (const pending of batch) await this.#refuseClosed(pending);
    } else if (isConflict(error)) {
      rejectAll(batch, error);
    } else if (batch.length > 1) {
      for (const half of halvesOf(batch)) await this.#commit(half);
    } else if (error instanceof RequestRefused) {
      for (const pending of batch) pending.resolve({ refused: 'storage does not take the event in this form' });
    } else {
      rejectAll(batch, error);
    }
  }

  /**
   * Halves a batch that storage fails repeatedly, and tries each half once. If storage takes one half, the cause is in the
   * other, which is halved in turn.
   *
   * @returns whether all messages are settled; false: storage took nothing
   */
  async #withoutTrouble(batch: Batch): Promise<boolean> {
    if (batch.length === 1) return false;
    const failed: { readonly half: Batch; readonly error: unknown }[] = [];
    for (const half of halvesOf(batch)) {
      const tried = await this.#try(half);
      if (tried.kind !== 'done') failed.push({ half, error: tried.kind === 'failed' ? tried.error : undefined });
    }
    if (failed.length === 2 && failed.every(({ error }) => error instanceof StorageTrouble)) return false;
    for (const { half, error } of failed) {
      if (!(error instanceof StorageTrouble)) await this.#commit(half);
      else if (!(await this.#withoutTrouble(half))) rejectAll(half, error);
    }
    return true;
  }

  /**
   * Refuses a message because its day is closed, unless it was recorded before, by a transaction whose answer never came. If the
   * event's row is gone, nothing tells whether it was: then storage is said to have failed.
   */
  async #refuseClosed({ message, eventKey, uncertain, resolve, reject }: Pending): Promise<void> {
    if (!uncertain) {
      resolve({ refused: CLOSED_DAY });
      return;
    }
    try {
      const stored = await this.#rows.storedEvent(eventKey);
      if (stored === undefined) throw new StorageTrouble(0, { reason: 'day closed' });
      const recorded = stored.ts === message.ts && applyFacets(stored.facets, message.facets) === stored.facets;
      resolve(recorded ? 'recorded' : { refused: CLOSED_DAY });
    } catch (error) {
      reject(error);
    }
  }
}

/** Answers the messages of a batch whose plan is committed. */
const settle = ({ batch, plan }: Prepared): void => {
  for (const [index, pending] of batch.entries()) {
    const outcome = plan.outcomes[index] ?? 'unchanged';
    pending.resolve(outcome === 'unchanged' && pending.uncertain ? 'recorded' : outcome);
  }
};
