import { setImmediate, setTimeout } from 'node:timers/promises';

import type { LimitFunction } from 'p-limit';

import { RequestRefused, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { MAX_OPERATIONS } from '../../storage/row.ts';
import { backoffMs } from '../../storage/table.ts';
import { DayClosed, DayHeld } from '../errors.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { hourOf } from '../model/day.ts';
import type { EventKey } from '../rows/keys.ts';
import { type CommitPlan, keyed, type KeyedMessage, type Outcome, type Refused } from './commit-plan.ts';
import type { Batch, ShardWriter, Waiting } from './shard-writer.ts';

/** The result of an event of a closed day. */
export const CLOSED_DAY: Refused = {
  code: 'day_closed',
  refused: 'the day of data.ts_utc is closed: its counts are final',
};

const NOT_STORABLE: Refused = { code: 'not_storable', refused: 'storage cannot store this event' };

/**
 * A busy shard has two writers, each in its own stripe: a message then seldom waits for a transaction in flight. More writers make storage busier,
 * and answers no faster.
 */
const MAX_WRITERS = 2;

/** A shard is busy after this number of commits in a row at whose end messages waited. */
const BUSY_COMMITS = 16;

/** The maximum number of messages that wait for one shard, so that a failing shard does not use up the whole backlog. */
const MAX_WAITING_OF_SHARD = 20_000;
const TROUBLE_TRIES = 6;
const TROUBLE_BUDGET_MS = 20_000;
const CONFLICT_BUDGET_MS = 40_000;
// Short: a writer that meets another writer moves, and does not wait for it. Jitter separates writers that move at the same time.
const CONFLICT_BASE_MS = 2;
const CONFLICT_MAX_MS = 20;

export type Pause = (milliseconds: number) => Promise<void>;

/**
 * Commits the messages for a shard in this process. While a transaction is in flight, messages queue; the next transaction has as many as fit.
 * After a conflict with another writer, or a lost answer, rows are read again and the differences are computed again: a message that was applied
 * then makes no difference. Tries are bounded, in number or in time.
 */
export class ShardCommitter {
  readonly #newWriter: () => ShardWriter;
  readonly #limit: LimitFunction;
  readonly #pause: Pause;
  readonly #writers: ShardWriter[];
  readonly #working = new Set<ShardWriter>();
  /** Commits at whose end messages waited, since the last commit at whose end none did, or since a second writer looked for a stripe. */
  #commitsInRow = 0;
  readonly #queue: Waiting[] = [];
  #isDispatching = false;
  /** The events of the transactions in flight. Messages about one event are committed in their order. */
  readonly #inFlight = new Set<EventKey>();

  /**
   * @param newWriter makes another writer of the shard
   * @param limit bounds how many writers of the process use storage at the same time. A writer that waits to try again does not count.
   * @param pause waits, in milliseconds
   */
  constructor(newWriter: () => ShardWriter, limit: LimitFunction, pause: Pause = setTimeout) {
    this.#newWriter = newWriter;
    this.#writers = [newWriter()];
    this.#limit = limit;
    this.#pause = pause;
  }

  get isIdle(): boolean {
    return this.#working.size + this.#queue.length === 0;
  }

  /**
   * Commits a message together with others.
   *
   * @throws {StorageTrouble | DayHeld | DamagedRow | WriteConflict} after bounded tries
   */
  async submit(message: EventMessage): Promise<Outcome> {
    if (this.#queue.length >= MAX_WAITING_OF_SHARD) throw new StorageTrouble(0, { reason: 'too many messages wait' });
    return new Promise((resolve, reject) => {
      // A new frame comes with detections. A message without them is about an event that is likely to be stored already.
      const readFirst = message.facets.detections === undefined;
      this.#queue.push({ ...keyed(message), resolve, reject, readFirst, uncertain: false });
      void this.#dispatch();
    });
  }

  /** Gives waiting messages to writers that have nothing to do. */
  async #dispatch(): Promise<void> {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    // Lets every caller that was just answered queue its next messages.
    await setImmediate();
    this.#isDispatching = false;
    for (const writer of this.#writers.filter((each) => !this.#working.has(each))) {
      const batch = this.#queue.splice(0, fittingInFront(this.#queue, this.#inFlight));
      if (batch.length > 0) void this.#run(writer, batch);
    }
  }

  async #run(writer: ShardWriter, batch: Batch): Promise<void> {
    const { stripe } = writer;
    this.#working.add(writer);
    for (const { eventKey } of batch) this.#inFlight.add(eventKey);
    try {
      await this.#commit(writer, batch);
    } catch (error) {
      // All waiting messages of the shard would fail in the same way, each batch after its own wait.
      rejectAll([...batch, ...this.#queue.splice(0)], error);
    }
    for (const { eventKey } of batch) this.#inFlight.delete(eventKey);
    this.#working.delete(writer);
    // Stripes are for instances first: a second writer that met another writer ends.
    if (writer === this.#writers[1] && writer.stripe !== stripe) this.#writers.pop();
    this.#commitsInRow = this.#queue.length > 0 ? this.#commitsInRow + 1 : 0;
    if (this.#commitsInRow === BUSY_COMMITS) void this.#addWriter();
    void this.#dispatch();
  }

  /** Adds a writer if it finds a stripe: with many instances it finds none, and few messages come to each. */
  async #addWriter(): Promise<void> {
    this.#commitsInRow = 0;
    if (this.#writers.length === MAX_WRITERS) return;
    const writer = this.#newWriter();
    const isFree = await writer.takesFreeStripe().catch(() => false);
    if (!isFree || this.#writers.length === MAX_WRITERS) return;
    this.#writers.push(writer);
    void this.#dispatch();
  }

  /**
   * Commits a batch, and settles its messages. A batch that does not fit is halved, also a batch that fails: an error of one message must not
   * fail the others.
   *
   * @throws {StorageTrouble | DayHeld} the error of the whole shard
   */
  async #commit(writer: ShardWriter, batch: Batch): Promise<void> {
    try {
      const plan = await this.#tryPatiently(writer, batch);
      if (plan !== undefined) {
        settle(batch, plan);
        return;
      }
    } catch (error) {
      if (error instanceof StorageTrouble || error instanceof DayHeld) throw error;
      if (batch.length === 1 || error instanceof DayClosed || error instanceof WriteConflict) {
        settleFailed(batch, error);
        return;
      }
    }
    const middle = Math.ceil(batch.length / 2);
    await this.#commit(writer, batch.slice(0, middle));
    await this.#commit(writer, batch.slice(middle));
  }

  /** @returns undefined: the batch does not fit into one transaction */
  async #tryPatiently(writer: ShardWriter, batch: Batch): Promise<CommitPlan | undefined> {
    const started = performance.now();
    for (let conflicts = 0, troubles = 0; ;) {
      try {
        return await this.#limit(async () => writer.commit(batch));
      } catch (error) {
        const elapsed = performance.now() - started;
        if (error instanceof WriteConflict && elapsed < CONFLICT_BUDGET_MS) {
          conflicts += 1;
          await this.#pause(backoffMs(conflicts, CONFLICT_BASE_MS, CONFLICT_MAX_MS));
        } else if (error instanceof StorageTrouble && troubles < TROUBLE_TRIES && elapsed < TROUBLE_BUDGET_MS) {
          troubles += 1;
          await this.#pause(Math.max(Math.min(error.retryAfterMs, 5_000), backoffMs(troubles, 60, 2_000)));
        } else {
          throw error;
        }
      }
    }
  }
}

/** Each transaction writes the stripe's `day` row; the first transaction of a new stripe also writes the `day` row of stripe 0. */
const RESERVED_OPERATIONS = 2;

/** How many messages from the front of a queue surely fit into one transaction, by their number of operations; none is about an event in flight. */
const fittingInFront = (queue: readonly KeyedMessage[], inFlight: ReadonlySet<EventKey>): number => {
  const keys = new Set<string | number>();
  for (const [index, { message, minute, eventKey }] of queue.entries()) {
    keys.add(eventKey).add(message.cameraId).add(hourOf(minute));
    if (keys.size > MAX_OPERATIONS - RESERVED_OPERATIONS || inFlight.has(eventKey)) return index;
  }
  return queue.length;
};

/** Answers the messages of a batch whose plan is committed. */
const settle = (batch: Batch, { outcomes }: CommitPlan): void => {
  for (const [index, { resolve, uncertain }] of batch.entries()) {
    const outcome = outcomes[index] ?? 'unchanged';
    resolve(typeof outcome === 'string' && uncertain ? 'recorded' : outcome);
  }
};

/** Answers the messages of a batch that a closed day or too many conflicts prevent, or one message that storage refuses or a damaged row prevents. */
const settleFailed = (batch: Batch, error: unknown): void => {
  for (const { uncertain, resolve, reject } of batch) {
    // If the answer to an earlier transaction was lost, the message may have been counted.
    if (error instanceof DayClosed && uncertain) reject(new StorageTrouble(0, { reason: 'day closed' }));
    else if (error instanceof DayClosed) resolve(CLOSED_DAY);
    else if (error instanceof RequestRefused) resolve(NOT_STORABLE);
    else reject(error);
  }
};

const rejectAll = (batch: Batch, error: unknown): void => {
  for (const { reject } of batch) reject(error);
};
