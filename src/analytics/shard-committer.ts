import { setImmediate, setTimeout } from 'node:timers/promises';

import type { LimitFunction } from 'p-limit';

import { applyFacets, type EventMessage } from './camera-event.ts';
import { planCommit, type CommitPlan, type Outcome } from './commit-plan.ts';
import { eventKeyOf } from './event-row.ts';
import type { ShardRows } from './shard-rows.ts';
import { backoffMs, RequestRefused, StorageTrouble, WriteConflict, type CounterTable, type RowWrite } from './table.ts';

/** The change could not be committed now; nothing of it is half done, and sending it again is safe. */
export class NotCommitted extends Error {
  override readonly name = 'NotCommitted';
}

// An entity group transaction takes 100 operations and 4 MiB. Of the operations, the total and the rows that go on with its
// camera list take up to 4 (100 new cameras of 128 characters fill one text); of the bytes, the envelope takes some.
const MOST_OPERATIONS = 100;
const TOTAL_OPERATIONS = 4;
const MOST_BYTES = 3_400_000;
const ENVELOPE_BYTES = 900;

const TROUBLE_TRIES = 6;
const TROUBLE_BUDGET_MS = 20_000;
const CONFLICT_BUDGET_MS = 40_000;

/** A message that waits for its commit. */
interface Pending {
  readonly message: EventMessage;
  readonly key: string;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: NotCommitted) => void;
  readFirst: boolean;
  /** It was in a transaction whose answer never came: perhaps it is applied already. */
  uncertain: boolean;
}

const sizeOf = (write: RowWrite): number => {
  let size = ENVELOPE_BYTES + 3 * write.rowKey.length;
  for (const [name, value] of Object.entries(write.properties)) {
    size += name.length + 24;
    if (typeof value === 'string') size += Math.ceil(Buffer.byteLength(value) * 1.15);
    else if (value instanceof Uint8Array) size += Math.ceil(value.length * 1.34);
  }
  return size;
};

const isTooLarge = ({ writes }: CommitPlan): boolean =>
  writes.length > MOST_OPERATIONS || writes.reduce((size, write) => size + sizeOf(write), 0) > MOST_BYTES;

/**
 * The one writer of a shard in this process. While a transaction is in flight, messages queue; the next one takes as many as
 * fit. After a conflict, or an answer that never came, the rows are read again and the differences worked out again:
 * whatever was already applied comes out as no difference.
 */
export class ShardCommitter {
  readonly #table: CounterTable;
  readonly #partition: string;
  readonly #rows: ShardRows;
  readonly #limit: LimitFunction;
  #queue: Pending[] = [];
  #running: Promise<void> | undefined;

  /** @param limit bounds how many committers of the process write at the same time */
  constructor(table: CounterTable, partition: string, rows: ShardRows, limit: LimitFunction) {
    this.#table = table;
    this.#partition = partition;
    this.#rows = rows;
    this.#limit = limit;
  }

  /** Messages that wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Whether nothing is under way. */
  get idle(): boolean {
    return this.#running === undefined;
  }

  /** Until everything that was submitted is settled. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /**
   * Commits a message together with others.
   *
   * @throws {NotCommitted} where storage did not take it after bounded tries
   */
  async submit(message: EventMessage): Promise<Outcome> {
    const key = eventKeyOf(message);
    const known = this.#rows.knownEvent(key);
    // Times of facets only grow: what is old against a committed state is old for ever.
    if (known?.ts === message.ts && applyFacets(known.facets, message.facets) === known.facets) return 'unchanged';
    return new Promise((resolve, reject) => {
      // A frame comes with what the AI saw in it; anything else is about an event that is likely to be there.
      const readFirst = message.facets.detections === undefined;
      this.#queue.push({ message, key, resolve, reject, readFirst, uncertain: false });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      // Lets everyone who was just answered queue up what comes next.
      await setImmediate();
      await this.#limit(async () => this.#commit(this.#take()));
    }
    this.#running = undefined;
  }

  /** As many from the queue's front as surely fit into a transaction. */
  #take(): readonly Pending[] {
    const rows = new Set<string>();
    let taken = 0;
    for (const { message, key } of this.#queue) {
      const more = [key, `camera|${message.cameraId}`, key.slice(0, 'event|00'.length)].filter((row) => !rows.has(row));
      if (rows.size + more.length > MOST_OPERATIONS - TOTAL_OPERATIONS) break;
      for (const row of more) rows.add(row);
      taken += 1;
    }
    return this.#queue.splice(0, taken);
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    const started = Date.now();
    for (let conflicts = 0, troubles = 0; ;) {
      try {
        const tooLarge = await this.#attempt(batch);
        if (tooLarge) await this.#commitHalves(batch);
        return;
      } catch (error) {
        this.#rows.forget(batch);
        for (const pending of batch) pending.readFirst = true;
        const elapsed = Date.now() - started;
        if (error instanceof WriteConflict && elapsed < CONFLICT_BUDGET_MS) {
          conflicts += 1;
          await setTimeout(backoffMs(conflicts, 4, 250));
        } else if (error instanceof StorageTrouble && troubles < TROUBLE_TRIES && elapsed < TROUBLE_BUDGET_MS) {
          troubles += 1;
          await setTimeout(Math.max(Math.min(error.retryAfterMs, 5_000), backoffMs(troubles, 60, 2_000)));
        } else {
          await this.#giveUp(batch, error);
          return;
        }
      }
    }
  }

  /** One try. Tells whether the batch is too large for one transaction; then nothing was tried. */
  async #attempt(batch: readonly Pending[]): Promise<boolean> {
    const view = await this.#rows.view(batch);
    const plan = planCommit(
      view,
      batch.map(({ message }) => message),
    );
    if (plan.writes.length > 0) {
      if (batch.length > 1 && isTooLarge(plan)) return true;
      try {
        const etags = await this.#table.transact(this.#partition, plan.writes);
        this.#rows.adopt(plan, etags, view);
      } catch (error) {
        if (error instanceof StorageTrouble) for (const pending of batch) pending.uncertain = true;
        throw error;
      }
    }
    for (const [at, pending] of batch.entries()) {
      const outcome = plan.outcomes[at] ?? 'unchanged';
      pending.resolve(outcome === 'unchanged' && pending.uncertain ? 'recorded' : outcome);
    }
    return false;
  }

  async #commitHalves(batch: readonly Pending[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    await this.#commit(batch.slice(0, middle));
    await this.#commit(batch.slice(middle));
  }

  /** The last word on a batch. What is wrong with one message must not fail the others: it is found by halving. */
  async #giveUp(batch: readonly Pending[], error: unknown): Promise<void> {
    if (error instanceof StorageTrouble || error instanceof WriteConflict) {
      const failure = new NotCommitted('storage did not take the change', { cause: error });
      // Storage is down, or far too busy: whoever waits behind is told now and not one bounded wait after the other.
      const behind = error instanceof StorageTrouble ? this.#queue.splice(0) : [];
      for (const pending of [...batch, ...behind]) pending.reject(failure);
    } else if (batch.length > 1) {
      await this.#commitHalves(batch);
    } else if (error instanceof RequestRefused) {
      for (const pending of batch) pending.resolve({ refused: 'storage does not take the event in this form' });
    } else {
      const failure = new NotCommitted('what is stored is damaged', { cause: error });
      for (const pending of batch) pending.reject(failure);
    }
  }
}
