import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';

import { DamagedRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { StaleSnapshot } from '../errors.ts';
import { categoriesOf } from '../model/camera-event.ts';
import { type Buckets, bucketsFrom } from '../rows/buckets.ts';
import { CAMERA_DAY_PROPERTIES, cameraDayFrom, cameraRowFrom } from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { DAY_KEY, SEALED_KEY } from '../rows/keys.ts';
import { minuteRowFrom } from '../rows/minute-row.ts';
import { hasSameCounts, type StripeRow, stripeRowFrom } from '../rows/stripe-row.ts';
import { inStripe, listStripes, MAX_STRIPES, readStripes, type SealedRow, stateFrom } from '../rows/stripes.ts';
import { areTooLarge, type Batch, hasDetections } from './batch.ts';
import { type CommitPlan, type CounterRow, ofKind, planCommit } from './commit-plan.ts';
import type { ShardRow, Snapshot, Versioned } from './commit-plan.ts';

const PARALLEL_READS = 16;
const MAX_BYTES = 48 * 1_048_576;

const bytesOf = (buckets: Buckets): number =>
  [...buckets.values()].reduce((size, { tally, active }) => size + 400 + tally.length + active.length, 500);

/** About how many bytes a row takes in memory. An estimate is enough: it bounds memory, and nothing depends on it. */
const sizeOf = ({ kind, value }: CounterRow): number => {
  switch (kind) {
    case 'stripe':
      return 500 + bytesOf(value.hours) + 150 * (value.cameras.ids.length + value.tally.categories.size);
    case 'hour':
      return bytesOf(value);
    case 'minute':
      return [...value.values()].reduce((size, { length }) => size + 250 + length, 500);
    case 'camera':
      return [...value.hours.values()].reduce(
        (size, { minutes }) => size + 600 + 100 * value.tally.categories.size + minutes.length,
        1_000,
      );
  }
};

/**
 * The counter rows that a process last committed or read, of its stripes in all shards, in bounded memory: a steady stream of frames needs no
 * reads. They may be stale: each write carries the row's version and fails if it is.
 */
export class RowMemory {
  readonly rows = new LRUCache<string, Versioned<CounterRow>>({ maxSize: MAX_BYTES, sizeCalculation: sizeOf });
  /** The stripe that the process used last, in any shard. On another shard it starts there, so that instances keep apart. */
  lastStripe = 0;
  #epochs = 0;

  /** A name under which rows are remembered; a new name forgets the earlier rows. */
  newEpoch(): number {
    return (this.#epochs += 1);
  }
}

/** A shard of a day in one generation that is written to. */
interface WrittenShard {
  readonly table: Table;
  readonly partition: string;
  readonly memory: RowMemory;
  /** The categories that always find room. */
  readonly configuredCategories: ReadonlySet<string>;
  /**
   * Demands before a commit that the day takes it, and is still in this generation.
   *
   * @param isFirst whether the shard has no commit yet: then storage is asked, because no reader may look for the shard
   * @throws {DayClosed | DayMoved | StorageTrouble | DamagedRow}
   */
  readonly demandOpen: (isFirst: boolean) => Promise<void>;
  /** Demands that a commit may rely on rows with this mark. @throws {DayHeld | DayMoved | StorageTrouble | DamagedRow} */
  readonly demandWritable: (mark: number) => Promise<void>;
  /** The stripe to begin with; it is inserted if the shard has all stripes before it. The one of the last commit by default. */
  readonly stripe?: number;
}

/** A stripe is idle if the newest commit of its shard is this much later than its own: its instance left, or hardly writes. */
const IDLE_MS = 15_000;

/**
 * The stripe for a writer that met another writer: a random idle stripe, so that two moving writers rarely meet again; otherwise a new stripe; at
 * the limit of stripes any other stripe.
 *
 * @param written when each stripe was last written, in milliseconds since 1970 by the clock of storage; undefined: it has no row
 */
export const chooseStripe = (
  written: readonly (number | undefined)[],
  current: number,
  random: number = Math.random(),
): number => {
  const newest = Math.max(...written.map((time = 0) => time));
  const others = [...written.keys()].filter((stripe) => stripe !== current && written[stripe] !== undefined);
  const idle = others.filter((stripe) => newest - (written[stripe] ?? newest) >= IDLE_MS);
  const free = [...written, undefined].indexOf(undefined);
  if (idle.length === 0 && free < MAX_STRIPES) return free;
  const choice = idle.length > 0 ? idle : others;
  return choice[Math.floor(random * choice.length)] ?? current;
};

/** Decodes a row of any kind but `day`. */
const decoded = (row: StoredRow): ShardRow => {
  const [kind = ''] = row.rowKey.split('|');
  switch (kind) {
    case 'hour':
      return { kind, value: bucketsFrom(row) };
    case 'minute':
      return { kind, value: minuteRowFrom(row) };
    case 'camera':
      return { kind, value: cameraRowFrom(row) };
    default:
      return { kind: 'event', value: eventRowFrom(row) };
  }
};

type StripeOfWriter = Extract<CounterRow, { readonly kind: 'stripe' }>;

/**
 * Makes single tries to commit to one shard: reads the rows that a batch needs, plans, and sends one transaction. It remembers the counter
 * rows of its own stripe, and forgets after a failed try what must be read again.
 */
export class ShardWriter {
  readonly #shard: WrittenShard;
  readonly #limit = pLimit(PARALLEL_READS);
  #stripe: number;
  #epoch: number;
  /** The stripe has no row: its first commit inserts it, unless another stripe changes this `day sealed` row first. */
  #starts: { readonly sealed: SealedRow | undefined } | undefined;
  /** Whether a row may be stored although the `day` row does not list it: after a conflict all rows are read. */
  #doubtsAbsence = false;
  /** Frames are repeated, perhaps a whole delivery: reading first is cheaper than one failed transaction after another. */
  #expectsStored = false;

  constructor(shard: WrittenShard) {
    this.#shard = shard;
    this.#stripe = shard.stripe ?? shard.memory.lastStripe;
    this.#epoch = shard.memory.newEpoch();
  }

  /**
   * One try to commit a batch.
   *
   * @returns the commit: no writes if nothing changes; undefined: the batch does not fit into one transaction
   * @throws {DayClosed | DayHeld | DayMoved | WriteConflict | StaleSnapshot | RequestRefused}
   */
  async commit(batch: Batch): Promise<CommitPlan | undefined> {
    const { table, partition, configuredCategories, memory, demandOpen } = this.#shard;
    let snapshot: Snapshot | undefined;
    let plan: CommitPlan | undefined;
    let isSent = false;
    try {
      snapshot = await this.#snapshot(batch);
      plan = planCommit(snapshot, batch, configuredCategories);
      if (batch.length > 1 && areTooLarge(plan.writes)) return undefined;
      await demandOpen(snapshot.stripe === 0 && !snapshot.rows.has(DAY_KEY));
      if (plan.writes.length === 0) return plan;
      isSent = true;
      const etags = await table.transact(partition, plan.writes);
      for (const [index, [key, row]] of [...plan.counters].entries()) {
        this.#remember(key, { ...row, etag: etags[index] ?? '' });
      }
      memory.lastStripe = this.#stripe;
      this.#starts = undefined;
      this.#doubtsAbsence = false;
      return plan;
    } catch (error) {
      if (error instanceof StorageTrouble && isSent) for (const waiting of batch) waiting.uncertain = true;
      throw await this.#recover(batch, error, snapshot, plan);
    }
  }

  /** The rows that a batch needs, each by its key: the key of stripe 0 if it is a counter row. */
  async #snapshot(batch: Batch): Promise<Snapshot> {
    const own = await this.#ownStripe();
    const rows = new Map<string, Versioned<ShardRow>>(own && [[DAY_KEY, own]]);
    const day = own?.value;
    // An hour, a minute or a camera that the stripe does not have has no row there: one transaction writes the row and its entry in the row of the stripe.
    const mayExist = (isNamed = false): boolean => isNamed || this.#doubtsAbsence;
    const readAll = this.#expectsStored;
    const keys = new Set<string>();
    for (const { message, hour, hourKey, cameraKey, eventKey, readFirst } of batch) {
      if (mayExist(day?.hours.has(hour))) keys.add(hourKey);
      if (mayExist(day?.cameras.indexes.has(message.cameraId))) keys.add(cameraKey);
      if (readFirst || readAll) keys.add(eventKey);
    }
    await this.#add(rows, keys);
    const minutes = batch.filter(({ minute, hourKey }) =>
      mayExist(ofKind(rows.get(hourKey), 'hour')?.value.has(minute % 60)),
    );
    await this.#add(rows, new Set(minutes.map(({ minuteKey }) => minuteKey)));
    const frames = batch.filter(({ message, eventKey }) => hasDetections(message) && keys.has(eventKey));
    if (frames.length > 0) this.#expectsStored = frames.some(({ eventKey }) => rows.has(eventKey));
    return {
      partition: this.#shard.partition,
      stripe: this.#stripe,
      rows,
      sealed: this.#starts?.sealed,
      elsewhere: await this.#categoriesElsewhere(batch, rows, day),
    };
  }

  /** Adds rows from memory, or reads them; event rows are always read. */
  async #add(rows: Map<string, Versioned<ShardRow>>, keys: ReadonlySet<string>): Promise<void> {
    const missing: string[] = [];
    for (const key of keys) {
      const known = this.#remembered(key);
      if (known === undefined) missing.push(key);
      else rows.set(key, known);
    }
    await this.#limit.map(missing, async (key) => {
      const stored = await this.#get(key.startsWith('event|') ? key : inStripe(key, this.#stripe));
      if (stored === undefined) return;
      const row = { ...decoded(stored), etag: stored.etag };
      rows.set(key, row);
      if (row.kind !== 'event') this.#remember(key, row);
    });
  }

  /** The `day` row of the writer's stripe; undefined: the next commit inserts the stripe. */
  async #ownStripe(): Promise<Versioned<StripeOfWriter> | undefined> {
    for (;;) {
      const known = ofKind(this.#remembered(DAY_KEY), 'stripe');
      if (known !== undefined || this.#starts !== undefined) return known;
      const stored = await this.#get(inStripe(DAY_KEY, this.#stripe));
      if (stored !== undefined) return this.#rememberStripe(stored);
      const { written, sealed } = await this.#list();
      const isNext = this.#stripe === written.length && this.#stripe === this.#shard.stripe;
      if (!isNext) this.#stripe = 0;
      if (isNext || written.length === 0) this.#starts = { sealed };
    }
  }

  async #rememberStripe(stored: StoredRow): Promise<Versioned<StripeOfWriter>> {
    const row = { kind: 'stripe', value: stripeRowFrom(stored), etag: stored.etag } as const;
    await this.#shard.demandWritable(row.value.mark);
    this.#remember(DAY_KEY, row);
    return row;
  }

  /**
   * When each stripe of the shard was last written, and the `day sealed` row.
   *
   * @throws {DamagedRow} if stripe 0 is missing and others exist: it is never made up
   */
  async #list() {
    const { table, partition, demandWritable } = this.#shard;
    const { stripes, sealed } = await listStripes(table, partition, ['Timestamp']);
    await demandWritable(Math.max(sealed?.attempt ?? 0, ...Array.from(stripes.values(), (row) => stateFrom(row).mark)));
    if (!stripes.has(0) && (stripes.size > 0 || (sealed?.stripes ?? 0) > 0)) {
      throw new DamagedRow(partition, DAY_KEY, 'it is missing, and the shard has stripes');
    }
    const written = Array.from({ length: Math.max(-1, ...stripes.keys()) + 1 }, (_, stripe) => {
      const row = stripes.get(stripe);
      return row && (Date.parse(String(row.properties['timestamp'])) || 0);
    });
    return { written, sealed };
  }

  /**
   * The categories that cameras have in all stripes, by camera id: of the cameras that may get a category which is new to them in
   * this stripe and is not a configured category.
   */
  async #categoriesElsewhere(
    batch: Batch,
    rows: ReadonlyMap<string, Versioned<ShardRow>>,
    day: StripeRow | undefined,
  ): Promise<Snapshot['elsewhere']> {
    const { table, partition, configuredCategories } = this.#shard;
    const found = new Map<string, ReadonlySet<string>>();
    if (this.#stripe === 0 && (day?.stripes ?? 1) === 1) return found;
    const asking = new Map<string, string>();
    for (const { message, cameraKey } of batch) {
      const own = ofKind(rows.get(cameraKey), 'camera')?.value.tally.categories;
      const isNew = (one: string): boolean => own?.has(one) !== true && !configuredCategories.has(one);
      if ([...categoriesOf(message.facets)].some(isNew)) asking.set(cameraKey, message.cameraId);
    }
    await this.#limit.map([...asking], async ([key, cameraId]) => {
      const stored = await readStripes(table, partition, key, CAMERA_DAY_PROPERTIES);
      const ofStripes = Array.from(stored.values(), (row) => [...cameraDayFrom(row).categories.keys()]);
      found.set(cameraId, new Set(ofStripes.flat()));
    });
    return found;
  }

  /**
   * After a failed try: finds the cause, and forgets the rows that must be read again.
   *
   * - At the `day` row of the stripe: only its state changed, or another writer is in the stripe, and this writer moves.
   * - At `day sealed`: another stripe appeared, or the shard was sealed, and this writer chooses a stripe again.
   * - Rows do not fit together: another writer is in the stripe, or rows are damaged; this writer moves.
   * - At an event row: another instance changed the event.
   * - At any other row: it changed, or it was not expected. Everything is read again, and no row counts as absent.
   * - If it is not known where: everything is read again. Applied changes then make no difference.
   *
   * @returns the error, or a later error of the search for its cause
   */
  async #recover(
    batch: Batch,
    error: unknown,
    snapshot: Snapshot | undefined,
    plan: CommitPlan | undefined,
  ): Promise<unknown> {
    const index = error instanceof WriteConflict ? error.index : undefined;
    const failed = index === undefined ? undefined : plan?.writes[index]?.rowKey;
    try {
      if (index === 0) {
        await this.#stayOrMove(ofKind(snapshot?.rows.get(DAY_KEY), 'stripe')?.value);
        return error;
      }
      if (failed === SEALED_KEY || error instanceof StaleSnapshot) {
        await this.#move();
        return error;
      }
    } catch (met) {
      this.#forget();
      return met;
    }
    for (const waiting of batch) waiting.readFirst = true;
    if (!batch.some(({ eventKey }) => eventKey === failed)) {
      this.#forget();
      this.#doubtsAbsence ||= error instanceof WriteConflict;
    }
    return error;
  }

  /** After a conflict at the stripe's own row: stays if only its state changed, which is then checked; otherwise moves. */
  async #stayOrMove(before: StripeRow | undefined): Promise<void> {
    const stored = await this.#get(inStripe(DAY_KEY, this.#stripe));
    if (stored !== undefined && before !== undefined && hasSameCounts(stored, before))
      await this.#rememberStripe(stored);
    else await this.#move();
  }

  async #move(): Promise<void> {
    this.#forget();
    const { written, sealed } = await this.#list();
    this.#stripe = written.length === 0 ? 0 : chooseStripe(written, this.#stripe);
    if (written[this.#stripe] === undefined) this.#starts = { sealed };
  }

  #remembered(key: string): Versioned<CounterRow> | undefined {
    return this.#shard.memory.rows.get(`${this.#epoch}/${key}`);
  }

  #remember(key: string, row: Versioned<CounterRow>): void {
    this.#shard.memory.rows.set(`${this.#epoch}/${key}`, row);
  }

  #forget(): void {
    this.#epoch = this.#shard.memory.newEpoch();
    this.#starts = undefined;
  }

  async #get(storedKey: string): Promise<StoredRow | undefined> {
    return this.#shard.table.get(this.#shard.partition, storedKey);
  }
}
