import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';

import { DamagedRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { fitTransaction, type StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DayClosed, DayHeld } from '../errors.ts';
import { type Hour, hourOf } from '../model/day.ts';
import { type Bucket, type HourRow, hourRowFrom } from '../rows/buckets.ts';
import { type CameraRow, cameraRowFrom } from '../rows/camera-row.ts';
import { type DayRow, dayRowFrom, DAY_STATE } from '../rows/day-row.ts';
import { type EventRow, eventRowFrom } from '../rows/event-row.ts';
import { cameraCounter, counterKey, DAY_00, DAY_COUNTER, type EventKey, hourCounter } from '../rows/keys.ts';
import { hasRows } from '../rows/stripes.ts';
import {
  type CommitPlan,
  type Counters,
  type FirstStripe,
  type KeyedMessage,
  type Outcome,
  planCommit,
  type Snapshot,
} from './commit-plan.ts';
import { leavesStripe, moved, type StripeChoice } from './stripe-choice.ts';

/** A message that waits for its commit. */
export interface Waiting extends KeyedMessage {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
  /** Whether its event's row is read before anything is written. A new frame is inserted without that, unless a try failed. */
  readFirst: boolean;
  /** It was in a transaction whose answer never came: it may have been applied. */
  uncertain: boolean;
}

export type Batch = readonly Waiting[];

const PARALLEL_READS = 16;

/** After the first commits, the rows are measured once in this many: to measure many rows takes longer than to plan a commit. */
const COMMITS_A_MEASUREMENT = 16;

/**
 * The counter rows of a shard that a writer last committed or read, all of its one stripe: a steady stream of frames needs no reads. They may be
 * stale: each write carries the row's version and fails if it is.
 */
export class RememberedRows {
  day: DayRow | undefined;
  readonly hours = new Map<Hour, HourRow>();
  readonly cameras = new Map<string, CameraRow>();
  /** The version of each row, by its key. */
  readonly etags = new Map<string, string>();

  /** A rough size in memory. */
  get bytes(): number {
    let bytes = 1_000 + 150 * (this.day?.cameras.size ?? 0);
    for (const buckets of [this.day?.hours ?? new Map<Hour, Bucket>(), ...this.hours.values()]) {
      for (const { tally, active } of buckets.values()) bytes += 400 + tally.length + active.length;
    }
    for (const { hours, tally } of this.cameras.values()) {
      bytes += 1_000 + 100 * tally.categories.size;
      for (const minutes of hours.values()) bytes += 200 + minutes.length;
    }
    return bytes;
  }
}

/** The rows that a process remembers. If they take too much memory, the rows of the writer that wrote least recently go, all at once. */
export class RowMemory {
  readonly writers: LRUCache<ShardWriter, RememberedRows>;
  /** The stripe of the last commit, in any shard. The process begins there in another shard, so that instances keep apart. */
  stripe = 0;

  /** @param maxBytes enough for a day of 5,000 cameras that send each minute, some 14 KB each */
  constructor(maxBytes = 128 * 1_048_576) {
    this.writers = new LRUCache({ maxSize: maxBytes });
  }
}

const NO_ROWS = new RememberedRows();

/** A shard of a day that is written to. */
interface WrittenShard {
  readonly table: Table;
  readonly partition: string;
  readonly memory: RowMemory;
  /** The categories that always find room. */
  readonly configuredCategories: ReadonlySet<string>;
  /** From 0 to less than 1. */
  readonly random: () => number;
}

/**
 * Makes single tries to commit to one shard: reads the rows that a batch needs, plans, and sends one transaction. It remembers the counter
 * rows of its stripe until another writer changes them.
 */
export class ShardWriter {
  readonly #shard: WrittenShard;
  readonly #limit = pLimit(PARALLEL_READS);
  #choice: StripeChoice;
  /** The rows of a try. Between tries only the memory has them: what it drops is gone. */
  #rows: RememberedRows = NO_ROWS;
  #commits = 0;
  /** Whether `day|00` was seen to be striped, which is never taken back. */
  #isStriped = false;

  constructor(shard: WrittenShard) {
    this.#shard = shard;
    this.#choice = { stripe: shard.memory.stripe, moves: 0 };
  }

  get stripe(): number {
    return this.#choice.stripe;
  }

  /** Begins in one of the first stripes in place of the process's own. @returns whether no other writer is there */
  async takesFreeStripe(): Promise<boolean> {
    const { table, partition, random } = this.#shard;
    this.#choice = moved(this.#choice, random());
    return !this.#leaves(await table.get(partition, counterKey(DAY_COUNTER, this.stripe), { select: ['Timestamp'] }));
  }

  /**
   * One try to commit a batch.
   *
   * @returns the commit: no writes if nothing changes; undefined: the batch does not fit into one transaction
   * @throws {DayClosed | DayHeld | WriteConflict | RequestRefused}
   */
  async commit(batch: Batch): Promise<CommitPlan | undefined> {
    const { table, partition, configuredCategories, memory } = this.#shard;
    let plan: CommitPlan | undefined;
    this.#rows = memory.writers.get(this) ?? this.#forget();
    try {
      plan = planCommit(await this.#snapshot(batch), batch, configuredCategories);
      if (batch.length > 1 && !fitTransaction(plan.writes)) return undefined;
      if (plan.counters !== undefined)
        this.#remember(plan.counters, plan, await table.transact(partition, plan.writes));
      return plan;
    } catch (error) {
      this.#recover(batch, error, plan);
      throw error;
    } finally {
      this.#rows = NO_ROWS;
    }
  }

  #remember({ day, hours, cameras }: Counters, { writes }: CommitPlan, etags: readonly string[]): void {
    const rows = this.#rows;
    rows.day = day;
    for (const [hour, row] of hours) rows.hours.set(hour, row);
    for (const [cameraId, row] of cameras) rows.cameras.set(cameraId, row);
    // Their writes come first.
    for (const [index, { rowKey }] of writes.slice(0, 1 + hours.size + cameras.size).entries()) {
      rows.etags.set(rowKey, etags[index] ?? '');
    }
    this.#commits += 1;
    if (this.#commits < COMMITS_A_MEASUREMENT || this.#commits % COMMITS_A_MEASUREMENT === 0) this.#measure();
    this.#choice = { ...this.#choice, moves: 0 };
    this.#shard.memory.stripe = this.#choice.stripe;
  }

  async #snapshot(batch: Batch): Promise<Snapshot> {
    const { table, partition } = this.#shard;
    const { day, firstStripe } = await this.#dayToWrite();
    const [rows, { stripe }] = [this.#rows, this.#choice];
    const events = new Map<EventKey, EventRow>();
    const eventEtags = new Map<string, string>();
    const reads = new Map<string, () => Promise<void>>();
    const add = (rowKey: string, etags: Map<string, string>, take: (row: StoredRow) => void): void => {
      reads.set(rowKey, async () => {
        const row = await table.get(partition, rowKey);
        if (row === undefined) return;
        take(row);
        etags.set(rowKey, row.etag);
      });
    };
    for (const { message, minute, eventKey, readFirst } of batch) {
      const [hour, { cameraId }] = [hourOf(minute), message];
      // A row of an hour or a camera is written together with its entry in the `day` row.
      if (day?.hours.has(hour) === true && !rows.hours.has(hour)) {
        add(counterKey(hourCounter(hour), stripe), rows.etags, (row) => rows.hours.set(hour, hourRowFrom(row)));
      }
      if (day?.cameras.has(cameraId) === true && !rows.cameras.has(cameraId)) {
        add(counterKey(cameraCounter(cameraId), stripe), rows.etags, (row) => {
          rows.cameras.set(cameraId, cameraRowFrom(row));
        });
      }
      if (readFirst) add(eventKey, eventEtags, (row) => events.set(eventKey, eventRowFrom(row)));
    }
    await this.#limit.map(reads.values(), async (read) => read());
    if (reads.size > 0) this.#measure();
    const etags = events.size === 0 ? rows.etags : new Map([...rows.etags, ...eventEtags]);
    return { partition, stripe, day, hours: rows.hours, cameras: rows.cameras, events, etags, firstStripe };
  }

  /**
   * Settles on a stripe, and answers its `day` row; undefined: the next commit inserts it. A writer that has moved skips stripes that other writers
   * use.
   *
   * @throws {DayClosed | DayHeld | DamagedRow}
   */
  async #dayToWrite(): Promise<Pick<Snapshot, 'day' | 'firstStripe'>> {
    const { table, partition } = this.#shard;
    // It is remembered only in stripe 0, or once stripe 0 is striped.
    if (this.#rows.day !== undefined) return { day: this.#rows.day, firstStripe: 'striped' };
    const rowKey = counterKey(DAY_COUNTER, this.#choice.stripe);
    const reading = table.get(partition, rowKey);
    const [row, firstStripe] = await Promise.all([reading, this.#firstStripe(rowKey === DAY_00 ? reading : undefined)]);
    const day = row && dayRowFrom(row);
    if (day?.sealed === 'closed') throw new DayClosed();
    if (day?.sealed === 'rebuilding') throw new DayHeld(partition);
    if (this.#leaves(row)) {
      this.#move();
      return this.#dayToWrite();
    }
    if (row !== undefined) this.#rows.etags.set(rowKey, row.etag);
    // Until stripe 0 is known to be striped, each commit to another stripe reads both rows again.
    if (day !== undefined && (this.#choice.stripe === 0 || firstStripe === 'striped')) this.#rows.day = day;
    return { day, firstStripe };
  }

  /**
   * @param reading of its row, if it is under way
   * @throws {DamagedRow} its row is missing, and the shard has rows: a new row would hide them from readers
   */
  async #firstStripe(reading: Promise<StoredRow | undefined> | undefined): Promise<FirstStripe> {
    const { table, partition } = this.#shard;
    const read = async (answer = table.get(partition, DAY_00, { select: DAY_STATE.select })): Promise<FirstStripe> => {
      const row = await answer;
      if (row === undefined) return 'missing';
      this.#isStriped = DAY_STATE.from(row).isStriped;
      return this.#isStriped ? 'striped' : 'alone';
    };
    const first = this.#isStriped ? 'striped' : await read(reading);
    if (first !== 'missing') return first;
    if (!(await hasRows(table, partition))) return 'missing';
    // Another instance may have written it in between.
    const again = await read();
    if (again === 'missing') throw new DamagedRow(partition, DAY_00, 'it is missing, and the shard has rows');
    return again;
  }

  /**
   * After a failed try: forgets what must be read again.
   *
   * - At an event row: another instance changed the event, or stored it before.
   * - At the `day` row of stripe 0, for another stripe: it came or went in between.
   * - At a counter row, or unknown where, or rows do not fit together: another writer is in the stripe. This writer moves.
   * - No answer: the transaction may have been applied. Applied changes then make no difference.
   */
  #recover(batch: Batch, error: unknown, plan: CommitPlan | undefined): void {
    if (error instanceof StorageTrouble && plan !== undefined) {
      for (const waiting of batch) {
        waiting.uncertain = true;
        waiting.readFirst = true;
      }
      this.#forget();
    } else if (error instanceof WriteConflict) {
      const failed = plan?.writes[error.index ?? -1]?.rowKey;
      const isOfEvent = batch.some(({ eventKey }) => eventKey === failed);
      if (isOfEvent || failed === undefined) for (const waiting of batch) waiting.readFirst = true;
      if (failed === DAY_00 && this.#choice.stripe !== 0) this.#isStriped = false;
      else if (!isOfEvent) this.#move();
    }
  }

  /** @param row the `day` row of its stripe */
  #leaves(row: StoredRow | undefined): boolean {
    return leavesStripe(this.#choice, this.#shard.table.now() - Date.parse(String(row?.properties['timestamp'])));
  }

  #move(): void {
    this.#forget();
    this.#choice = moved(this.#choice, this.#shard.random());
  }

  #forget(): RememberedRows {
    this.#rows = new RememberedRows();
    this.#measure();
    return this.#rows;
  }

  #measure(): void {
    const { writers } = this.#shard.memory;
    // The cache does not change the size of a value that it has.
    writers.delete(this);
    writers.set(this, this.#rows, { size: this.#rows.bytes });
  }
}
