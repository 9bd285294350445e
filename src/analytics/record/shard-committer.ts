import { setImmediate, setTimeout } from 'node:timers/promises';

import { applyFacets, type EventMessage } from '../model/camera-event.ts';
import { DayClosed } from '../rows/day-shards.ts';
import { FENCE_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import { backoffMs, RequestRefused, StorageTrouble, WriteConflict } from '../rows/storage-errors.ts';
import type { CounterTable } from '../rows/table.ts';
import { listsTooShort } from '../rows/total-row.ts';
import { fittingInFront, isTooLarge, type Pending } from './batch.ts';
import type { CommitSlots } from './commit-slots.ts';
import type { Outcome } from './commit-draft.ts';
import { planCommit, type CommitPlan } from './commit-plan.ts';
import { keyed } from './keyed-message.ts';
import { answeredVersion, type ShardRows } from './shard-rows.ts';
import { StaleSnapshot, type ShardSnapshot } from './shard-snapshot.ts';
import { wantedByMessages } from './wanted-rows.ts';

const TROUBLE_TRIES = 6;
const TROUBLE_BUDGET_MS = 20_000;
const CONFLICT_BUDGET_MS = 40_000;
const CONFLICT_BASE_MS = 5;
const CONFLICT_MAX_MS = 60;
// Another process must add a category between the reads of each of these tries: after so many the rows are damaged.
const STALE_TRIES = 5;
/** Most messages that wait for one shard, so that one in trouble does not use up what may wait in all. */
const MAX_WAITING = 20_000;

/** The reason why a closed day takes no event. */
export const CLOSED_DAY = 'the day of data.ts_utc is closed: its counts are final';

/** A batch with its plan. It is written once the ETags from the answer to the transaction before it are known. */
interface Prepared {
  readonly batch: readonly Pending[];
  readonly snapshot: ShardSnapshot;
  readonly plan: CommitPlan;
}

/** What a committer works with, besides the rows of its shard. */
export interface CommitterOptions {
  readonly slots: CommitSlots;
  /** The categories that always find room. */
  readonly knownCategories: ReadonlySet<string>;
  /** Waits before the next try. */
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/** A new frame comes with detections; a message without them is about an event that is likely to be stored already. */
const isFrame = ({ facets }: EventMessage): boolean => facets.detections !== undefined;

/**
 * The one writer of a shard in this process. While a transaction is in flight, messages queue; the next one takes as many as
 * fit. Instances do not wait for one another: after a conflict with another writer in its stripe this one moves to another stripe,
 * and an event that another instance changed is read again, as after an answer that never came. The differences are computed
 * again: a message that was applied already then makes none.
 */
export class ShardCommitter {
  readonly #table: CounterTable;
  readonly #partition: string;
  readonly #rows: ShardRows;
  readonly #slots: CommitSlots;
  readonly #knownCategories: ReadonlySet<string>;
  readonly #pause: (milliseconds: number) => Promise<void>;
  #queue: Pending[] = [];
  /** The ETags that the last transaction answered, by row key. */
  #answered: ReadonlyMap<string, string> = new Map();
  #running: Promise<void> | undefined;
  /** Frames are repeated, perhaps a whole delivery: reading first is cheaper than one failed transaction after another. */
  #expectsKnown = false;
  /** Storage failed the last batch to the end. One try of the next batch shows whether storage is down. */
  #doubtful = false;
  /** After the first batch that stayed stale, one try of its halves tells. */
  #staleTries = STALE_TRIES;

  constructor(
    table: CounterTable,
    partition: string,
    rows: ShardRows,
    { slots, knownCategories, pause = async (milliseconds) => setTimeout(milliseconds) }: CommitterOptions,
  ) {
    this.#table = table;
    this.#partition = partition;
    this.#rows = rows;
    this.#slots = slots;
    this.#knownCategories = knownCategories;
    this.#pause = pause;
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
    if (this.#queue.length >= MAX_WAITING) throw new StorageTrouble(0);
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...keys, resolve, reject, readFirst: !isFrame(message), uncertain: false });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    let next: Prepared | undefined;
    while (next !== undefined || this.#queue.length > 0) {
      // Lets every caller that was just answered queue its next messages.
      if (next === undefined) await setImmediate();
      const batch: readonly Pending[] = next?.batch ?? this.#take().batch;
      try {
        next = await this.#commit(batch, next, true);
      } catch (error) {
        reject(batch, error);
        next = undefined;
      }
    }
    this.#running = undefined;
    this.#doubtful = false;
    this.#staleTries = STALE_TRIES;
  }

  /** As many messages from the front of the queue as fit into a transaction, and whether they fill it. */
  #take(): { batch: readonly Pending[]; full: boolean } {
    const count = fittingInFront(this.#queue);
    const full = count < this.#queue.length;
    return { batch: this.#queue.splice(0, count), full };
  }

  /**
   * Commits a batch, with as many tries as it takes.
   *
   * @param ahead whether the next batch may be prepared while this one is written
   * @returns the next batch where it was prepared
   */
  async #commit(batch: readonly Pending[], prepared?: Prepared, ahead = false): Promise<Prepared | undefined> {
    const started = Date.now();
    let first = prepared;
    for (let conflicts = 0, stale = 0, troubles = 0; ;) {
      let ready = first;
      first = undefined;
      try {
        const result = await this.#slots.run(async () => {
          ready ??= await this.#prepare(batch);
          if (ready.plan.writes.length === 0) this.#settle(ready);
          else if (batch.length > 1 && isTooLarge(ready.plan)) return 'too large';
          else return this.#write(ready, ahead);
          return undefined;
        });
        if (result !== 'too large') return result;
        await this.#commitHalves(batch);
        return undefined;
      } catch (thrown) {
        const error = await this.#recover(batch, thrown, ready);
        const elapsed = Date.now() - started;
        stale = error instanceof StaleSnapshot ? stale + 1 : 0;
        if (stale === this.#staleTries) {
          this.#staleTries = 1;
          await this.#giveUp(batch, listsTooShort(this.#partition, ready?.snapshot.stripe ?? 0));
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
  }

  async #prepare(batch: readonly Pending[]): Promise<Prepared> {
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
      if (next !== undefined) this.#queue.unshift(...next.batch);
      this.#rows.restore(plan, snapshot);
      if (error instanceof StorageTrouble) for (const pending of batch) pending.uncertain = true;
      throw error;
    }
    this.#doubtful = false;
    this.#settle(prepared);
    return next;
  }

  async #prepareNext({ plan }: Prepared): Promise<Prepared | undefined> {
    const { batch, full } = this.#take();
    if (full) {
      try {
        this.#rows.apply(plan);
        const next = await this.#prepare(batch);
        if (next.plan.writes.length > 0 && !isTooLarge(next.plan)) return next;
      } catch {
        // The batch is prepared again in its own turn, where an error that lasts is answered.
      }
    }
    this.#queue.unshift(...batch);
    return undefined;
  }

  /**
   * After a failed try: finds out what was wrong, and forgets what must be read again.
   *
   * @param ready what was planned; undefined: not even the rows could be read
   * @returns the error, or the one that finding out met
   */
  async #recover(batch: readonly Pending[], error: unknown, ready: Prepared | undefined): Promise<unknown> {
    const failed =
      error instanceof WriteConflict && error.index !== undefined ? ready?.plan.writes[error.index] : undefined;
    if (failed !== undefined && ready !== undefined) {
      const { snapshot } = ready;
      try {
        if (failed.rowKey === inStripe(TOTAL_KEY, snapshot.stripe)) {
          if (!(await this.#rows.isStillAlone(snapshot))) await this.#rows.move();
          return error;
        }
        if (failed.rowKey === FENCE_KEY) {
          await this.#rows.move();
          return error;
        }
      } catch (met) {
        this.#readAgain(batch);
        return met;
      }
      if (batch.some(({ eventKey }) => eventKey === failed.rowKey)) {
        this.#rows.forgetEvents(batch.map(({ eventKey }) => eventKey));
        for (const pending of batch) pending.readFirst = true;
        return error;
      }
    }
    this.#readAgain(batch);
    return error;
  }

  #readAgain(batch: readonly Pending[]): void {
    this.#rows.forget(batch.map(({ eventKey }) => eventKey));
    for (const pending of batch) pending.readFirst = true;
  }

  #settle({ batch, plan }: Prepared): void {
    for (const [index, pending] of batch.entries()) {
      const outcome = plan.outcomes[index] ?? 'unchanged';
      pending.resolve(outcome === 'unchanged' && pending.uncertain ? 'recorded' : outcome);
    }
  }

  async #commitHalves(batch: readonly Pending[]): Promise<void> {
    for (const half of halvesOf(batch)) await this.#commit(half);
  }

  /** Settles a batch that failed. An error of one message must not fail the others: its batch is halved until it is alone. */
  async #giveUp(batch: readonly Pending[], error: unknown): Promise<void> {
    if (error instanceof StorageTrouble) {
      if (!this.#doubtful && (await this.#commitWithoutTrouble(batch))) return;
      // Storage is down: the messages that wait fail now, and not each after a bounded wait of its own.
      const waiting = this.#doubtful ? this.#queue.splice(0) : [];
      this.#doubtful = true;
      reject([...batch, ...waiting], error);
    } else if (error instanceof DayClosed) {
      for (const pending of batch) await this.#refuse(pending);
    } else if (isConflict(error)) {
      reject(batch, error);
    } else if (batch.length > 1) {
      await this.#commitHalves(batch);
    } else if (error instanceof RequestRefused) {
      for (const pending of batch) pending.resolve({ refused: 'storage does not take the event in this form' });
    } else {
      reject(batch, error);
    }
  }

  /**
   * Refuses a message because its day is closed, unless it was recorded before, by a transaction whose answer never came. Where the
   * event's row is gone, nothing tells whether it was: then storage is said to have failed.
   */
  async #refuse(pending: Pending): Promise<void> {
    const { message, eventKey, uncertain } = pending;
    if (!uncertain) {
      pending.resolve({ refused: CLOSED_DAY });
      return;
    }
    try {
      const stored = await this.#rows.storedEvent(eventKey);
      if (stored === undefined) throw new StorageTrouble(0);
      const recorded = stored.ts === message.ts && applyFacets(stored.facets, message.facets) === stored.facets;
      pending.resolve(recorded ? 'recorded' : { refused: CLOSED_DAY });
    } catch (error) {
      pending.reject(error);
    }
  }

  /**
   * Halves a batch that storage fails repeatedly, and tries each half once. Where storage takes one half, the cause is in the
   * other, which is halved in turn.
   *
   * @returns whether all messages are settled; false: storage took nothing
   */
  async #commitWithoutTrouble(batch: readonly Pending[]): Promise<boolean> {
    if (batch.length === 1) return false;
    const failed: { half: readonly Pending[]; error: unknown }[] = [];
    for (const half of halvesOf(batch)) {
      try {
        await this.#slots.run(async () => {
          const ready = await this.#prepare(half);
          if (ready.plan.writes.length === 0) this.#settle(ready);
          else await this.#write(ready, false);
        });
      } catch (error) {
        this.#readAgain(half);
        failed.push({ half, error });
      }
    }
    if (failed.length === 2 && failed.every(({ error }) => error instanceof StorageTrouble)) return false;
    for (const { half, error } of failed) {
      if (!(error instanceof StorageTrouble)) await this.#commit(half);
      else if (!(await this.#commitWithoutTrouble(half))) reject(half, error);
    }
    return true;
  }
}

const isConflict = (error: unknown): boolean => error instanceof WriteConflict || error instanceof StaleSnapshot;

const halvesOf = (batch: readonly Pending[]): readonly (readonly Pending[])[] => {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
};

const reject = (batch: readonly Pending[], error: unknown): void => {
  for (const pending of batch) pending.reject(error);
};
