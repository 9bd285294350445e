import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';

import { DamagedRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DayClosed, DayHeld, StaleSnapshot } from '../errors.ts';
import { type Hour, hourOf } from '../model/day.ts';
import { type Buckets, type HourRow, hourRowFrom } from '../rows/buckets.ts';
import { type CameraRow, cameraRowFrom } from '../rows/camera-row.ts';
import { type DayRow, dayRowFrom, DAY_STATE } from '../rows/day-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import {
  cameraCounter,
  type Counter,
  counterKey,
  DAY_00,
  DAY_COUNTER,
  hourCounter,
  MAX_STRIPES,
} from '../rows/keys.ts';
import { areTooLarge, type Batch } from './batch.ts';
import { type CommitPlan, type FirstStripe, planCommit, type Snapshot, type Versioned } from './commit-plan.ts';

const PARALLEL_READS = 16;
const MIB = 1_048_576;

const bytesOf = (buckets: Buckets<never> | HourRow | DayRow['hours']): number =>
  [...buckets.values()].reduce((size, { tally, active }) => size + 400 + tally.length + active.length, 500);

/**
 * The counter rows that a process last committed or read, of its stripes in all shards, in bounded memory: a steady stream of frames needs no
 * reads. They may be stale: each write carries the row's version and fails if it is. The sizes are estimates: nothing depends on them.
 */
export class RowMemory {
  readonly days = new LRUCache<string, Versioned<DayRow>>({
    maxSize: 8 * MIB,
    sizeCalculation: ({ value: { hours, cameras, tally } }) =>
      500 + bytesOf(hours) + 150 * (cameras.ids.length + tally.categories.size),
  });
  readonly hours = new LRUCache<string, Versioned<HourRow>>({
    maxSize: 8 * MIB,
    sizeCalculation: ({ value }) => bytesOf(value),
  });
  readonly cameras = new LRUCache<string, Versioned<CameraRow>>({
    maxSize: 32 * MIB,
    sizeCalculation: ({ value: { hours, tally } }) =>
      [...hours.values()].reduce((size, { length }) => size + 200 + length, 1_000 + 100 * tally.categories.size),
  });
  /** The stripe of the last commit, in any shard. The process begins in the same stripe in other shards, so that instances keep apart. */
  stripe = 0;
  #epochs = 0;

  /** A name under which rows are remembered; a new name forgets the earlier rows. */
  newEpoch(): number {
    return (this.#epochs += 1);
  }
}

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

/** The first move goes to one of these stripes; each further move in a row goes to any stripe. */
const FEW_STRIPES = 8;

/** A stripe that was written this recently has a writer. */
const IN_USE_MS = 10_000;

/** With more moves in a row a writer takes a stripe in use: there are more writers than stripes. */
const MAX_MOVES = 12;

/**
 * The stripe for a writer that moves. There is no list of free stripes: a random stripe is free often enough.
 *
 * @param moves how many moves in a row
 * @param random from 0 to less than 1
 */
export const nextStripe = (moves: number, random: number): number =>
  Math.floor(random * (moves === 1 ? FEW_STRIPES : MAX_STRIPES));

/**
 * Makes single tries to commit to one shard: reads the rows that a batch needs, plans, and sends one transaction. It remembers the counter
 * rows of its stripe until another writer changes them.
 */
export class ShardWriter {
  readonly #shard: WrittenShard;
  readonly #limit = pLimit(PARALLEL_READS);
  #stripe: number;
  #epoch: number;
  /** Whether `day|00` was seen to be striped, which is never taken back. */
  #isStriped = false;
  /** Moves in a row, since the last commit. */
  #moves = 0;

  constructor(shard: WrittenShard) {
    this.#shard = shard;
    this.#stripe = shard.memory.stripe;
    this.#epoch = shard.memory.newEpoch();
  }

  /**
   * One try to commit a batch.
   *
   * @returns the commit: no writes if nothing changes; undefined: the batch does not fit into one transaction
   * @throws {DayClosed | DayHeld | WriteConflict | StaleSnapshot | RequestRefused}
   */
  async commit(batch: Batch): Promise<CommitPlan | undefined> {
    const { table, partition, configuredCategories } = this.#shard;
    let plan: CommitPlan | undefined;
    try {
      plan = planCommit(await this.#snapshot(batch), batch, configuredCategories);
      if (batch.length > 1 && areTooLarge(plan.writes)) return undefined;
      if (plan.writes.length > 0) this.#remember(plan, await table.transact(partition, plan.writes));
      return plan;
    } catch (error) {
      this.#recover(batch, error, plan);
      throw error;
    }
  }

  #remember({ counters }: CommitPlan, etags: readonly string[]): void {
    const { memory } = this.#shard;
    if (counters === undefined) return;
    // In the order of the writes.
    const [etag = '', ...more] = etags;
    memory.days.set(this.#nameOf(DAY_COUNTER), { value: counters.day, etag });
    const rest = more.values();
    for (const [hour, value] of counters.hours) {
      memory.hours.set(this.#nameOf(hourCounter(hour)), { value, etag: rest.next().value ?? '' });
    }
    for (const [cameraId, value] of counters.cameras) {
      memory.cameras.set(this.#nameOf(cameraCounter(cameraId)), { value, etag: rest.next().value ?? '' });
    }
    memory.stripe = this.#stripe;
    this.#moves = 0;
  }

  async #snapshot(batch: Batch): Promise<Snapshot> {
    const { partition, memory } = this.#shard;
    const { day, firstStripe } = await this.#day();
    const rows = { hours: new Map<Hour, Versioned<HourRow>>(), cameras: new Map<string, Versioned<CameraRow>>() };
    const events: Map<Batch[number]['eventKey'], Versioned<ReturnType<typeof eventRowFrom>>> = new Map();
    const reads = new Map<string, () => Promise<void>>();
    const add = async <Key, Row>(
      cache: LRUCache<string, Versioned<Row>>,
      found: Map<Key, Versioned<Row>>,
      [key, counter]: readonly [Key, Counter],
      decode: (row: StoredRow) => Row,
    ): Promise<void> => {
      const row = await this.#get(counter);
      if (row === undefined) return;
      const versioned = { value: decode(row), etag: row.etag };
      found.set(key, versioned);
      cache.set(this.#nameOf(counter), versioned);
    };
    for (const { message, minute, eventKey, readFirst } of batch) {
      const hour = hourOf(minute);
      // A row of an hour or a camera is written together with its entry in the `day` row.
      if (day?.value.hours.has(hour) === true && !rows.hours.has(hour)) {
        const counter = hourCounter(hour);
        const known = memory.hours.get(this.#nameOf(counter));
        if (known !== undefined) rows.hours.set(hour, known);
        else reads.set(counter, async () => add(memory.hours, rows.hours, [hour, counter], hourRowFrom));
      }
      const { cameraId } = message;
      if (day?.value.cameras.indexes.has(cameraId) === true && !rows.cameras.has(cameraId)) {
        const counter = cameraCounter(cameraId);
        const known = memory.cameras.get(this.#nameOf(counter));
        if (known !== undefined) rows.cameras.set(cameraId, known);
        else reads.set(counter, async () => add(memory.cameras, rows.cameras, [cameraId, counter], cameraRowFrom));
      }
      if (readFirst) {
        reads.set(eventKey, async () => {
          const row = await this.#shard.table.get(partition, eventKey);
          if (row !== undefined) events.set(eventKey, { value: eventRowFrom(row), etag: row.etag });
        });
      }
    }
    await this.#limit.map(reads.values(), async (read) => read());
    return { partition, stripe: this.#stripe, day, ...rows, events, firstStripe };
  }

  /**
   * The `day` row of the stripe; undefined: the next commit inserts it. A writer that has to move skips stripes that other writers use.
   *
   * @throws {DayClosed | DayHeld | DamagedRow}
   */
  async #day(): Promise<Pick<Snapshot, 'day' | 'firstStripe'>> {
    const { table, memory } = this.#shard;
    const known = memory.days.get(this.#nameOf(DAY_COUNTER));
    if (known !== undefined) return { day: known, firstStripe: 'striped' };
    const [stored, firstStripe] = await Promise.all([this.#get(DAY_COUNTER), this.#firstStripe()]);
    const value = stored && dayRowFrom(stored);
    if (value?.sealed === 'closed') throw new DayClosed();
    if (value?.sealed === 'rebuilding') throw new DayHeld(this.#shard.partition);
    const writtenAt = Date.parse(String(stored?.properties['timestamp']));
    if (this.#moves > 0 && this.#moves < MAX_MOVES && table.now() - writtenAt < IN_USE_MS) {
      this.#move();
      return this.#day();
    }
    const day = value && { value, etag: stored.etag };
    if (day !== undefined && (this.#stripe === 0 || firstStripe === 'striped')) {
      memory.days.set(this.#nameOf(DAY_COUNTER), day);
    }
    return { day, firstStripe };
  }

  /** @throws {DamagedRow} its row is missing, and the shard has rows: a new row would hide them from readers */
  async #firstStripe(): Promise<FirstStripe> {
    const { table, partition } = this.#shard;
    const read = async (): Promise<FirstStripe> => {
      const row = await table.get(partition, DAY_00, { select: DAY_STATE.select });
      if (row === undefined) return 'missing';
      this.#isStriped = DAY_STATE.from(row).isStriped;
      return this.#isStriped ? 'striped' : 'alone';
    };
    const first = this.#isStriped ? 'striped' : await read();
    if (first !== 'missing') return first;
    if ((await table.firstPartition({ from: partition, before: `${partition}!` })) === undefined) return 'missing';
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
      if (failed === DAY_00 && this.#stripe !== 0) this.#isStriped = false;
      else if (!isOfEvent) this.#move();
    } else if (error instanceof StaleSnapshot) {
      this.#move();
    }
  }

  #move(): void {
    this.#forget();
    this.#moves += 1;
    this.#stripe = nextStripe(this.#moves, this.#shard.random());
  }

  #forget(): void {
    this.#epoch = this.#shard.memory.newEpoch();
  }

  /** The name under which a row of the stripe is remembered. */
  #nameOf(counter: Counter): string {
    return `${this.#epoch}/${counter}`;
  }

  async #get(counter: Counter): Promise<StoredRow | undefined> {
    return this.#shard.table.get(this.#shard.partition, counterKey(counter, this.#stripe));
  }
}
