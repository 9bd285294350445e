import { setImmediate, setTimeout } from 'node:timers/promises';

import type { LimitFunction } from 'p-limit';

import { RequestRefused, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { MAX_OPERATIONS } from '../../storage/row.ts';
import { backoffMs } from '../../storage/table.ts';
import { DayClosed, DayHeld } from '../errors.ts';
import type { EventMessage } from '../model/camera-event.ts';
import { hourOf } from '../model/day.ts';
import { type CommitPlan, keyed, type KeyedMessage, type Outcome, type Refused } from './commit-plan.ts';
import type { Batch, ShardWriter, Waiting } from './shard-writer.ts';

/** The result of an event of a closed day. */
export const CLOSED_DAY: Refused = {
  code: 'day_closed',
  refused: 'the day of data.ts_utc is closed: its counts are final',
};

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
 * The only writer of a shard in this process. While a transaction is in flight, messages queue; the next transaction has as many as fit. After a
 * conflict with another instance, or a lost answer, rows are read again and the differences are computed again: a message that was applied then
 * makes no difference. Tries are bounded, in number or in time.
 */
export class ShardCommitter {
  readonly #writer: ShardWriter;
  readonly #limit: LimitFunction;
  readonly #pause: Pause;
  #queue: Waiting[] = [];
  /** Halves of batches that did not fit, or that storage refuses in part: they come before the queue. */
  #halves: Batch[] = [];
  #isRunning = false;

  /**
   * @param limit bounds how many committers of the process use storage at the same time. A committer that waits to try again does not count.
   * @param pause waits, in milliseconds
   */
  constructor(writer: ShardWriter, limit: LimitFunction, pause: Pause = setTimeout) {
    this.#writer = writer;
    this.#limit = limit;
    this.#pause = pause;
  }

  get isIdle(): boolean {
    return !this.#isRunning;
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
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#halves.length + this.#queue.length > 0) {
      // Lets every caller that was just answered queue its next messages.
      await setImmediate();
      const batch = this.#halves.shift() ?? this.#queue.splice(0, fittingInFront(this.#queue));
      try {
        await this.#commit(batch);
      } catch (error) {
        rejectAll(batch, error);
      }
    }
    this.#isRunning = false;
  }

  async #commit(batch: Batch): Promise<void> {
    const started = performance.now();
    for (let conflicts = 0, troubles = 0; ;) {
      try {
        const plan = await this.#limit(async () => this.#writer.commit(batch));
        if (plan === undefined) this.#halves.unshift(...halvesOf(batch));
        else settle(batch, plan);
        return;
      } catch (error) {
        const elapsed = performance.now() - started;
        if (error instanceof WriteConflict && elapsed < CONFLICT_BUDGET_MS) {
          conflicts += 1;
          await this.#pause(backoffMs(conflicts, CONFLICT_BASE_MS, CONFLICT_MAX_MS));
        } else if (error instanceof StorageTrouble && troubles < TROUBLE_TRIES && elapsed < TROUBLE_BUDGET_MS) {
          troubles += 1;
          await this.#pause(Math.max(Math.min(error.retryAfterMs, 5_000), backoffMs(troubles, 60, 2_000)));
        } else {
          this.#giveUp(batch, error);
          return;
        }
      }
    }
  }

  /** Settles the messages of a batch that failed. An error of one message must not fail the others: its batch is halved until it is alone. */
  #giveUp(batch: Batch, error: unknown): void {
    if (error instanceof StorageTrouble || error instanceof DayHeld) {
      // All waiting messages of the shard would fail in the same way, each batch after its own wait.
      rejectAll([...batch, ...this.#halves.splice(0).flat(), ...this.#queue.splice(0)], error);
    } else if (error instanceof DayClosed) {
      for (const { uncertain, resolve, reject } of batch) {
        // If the answer to an earlier transaction was lost, the message may have been counted.
        if (uncertain) reject(new StorageTrouble(0, { reason: 'day closed' }));
        else resolve(CLOSED_DAY);
      }
    } else if (batch.length > 1 && !(error instanceof WriteConflict)) {
      this.#halves.unshift(...halvesOf(batch));
    } else if (error instanceof RequestRefused) {
      for (const { resolve } of batch) {
        resolve({ code: 'not_storable', refused: 'storage cannot store this event' });
      }
    } else {
      rejectAll(batch, error);
    }
  }
}

/** Each transaction writes the stripe's `day` row; the first transaction of a new stripe also writes the `day` row of stripe 0. */
const RESERVED_OPERATIONS = 2;

/** How many messages from the front of a queue surely fit into one transaction, by their number of operations. */
const fittingInFront = (queue: readonly KeyedMessage[]): number => {
  const keys = new Set<string | number>();
  for (const [index, { message, minute, eventKey }] of queue.entries()) {
    keys.add(eventKey).add(message.cameraId).add(hourOf(minute));
    if (keys.size > MAX_OPERATIONS - RESERVED_OPERATIONS) return index;
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

const halvesOf = (batch: Batch): readonly Batch[] => {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
};

const rejectAll = (batch: Batch, error: unknown): void => {
  for (const { reject } of batch) reject(error);
};
