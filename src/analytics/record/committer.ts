import { setImmediate, setTimeout } from 'node:timers/promises';

import pLimit from 'p-limit';

import { RequestRefused, StorageTrouble } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';
import { isConflict, StaleSnapshot } from '../errors.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { applyFacets } from '../model/newest-wins.ts';
import { DayClosed } from '../rows/day-shards.ts';
import { fittingInFront, isFrame, keyed, type Batch, type Outcome, type Pending, type Refused } from './batch.ts';
import type { CommitPlan } from './commit-plan.ts';
import type { ShardWriter } from './shard-writer.ts';

/** What becomes of an event of a closed day. */
export const CLOSED_DAY: Refused = {
  code: 'day_closed',
  refused: 'the day of data.ts_utc is closed: its counts are final',
};

/** Most messages that wait for one shard, so that one in trouble does not use up what may wait in all. */
const MAX_WAITING = 20_000;
const SLOTS = 16;
const HOLD_MS = 500;
const TROUBLE_TRIES = 6;
const TROUBLE_BUDGET_MS = 20_000;
const CONFLICT_BUDGET_MS = 40_000;
// Short: whoever meets another writer moves, and waits for nobody. Jitter keeps those apart who move at the same time.
const CONFLICT_BASE_MS = 2;
const CONFLICT_MAX_MS = 20;
// Another process must add a category between the reads of each of these tries: after so many the rows are damaged.
const STALE_TRIES = 20;

/**
 * Bounds how many committers of the process use storage at the same time. One that takes long gives its slot up and goes on, so a
 * partition in trouble holds up no other one. Nobody holds a slot while it waits to try again.
 */
export class CommitSlots {
  readonly #limit = pLimit(SLOTS);

  /** Runs work as soon as there is a slot. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      void this.#limit(async () => {
        let timer: NodeJS.Timeout | undefined;
        const held = new Promise<void>((givenUp) => {
          timer = globalThis.setTimeout(givenUp, HOLD_MS);
        });
        await Promise.race([work().then(resolve, reject), held]);
        clearTimeout(timer);
      });
    });
  }
}

/** Waits so many milliseconds. */
export type Pause = (milliseconds: number) => Promise<void>;

/**
 * The one writer of a shard in this process. While a transaction is in flight, messages queue; the next one takes as many as
 * fit. Instances do not wait for one another: after a conflict with another writer in its stripe this one moves to another stripe,
 * and an event that another instance changed is read again, as after an answer that never came. The differences are computed
 * again: a message that was applied already then makes none. Tries are bounded, in number or in time.
 */
export class ShardCommitter {
  readonly #writer: ShardWriter;
  readonly #slots: CommitSlots;
  readonly #pause: Pause;
  #queue: Pending[] = [];
  /** Halves of batches that did not fit, or that could not be written as a whole: they come before the queue. */
  #halves: Batch[] = [];
  /** The batch at the front of the queue, which is planned while the one before is written. */
  #next: Batch | undefined;
  #isRunning = false;
  /** Storage failed the last batch to the end. One try of the next batch shows whether storage is down. */
  #doubtful = false;
  /** After the first batch that stayed stale, one try of its halves tells. */
  #staleTries = STALE_TRIES;

  constructor(writer: ShardWriter, slots: CommitSlots, pause: Pause = setTimeout) {
    this.#writer = writer;
    this.#slots = slots;
    this.#pause = pause;
  }

  /** Whether nothing waits for it. */
  get isIdle(): boolean {
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
    if (this.#queue.length >= MAX_WAITING) throw new StorageTrouble(0, { reason: 'too many messages wait' });
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...keyed(message), resolve, reject, readFirst: !isFrame(message), uncertain: false });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#next !== undefined || this.#halves.length + this.#queue.length > 0) {
      // Lets every caller that was just answered queue its next messages.
      if (this.#next === undefined) await setImmediate();
      const batch = this.#halves.shift() ?? this.#takeNext();
      try {
        await this.#commit(batch);
      } catch (error) {
        rejectAll(batch, error);
      }
    }
    this.#isRunning = false;
    // Nothing waits any more: what the last batches met says nothing about the next one.
    this.#doubtful = false;
    this.#staleTries = STALE_TRIES;
  }

  #takeNext(): Batch {
    const batch = this.#next ?? this.#queue.splice(0, fittingInFront(this.#queue));
    this.#next = undefined;
    return batch;
  }

  /** The batch after the one that is committed, if enough messages wait to fill it. */
  #following(): Batch | undefined {
    if (this.#halves.length > 0) return undefined;
    const count = fittingInFront(this.#queue);
    if (this.#next === undefined && count < this.#queue.length) this.#next = this.#queue.splice(0, count);
    return this.#next;
  }

  /** Commits a batch, with as many tries as it takes. */
  async #commit(batch: Batch): Promise<void> {
    const started = performance.now();
    let failed = await this.#try(batch, this.#following());
    for (
      let conflicts = 0, stale = 0, troubles = 0;
      failed !== undefined;
      failed = await this.#try(batch, this.#next)
    ) {
      const { error } = failed;
      const elapsed = performance.now() - started;
      stale = error instanceof StaleSnapshot ? stale + 1 : 0;
      if (stale === this.#staleTries) {
        this.#staleTries = 1;
        return this.#giveUp(batch, this.#writer.rows.neverFit());
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
        return this.#giveUp(batch, error);
      }
    }
  }

  /**
   * One try to commit a batch. Never throws.
   *
   * @param following the batch that is planned meanwhile
   * @returns undefined: its messages are settled, or wait in halves. Else none is settled
   */
  async #try(batch: Batch, following?: Batch): Promise<{ readonly error: unknown } | undefined> {
    try {
      const plan = await this.#slots.run(async () => this.#writer.commit(batch, following));
      if (plan === undefined) this.#halves.unshift(...halvesOf(batch));
      else this.#settle(batch, plan);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  /** Answers the messages of a batch whose plan is committed. */
  #settle(batch: Batch, { writes, outcomes }: CommitPlan): void {
    if (writes.length > 0) this.#doubtful = false;
    for (const [index, pending] of batch.entries()) {
      const outcome = outcomes[index] ?? 'unchanged';
      pending.resolve(typeof outcome === 'string' && pending.uncertain ? 'recorded' : outcome);
    }
  }

  /** Settles the messages of a batch that failed. An error of one message must not fail the others: its batch is halved until it is alone. */
  async #giveUp(batch: Batch, error: unknown): Promise<void> {
    if (error instanceof StorageTrouble) {
      if (this.#doubtful) {
        // Storage is down: the messages that wait fail now, and not each after a bounded wait of its own.
        rejectAll([...batch, ...this.#halves.splice(0).flat(), ...this.#takeNext(), ...this.#queue.splice(0)], error);
      } else if (!(await this.#withoutTrouble(batch))) {
        this.#doubtful = true;
        rejectAll(batch, error);
      }
    } else if (error instanceof DayClosed) {
      for (const pending of batch) await this.#refuseClosed(pending);
    } else if (batch.length > 1 && !isConflict(error)) {
      this.#halves.unshift(...halvesOf(batch));
    } else if (error instanceof RequestRefused) {
      for (const pending of batch) {
        pending.resolve({ code: 'not_storable', refused: 'storage does not take the event in this form' });
      }
    } else {
      rejectAll(batch, error);
    }
  }

  /**
   * Halves a batch that storage fails repeatedly, and tries each half once. If storage takes one half, the cause is in the
   * other, which is halved in turn.
   *
   * @returns whether all messages are settled or wait in halves; false: storage took nothing
   */
  async #withoutTrouble(batch: Batch): Promise<boolean> {
    if (batch.length === 1) return false;
    const troubled: { readonly half: Batch; readonly error: unknown }[] = [];
    for (const half of halvesOf(batch)) {
      const failed = await this.#try(half);
      if (failed?.error instanceof StorageTrouble) troubled.push({ half, error: failed.error });
      else if (failed !== undefined) this.#halves.push(half);
    }
    if (troubled.length === 2) return false;
    for (const { half, error } of troubled) if (!(await this.#withoutTrouble(half))) rejectAll(half, error);
    return true;
  }

  /**
   * Refuses a message because its day is closed, unless it was recorded before, by a transaction whose answer never came. If the
   * event's row is gone, nothing tells whether it was: then storage is said to have failed.
   */
  async #refuseClosed({ message, eventKey, uncertain, resolve, reject }: Pending): Promise<void> {
    if (!uncertain) {
      resolve(CLOSED_DAY);
      return;
    }
    try {
      const stored = await this.#writer.rows.storedEvent(eventKey);
      if (stored === undefined) throw new StorageTrouble(0, { reason: 'day closed' });
      const recorded = stored.ts === message.ts && applyFacets(stored.facets, message.facets) === stored.facets;
      resolve(recorded ? 'recorded' : CLOSED_DAY);
    } catch (error) {
      reject(error);
    }
  }
}

const halvesOf = (batch: Batch): readonly Batch[] => {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
};

const rejectAll = (batch: Batch, error: unknown): void => {
  for (const pending of batch) pending.reject(error);
};
