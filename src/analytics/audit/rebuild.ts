import { setTimeout } from 'node:timers/promises';

import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import {
  ANY_VERSION,
  type NewProperties,
  type RowWrite,
  type StoredRow,
  unlessDamaged,
  writeOf,
} from '../../storage/row.ts';
import { backoffMs, type Table } from '../../storage/table.ts';
import { DayClosed } from '../errors.ts';
import type { Day, Hour } from '../model/day.ts';
import { growingDayTally } from '../model/tally.ts';
import { keyed, type KeyedMessage, planCommit } from '../record/commit-plan.ts';
import { bucketValues, type HourRow } from '../rows/buckets.ts';
import { type CameraRow, cameraValues } from '../rows/camera-row.ts';
import { type DayRow, dayRowFrom, dayValues, EMPTY_DAY, sealProperties, STRIPED_PROPERTIES } from '../rows/day-row.ts';
import { eventPages } from '../rows/event-row.ts';
import {
  ALL_CAMERAS,
  ALL_EVENTS,
  ALL_HOURS,
  cameraCounter,
  counterKey,
  dayPartitions,
  DAY_00,
  DAY_COUNTER,
  hourCounter,
  MAX_STRIPES,
} from '../rows/keys.ts';
import { readSeal, sealShard, unsealShard } from '../rows/seal.ts';
import { hasRows, readStripes, type RowsByStripe } from '../rows/stripes.ts';

/** The day cannot be rebuilt, or not now. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

/** How a day is rebuilt. */
export interface RebuildOptions {
  /** Leaves out event rows that cannot be decoded, and keeps a copy of each as `damaged|…`. Otherwise they stop the rebuild. */
  readonly withoutUnreadable: boolean;
  /** Receives a sentence about each finished step. */
  readonly say: (line: string) => void;
}

const TRIES = 20;

/**
 * Rebuilds the counter rows of a day from its event rows, shard by shard. From the seal to the end the service refuses the day's events and
 * questions with 503. A rebuild that is stopped leaves the day sealed, and may be run again.
 *
 * @param shards how many shards each day has
 * @throws {RebuildRefused | StorageTrouble | LaterFormat}
 */
export const rebuildDay = async (table: Table, shards: number, day: Day, options: RebuildOptions): Promise<void> => {
  let [rebuilt, closed] = [0, 0];
  for (const partition of dayPartitions(day, shards)) {
    if (!(await hasRows(table, partition))) continue;
    try {
      await new ShardRebuild(table, partition, options).run();
      rebuilt += 1;
    } catch (error) {
      // A closing that came late may have sealed this shard alone. A stopped rebuild of the other shards continues.
      if (error instanceof DayClosed) closed += 1;
      else throw error instanceof WriteConflict ? new RebuildRefused(TAKEN_OVER, { cause: error }) : error;
    }
  }
  if (closed > 0) throw new RebuildRefused('the day is closed, and its event rows are gone');
  if (rebuilt === 0) throw new RebuildRefused('the day has no events');
};

/** Opens a day after a stopped rebuild, without another change. @returns the number of shards that were sealed */
export const unsealDay = async (table: Table, shards: number, day: Day): Promise<number> => {
  let opened = 0;
  for (const partition of dayPartitions(day, shards)) {
    const seal = await readSeal(table, partition);
    if (seal.sealed !== 'rebuilding') continue;
    await unsealShard(table, seal);
    opened += 1;
  }
  return opened;
};

const TAKEN_OVER =
  'another process took the day over, or an answer of storage was lost. The day stays sealed: run the rebuild again';

/** The counter rows of one stripe, in memory. */
interface Stripe {
  day: DayRow;
  readonly hours: Map<Hour, HourRow>;
  readonly cameras: Map<string, CameraRow>;
}

class ShardRebuild {
  readonly #table: Table;
  readonly #partition: string;
  readonly #options: RebuildOptions;
  /** The version of `day|00`. Every transaction changes it, so the transactions of an earlier rebuild fail. */
  #etag = '';

  constructor(table: Table, partition: string, options: RebuildOptions) {
    this.#table = table;
    this.#partition = partition;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { sealed } = await readSeal(this.#table, this.#partition);
    // Recorders change stripe 0 of a live day all the time: the seal needs several tries.
    this.#etag = await untilTaken([WriteConflict, StorageTrouble], async () => {
      const seal = await readSeal(this.#table, this.#partition);
      if (seal.sealed === 'closed') throw new DayClosed();
      return sealShard(this.#table, seal, 'rebuilding');
    });
    this.#options.say(`${this.#partition} is sealed: the service refuses events and questions of the day`);
    // Their keys: a damaged day may have more unreadable rows than memory can hold.
    const unreadable: string[] = [];
    let stripes: readonly Stripe[];
    try {
      stripes = await this.#count(await readStripes(this.#table, this.#partition, DAY_COUNTER), unreadable);
      const counted = new Set(stripes.flatMap(({ cameras }) => [...cameras.keys()]));
      // Readers count each camera of a list as active. If a listed camera has no events, the lists are made anew.
      if (stripes.some(({ day }) => [...day.cameras.keys()].some((id) => !counted.has(id)))) {
        stripes = await this.#count(new Map(), []);
      }
    } catch (error) {
      // Nothing is written yet, unless an earlier rebuild was stopped.
      if (sealed === undefined) await unsealShard(this.#table, await readSeal(this.#table, this.#partition));
      throw error;
    }
    for (const rowKey of unreadable) await this.#setAside(rowKey);
    await this.#writeCounters(stripes);
    await this.#open(stripes);
    this.#options.say(`${this.#partition} is open again`);
  }

  /**
   * Plans the commits of all events, as if none were stored. An event without room in a stripe goes into the next stripe.
   *
   * @param before the stored `day` rows, whose lists keep their order: a reader may resolve an index that it read before the rebuild
   */
  async #count(before: RowsByStripe, left: string[]): Promise<readonly Stripe[]> {
    const stripes = Array.from({ length: MAX_STRIPES }, (_, stripe): Stripe => {
      const row = before.get(stripe);
      return { day: row ? listsOf(row) : EMPTY_DAY, hours: new Map(), cameras: new Map() };
    });
    for await (const { events, unreadable } of eventPages(this.#table, this.#partition, ALL_EVENTS)) {
      const [first] = unreadable;
      if (first !== undefined && !this.#options.withoutUnreadable) {
        throw new RebuildRefused(`${first.damage} (row ${first.row.rowKey}). Leave it out with --without-unreadable`);
      }
      left.push(...unreadable.map(({ row }) => row.rowKey));
      let messages = events.map(keyed);
      for (const [stripe, rows] of stripes.entries()) {
        if (messages.length > 0) messages = this.#add(messages, stripe, rows);
      }
      if (messages.length > 0) throw new RebuildRefused('the stripes have no room for all events');
    }
    return stripes;
  }

  /** @returns the messages that a stripe has no room for */
  #add(messages: readonly KeyedMessage[], stripe: number, rows: Stripe): KeyedMessage[] {
    const snapshot = { partition: this.#partition, stripe, ...rows, events: new Map(), etags: new Map() };
    const { outcomes, counters } = planCommit({ ...snapshot, firstStripe: 'striped' }, messages);
    rows.day = counters?.day ?? rows.day;
    for (const [hour, row] of counters?.hours ?? []) rows.hours.set(hour, row);
    for (const [id, row] of counters?.cameras ?? []) rows.cameras.set(id, row);
    return messages.filter((_, index) => typeof outcomes[index] !== 'string');
  }

  /** Moves an event row that cannot be decoded to another key. A key has 512 characters, and a text 32K. */
  async #setAside(rowKey: string): Promise<void> {
    const row = await this.#table.get(this.#partition, rowKey);
    if (row === undefined) return;
    const content = JSON.stringify(row.properties);
    await this.#table.insert(this.#partition, `damaged|${rowKey}`.slice(0, 500), { content: content.slice(0, 30_000) });
    await this.#write([{ kind: 'delete', rowKey }]);
    this.#options.say(`left out ${rowKey}, which held ${content}`);
  }

  /** Replaces the rows of hours and cameras: each counter in one transaction over all stripes, because readers read it in one page. */
  async #writeCounters(stripes: readonly Stripe[]): Promise<void> {
    const rebuilt = new Map<string, () => NewProperties>();
    for (const [stripe, { hours, cameras }] of stripes.entries()) {
      for (const [hour, row] of hours) {
        rebuilt.set(counterKey(hourCounter(hour), stripe), () => bucketValues(row, row.keys()));
      }
      for (const [id, row] of cameras) {
        rebuilt.set(counterKey(cameraCounter(id), stripe), () => cameraValues(row, undefined, row.hours.keys()));
      }
    }
    const stored = new Set<string>();
    for (const range of [ALL_HOURS, ALL_CAMERAS]) {
      for (const { rowKey } of await this.#table.all(this.#partition, range, { select: [] })) stored.add(rowKey);
    }
    for (const keys of Map.groupBy(new Set([...stored, ...rebuilt.keys()]), (key) => key.slice(0, -2)).values()) {
      const writes = keys.map((rowKey): RowWrite => {
        const properties = rebuilt.get(rowKey)?.();
        if (properties === undefined) return { kind: 'delete', rowKey };
        return writeOf(rowKey, stored.has(rowKey) ? ANY_VERSION : undefined, properties, 'replace');
      });
      await this.#write(writes);
    }
  }

  /** Replaces the `day` rows. The write of `day|00` comes last and opens the shard. Other stripes keep their lists. */
  async #open(stripes: readonly Stripe[]): Promise<void> {
    const replaced = (stripe: number, more: NewProperties, etag = ANY_VERSION): RowWrite => {
      const day = stripes[stripe]?.day ?? EMPTY_DAY;
      const properties = { ...dayValues(day, undefined, day.hours.keys()), ...more };
      return { kind: 'replace', rowKey: counterKey(DAY_COUNTER, stripe), etag, properties };
    };
    const others: RowWrite[] = [];
    for (const [stripe, { day }] of stripes.entries()) {
      const rowKey = counterKey(DAY_COUNTER, stripe);
      if (stripe === 0) continue;
      if (day.cameras.size === 0) others.push({ kind: 'delete', rowKey });
      else {
        await this.#write([replaced(stripe, sealProperties('rebuilding'))]);
        others.push({ kind: 'merge', rowKey, etag: ANY_VERSION, properties: sealProperties(undefined) });
      }
    }
    await this.#write(others, replaced(0, STRIPED_PROPERTIES, this.#etag));
  }

  /**
   * Writes under the seal.
   *
   * @param first the write of `day|00`: it demands its version
   * @throws {WriteConflict} if `day|00` has another version
   */
  async #write(
    others: readonly RowWrite[],
    first: RowWrite = { kind: 'merge', rowKey: DAY_00, etag: this.#etag, properties: sealProperties('rebuilding') },
  ): Promise<void> {
    const transact = async () => this.#table.transact(this.#partition, [first, ...others]);
    [this.#etag = ''] = await untilTaken([StorageTrouble], transact);
  }
}

/** Repeats a request until storage takes it. @param passing the errors that may pass */
const untilTaken = async <Result>(
  passing: readonly (typeof WriteConflict | typeof StorageTrouble)[],
  request: () => Promise<Result>,
): Promise<Result> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await request();
    } catch (error) {
      if (tries === TRIES || !passing.some((kind) => error instanceof kind)) throw error;
      await setTimeout(backoffMs(tries, 20, 3_000));
    }
  }
};

/** A `day` row with its lists and without counts. The categories stay, with zeros. */
const listsOf = (row: StoredRow): DayRow => {
  const { tally, cameras } = unlessDamaged(() => dayRowFrom(row)) ?? EMPTY_DAY;
  return { tally: growingDayTally().add(tally).add(tally, -1), cameras, hours: new Map() };
};
