import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';

import { DamagedRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { fitTransaction, type StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DayClosed, DayHeld } from '../errors.ts';
import { hourOf } from '../model/day.ts';
import { type Buckets, type HourRow, hourRowFrom } from '../rows/buckets.ts';
import { type CameraRow, cameraRowFrom } from '../rows/camera-row.ts';
import { type DayRow, dayRowFrom, DAY_STATE } from '../rows/day-row.ts';
import { type EventRow, eventRowFrom } from '../rows/event-row.ts';
import {
  cameraCounter,
  type Counter,
  counterKey,
  DAY_00,
  DAY_COUNTER,
  type EventKey,
  hourCounter,
} from '../rows/keys.ts';
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

/** A row with the version that it was read at or written with. */
interface Versioned<Row> {
  readonly value: Row;
  readonly etag: string;
}

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
      500 + bytesOf(hours) + 150 * (cameras.size + tally.categories.size),
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
  /** The stripe of the last commit, in any shard. The process begins there in another shard, so that instances keep apart. */
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

/**
 * Makes single tries to commit to one shard: reads the rows that a batch needs, plans, and sends one transaction. It remembers the counter
 * rows of its stripe until another writer changes them.
 */
export class ShardWriter {
  readonly #shard: WrittenShard;
  readonly #limit = pLimit(PARALLEL_READS);
  #choice: StripeChoice;
  #epoch: number;
  /** Whether `day|00` was seen to be striped, which is never taken back. */
  #isStriped = false;

  constructor(shard: WrittenShard) {
    this.#shard = shard;
    this.#choice = { stripe: shard.memory.stripe, moves: 0 };
    this.#epoch = shard.memory.newEpoch();
  }

  /**
   * One try to commit a batch.
   *
   * @returns the commit: no writes if nothing changes; undefined: the batch does not fit into one transaction
   * @throws {DayClosed | DayHeld | WriteConflict | RequestRefused}
   */
  async commit(batch: Batch): Promise<CommitPlan | undefined> {
    const { table, partition, configuredCategories } = this.#shard;
    let plan: CommitPlan | undefined;
    try {
      plan = planCommit(await this.#snapshot(batch), batch, configuredCategories);
      if (batch.length > 1 && !fitTransaction(plan.writes)) return undefined;
      if (plan.counters !== undefined) {
        const etags = await table.transact(partition, plan.writes);
        this.#remember(plan.counters, new Map(plan.writes.map(({ rowKey }, index) => [rowKey, etags[index] ?? ''])));
      }
      return plan;
    } catch (error) {
      this.#recover(batch, error, plan);
      throw error;
    }
  }

  #remember({ day, hours, cameras }: Counters, etags: ReadonlyMap<string, string>): void {
    const { memory } = this.#shard;
    const { stripe } = this.#choice;
    const put = <Row>(cache: LRUCache<string, Versioned<Row>>, counter: Counter, value: Row): void => {
      cache.set(this.#nameOf(counter), { value, etag: etags.get(counterKey(counter, stripe)) ?? '' });
    };
    put(memory.days, DAY_COUNTER, day);
    for (const [hour, row] of hours) put(memory.hours, hourCounter(hour), row);
    for (const [cameraId, row] of cameras) put(memory.cameras, cameraCounter(cameraId), row);
    memory.stripe = stripe;
    this.#choice = { stripe, moves: 0 };
  }

  async #snapshot(batch: Batch): Promise<Snapshot> {
    const { table, partition, memory } = this.#shard;
    const { day, firstStripe } = await this.#day();
    const { stripe } = this.#choice;
    const etags = new Map<string, string>(day && [[counterKey(DAY_COUNTER, stripe), day.etag]]);
    const rowsOf = async <Key, Row>(
      keys: Iterable<Key>,
      counterOf: (key: Key) => Counter,
      cache: LRUCache<string, Versioned<Row>>,
      decode: (row: StoredRow) => Row,
    ): Promise<ReadonlyMap<Key, Row>> => {
      const rows = new Map<Key, Row>();
      const add = async (key: Key): Promise<void> => {
        const counter = counterOf(key);
        const row = cache.get(this.#nameOf(counter)) ?? (await this.#read(counter, cache, decode));
        if (row === undefined) return;
        rows.set(key, row.value);
        etags.set(counterKey(counter, stripe), row.etag);
      };
      await Promise.all(Array.from(new Set(keys), add));
      return rows;
    };
    // A row of an hour or a camera is written together with its entry in the `day` row.
    const storedHours = batch.map(({ minute }) => hourOf(minute)).filter((hour) => day?.value.hours.has(hour));
    const storedCameras = batch.map(({ message }) => message.cameraId).filter((id) => day?.value.cameras.has(id));
    const events = new Map<EventKey, EventRow>();
    const readEvent = async (key: EventKey): Promise<void> => {
      const row = await table.get(partition, key);
      if (row === undefined) return;
      events.set(key, eventRowFrom(row));
      etags.set(key, row.etag);
    };
    const [hours, cameras] = await Promise.all([
      rowsOf(storedHours, hourCounter, memory.hours, hourRowFrom),
      rowsOf(storedCameras, cameraCounter, memory.cameras, cameraRowFrom),
      this.#limit.map(new Set(batch.flatMap(({ readFirst, eventKey }) => (readFirst ? [eventKey] : []))), readEvent),
    ]);
    return { partition, stripe, day: day?.value, hours, cameras, events, etags, firstStripe };
  }

  /** Reads the row of a counter, and remembers it. */
  async #read<Row>(
    counter: Counter,
    cache: LRUCache<string, Versioned<Row>>,
    decode: (row: StoredRow) => Row,
  ): Promise<Versioned<Row> | undefined> {
    const row = await this.#limit(async () => this.#get(counter));
    const read = row && { value: decode(row), etag: row.etag };
    if (read !== undefined) cache.set(this.#nameOf(counter), read);
    return read;
  }

  /**
   * The `day` row of the stripe; undefined: the next commit inserts it. A writer that has to move leaves the stripes of other writers to them.
   *
   * @throws {DayClosed | DayHeld | DamagedRow}
   */
  async #day(): Promise<{ readonly day: Versioned<DayRow> | undefined; readonly firstStripe: FirstStripe }> {
    const { table, memory } = this.#shard;
    const known = memory.days.get(this.#nameOf(DAY_COUNTER));
    if (known !== undefined) return { day: known, firstStripe: 'striped' };
    const [stored, firstStripe] = await Promise.all([this.#get(DAY_COUNTER), this.#firstStripe()]);
    const value = stored && dayRowFrom(stored);
    if (value?.sealed === 'closed') throw new DayClosed();
    if (value?.sealed === 'rebuilding') throw new DayHeld(this.#shard.partition);
    if (leavesStripe(this.#choice, table.now() - Date.parse(String(stored?.properties['timestamp'])))) {
      this.#move();
      return this.#day();
    }
    const day = value && { value, etag: stored.etag };
    if (day !== undefined && (this.#choice.stripe === 0 || firstStripe === 'striped')) {
      memory.days.set(this.#nameOf(DAY_COUNTER), day);
    }
    return { day, firstStripe };
  }

  /** @throws {DamagedRow} its row is missing, and the shard has rows: a row that is made up would hide them from readers */
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

  #move(): void {
    this.#forget();
    this.#choice = moved(this.#choice, this.#shard.random());
  }

  #forget(): void {
    this.#epoch = this.#shard.memory.newEpoch();
  }

  /** The name under which a row of the stripe is remembered. */
  #nameOf(counter: Counter): string {
    return `${this.#epoch}/${counter}`;
  }

  async #get(counter: Counter): Promise<StoredRow | undefined> {
    return this.#shard.table.get(this.#shard.partition, counterKey(counter, this.#choice.stripe));
  }
}
