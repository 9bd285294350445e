import { setImmediate, setTimeout } from 'node:timers/promises';

import type { LimitFunction } from 'p-limit';

import { applyFacets, type EventMessage } from '../model/camera-event.ts';
import type { Outcome } from './commit-draft.ts';
import { planCommit, type CommitPlan } from './commit-plan.ts';
import { hourOfMinute, minuteOfDay } from '../model/day.ts';
import { eventKeyOf } from '../rows/event-row.ts';
import { cameraKey, hourKey, minuteKey } from '../rows/keys.ts';
import { PENDING, type ShardRows } from './shard-rows.ts';
import type { ShardView } from './shard-snapshot.ts';
import { backoffMs, RequestRefused, StorageTrouble, WriteConflict, type CounterTable, type RowWrite } from '../rows/table.ts';
import { readVersion } from '../rows/total-row.ts';

/** The change could not be committed now; nothing of it is half done, and sending it again is safe. */
export class NotCommitted extends Error {
  override readonly name = 'NotCommitted';
}

// An entity group transaction takes 100 operations and 4 MiB. Of the operations, the day's hours, the total and the rows that go
// on with its camera list take up to 5 (100 new cameras of 128 characters fill one text); of the bytes, the envelope takes some.
const MOST_OPERATIONS = 100;
const DAY_OPERATIONS = 5;
const MOST_BYTES = 3_400_000;
const ENVELOPE_BYTES = 900;

const TROUBLE_TRIES = 6;
const TROUBLE_BUDGET_MS = 20_000;
const CONFLICT_BUDGET_MS = 40_000;
// Another process that has just committed goes on without reading, and whoever reads first comes too late each time. So the
// one that lost looks, at little cost, whether the shard is quiet before it tries again, and a process that knows of others
// makes a pause now and then that they will notice: they take turns, instead of failing one another.
const QUIET_MS = 20;
const LISTEN_BUDGET_MS = 2_000;
const CONFLICT_BASE_MS = 10;
const CONFLICT_MOST_MS = 100;
const TURN_MS = 500;
const PAUSE_MS = 60;
const CONTENDED_FOR_MS = 30_000;

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

/** A batch with its plan: ready to be written as soon as the ETags are there that the transaction before it will answer. */
interface Prepared {
  readonly batch: readonly Pending[];
  readonly view: ShardView;
  readonly plan: CommitPlan;
}

/** A frame comes with what the AI saw in it; anything else is about an event that is likely to be stored already. */
const isFrame = ({ facets }: EventMessage): boolean => facets.detections !== undefined;

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
  /** The ETags that the last transaction answered, by row key. */
  #answered: ReadonlyMap<string, string> = new Map();
  #running: Promise<void> | undefined;
  /** Frames come again, a whole delivery perhaps: better look first than have one transaction after the other fail. */
  #expectsKnown = false;
  /** When another process last got ahead of this one, in milliseconds since 1970. */
  #contended = 0;
  /** Storage failed the last batch to the end: is it down, or was it that batch? One try of the next one tells. */
  #doubtful = false;

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

  /**
   * Commits a message together with others.
   *
   * @throws {NotCommitted} where storage did not take it after bounded tries
   */
  async submit(message: EventMessage): Promise<Outcome> {
    const key = eventKeyOf(message);
    const known = this.#rows.committedEvent(key);
    // Times of facets only grow: what is old against a committed state is old for ever.
    if (known?.ts === message.ts && applyFacets(known.facets, message.facets) === known.facets) return 'unchanged';
    return new Promise((resolve, reject) => {
      this.#queue.push({ message, key, resolve, reject, readFirst: !isFrame(message), uncertain: false });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    let next: Prepared | undefined;
    let turnStarted = Date.now();
    while (next !== undefined || this.#queue.length > 0) {
      // Lets everyone who was just answered queue up what comes next.
      if (next === undefined) await setImmediate();
      if (Date.now() - turnStarted > TURN_MS) {
        if (Date.now() - this.#contended < CONTENDED_FOR_MS) await setTimeout(PAUSE_MS);
        turnStarted = Date.now();
      }
      const prepared = next;
      next = await this.#limit(async () => this.#commit(prepared?.batch ?? this.#take().batch, prepared, true));
    }
    this.#running = undefined;
    this.#doubtful = false;
  }

  /** As many from the queue's front as surely fit into a transaction, and whether more were waiting. */
  #take(): { batch: readonly Pending[]; full: boolean } {
    const rows = new Set<string>();
    let taken = 0;
    for (const { message, key } of this.#queue) {
      const minute = minuteOfDay(message.ts);
      const own = [key, cameraKey(message.cameraId), minuteKey(minute), hourKey(hourOfMinute(minute))];
      const more = own.filter((row) => !rows.has(row));
      if (rows.size + more.length > MOST_OPERATIONS - DAY_OPERATIONS) break;
      for (const row of more) rows.add(row);
      taken += 1;
    }
    const full = taken < this.#queue.length;
    return { batch: this.#queue.splice(0, taken), full };
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
    for (let conflicts = 0, troubles = 0; ;) {
      try {
        const ready = first ?? (await this.#prepare(batch));
        first = undefined;
        if (ready.plan.writes.length === 0) this.#settle(ready);
        else if (batch.length > 1 && isTooLarge(ready.plan)) await this.#commitHalves(batch);
        else return await this.#write(ready, ahead);
        return undefined;
      } catch (error) {
        first = undefined;
        this.#rows.forget(batch);
        for (const pending of batch) pending.readFirst = true;
        const elapsed = Date.now() - started;
        if (error instanceof WriteConflict && elapsed < CONFLICT_BUDGET_MS) {
          conflicts += 1;
          this.#contended = Date.now();
          await setTimeout(backoffMs(conflicts, CONFLICT_BASE_MS, CONFLICT_MOST_MS));
          await this.#untilQuiet();
        } else if (
          error instanceof StorageTrouble &&
          !this.#doubtful &&
          troubles < TROUBLE_TRIES &&
          elapsed < TROUBLE_BUDGET_MS
        ) {
          troubles += 1;
          await setTimeout(Math.max(Math.min(error.retryAfterMs, 5_000), backoffMs(troubles, 60, 2_000)));
        } else {
          await this.#giveUp(batch, error);
          return undefined;
        }
      }
    }
  }

  /** Until nobody has written to the shard for a moment; not for ever, as another one may never make a pause. */
  async #untilQuiet(): Promise<void> {
    const end = Date.now() + LISTEN_BUDGET_MS;
    let seen: string | undefined;
    try {
      do {
        const version = await readVersion(this.#table, this.#partition);
        if (version === undefined || version === seen) return;
        seen = version;
        await setTimeout(QUIET_MS * (1 + Math.random() / 2));
      } while (Date.now() < end);
    } catch {
      // Whatever is wrong with storage shows in the try that follows.
    }
  }

  async #prepare(batch: readonly Pending[]): Promise<Prepared> {
    const view = await this.#rows.view(
      batch.map(({ message, key, readFirst }) => ({ message, key, readFirst: readFirst || this.#expectsKnown })),
    );
    const lookedFor = batch.filter(({ message, readFirst }) => isFrame(message) && (readFirst || this.#expectsKnown));
    if (lookedFor.length > 0) this.#expectsKnown = lookedFor.some(({ key }) => view.events.has(key));
    const plan = planCommit(
      view,
      batch.map(({ message }) => message),
    );
    return { batch, view, plan };
  }

  /** One transaction; while it is under way, the next one is prepared if enough waits to fill it. */
  async #write(prepared: Prepared, ahead: boolean): Promise<Prepared | undefined> {
    const { batch, view, plan } = prepared;
    const writes = plan.writes.map((write) =>
      write.kind !== 'insert' && write.etag === PENDING
        ? { ...write, etag: this.#answered.get(write.rowKey) ?? PENDING }
        : write,
    );
    const answer = Promise.allSettled([this.#table.transact(this.#partition, writes)]);
    // The request is on its way before anything else is worked out.
    await setImmediate();
    const next = ahead ? await this.#prepareNext(prepared) : undefined;
    const [result] = await answer;
    if (result.status === 'rejected') {
      if (next !== undefined) {
        this.#rows.forget(next.batch);
        this.#queue.unshift(...next.batch);
      }
      if (result.reason instanceof StorageTrouble) for (const pending of batch) pending.uncertain = true;
      throw result.reason;
    }
    this.#answered = new Map(writes.map((write, at) => [write.rowKey, result.value[at] ?? '']));
    this.#rows.adopt(plan, view, (rowKey) => this.#answered.get(rowKey) ?? '');
    this.#doubtful = false;
    this.#settle(prepared);
    return next;
  }

  async #prepareNext({ plan, view }: Prepared): Promise<Prepared | undefined> {
    const { batch, full } = this.#take();
    if (full) {
      this.#rows.adopt(plan, view);
      try {
        const next = await this.#prepare(batch);
        if (next.plan.writes.length > 0 && !isTooLarge(next.plan)) return next;
      } catch {
        // The batch goes back and is prepared again in its own turn, where a failure that lasts is answered.
      }
    }
    this.#queue.unshift(...batch);
    return undefined;
  }

  #settle({ batch, plan }: Prepared): void {
    for (const [at, pending] of batch.entries()) {
      const outcome = plan.outcomes[at] ?? 'unchanged';
      pending.resolve(outcome === 'unchanged' && pending.uncertain ? 'recorded' : outcome);
    }
  }

  async #commitHalves(batch: readonly Pending[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    await this.#commit(batch.slice(0, middle));
    await this.#commit(batch.slice(middle));
  }

  /** The last word on a batch. What is wrong with one message must not fail the others: it is found by halving. */
  async #giveUp(batch: readonly Pending[], error: unknown): Promise<void> {
    if (error instanceof StorageTrouble) {
      if (!this.#doubtful && (await this.#commitWithoutTrouble(batch))) return;
      // Storage is down: whoever waits behind is told now and not one bounded wait after the other.
      const behind = this.#doubtful ? this.#queue.splice(0) : [];
      this.#doubtful = true;
      reject([...batch, ...behind], 'storage did not take the change', error);
    } else if (error instanceof WriteConflict) {
      reject(batch, 'storage did not take the change', error);
    } else if (batch.length > 1) {
      await this.#commitHalves(batch);
    } else if (error instanceof RequestRefused) {
      for (const pending of batch) pending.resolve({ refused: 'storage does not take the event in this form' });
    } else {
      reject(batch, 'what is stored is damaged', error);
    }
  }

  /**
   * Halves a batch that storage fails again and again, each half with one try: where storage takes one of them, the trouble
   * is with something in the other one, which is halved in turn.
   *
   * @returns whether all is settled; false: storage took nothing
   */
  async #commitWithoutTrouble(batch: readonly Pending[]): Promise<boolean> {
    if (batch.length === 1) return false;
    const middle = Math.ceil(batch.length / 2);
    const failed: { half: readonly Pending[]; error: unknown }[] = [];
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      try {
        const ready = await this.#prepare(half);
        if (ready.plan.writes.length === 0) this.#settle(ready);
        else await this.#write(ready, false);
      } catch (error) {
        this.#rows.forget(half);
        failed.push({ half, error });
      }
    }
    if (failed.length === 2 && failed.every(({ error }) => error instanceof StorageTrouble)) return false;
    for (const { half, error } of failed) {
      if (!(error instanceof StorageTrouble)) await this.#commit(half);
      else if (!(await this.#commitWithoutTrouble(half))) reject(half, 'storage did not take the change', error);
    }
    return true;
  }
}

const reject = (batch: readonly Pending[], reason: string, cause: unknown): void => {
  const failure = new NotCommitted(reason, { cause });
  for (const pending of batch) pending.reject(failure);
};
