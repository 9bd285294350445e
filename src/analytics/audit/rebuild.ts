import { setTimeout } from 'node:timers/promises';

import { StorageTrouble, unlessDamaged, WriteConflict } from '../../storage/errors.ts';
import { ANY_VERSION, MAX_OPERATIONS, type NewProperties, type RowWrite, writeOf } from '../../storage/row.ts';
import { backoffMs, type Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import { growingDayTally } from '../model/tally.ts';
import { areTooLarge, type KeyedMessage, keyed } from '../record/batch.ts';
import { planCommit, type Snapshot } from '../record/commit-plan.ts';
import { bucketValues } from '../rows/buckets.ts';
import { cameraWrite } from '../rows/camera-row.ts';
import { type DayRow, dayRowFrom, dayWrite, EMPTY_DAY, sealProperties, STRIPED_PROPERTIES } from '../rows/day-row.ts';
import type { UnreadableRow } from '../rows/decoded-pages.ts';
import {
  ALL_CAMERAS,
  ALL_EVENTS,
  ALL_HOURS,
  cameraCounter,
  counterKey,
  DAY_COUNTER,
  hourCounter,
  MAX_STRIPES,
  shardPartition,
} from '../rows/keys.ts';
import { DAY_00, readSeal, sealShard, unsealShard } from '../rows/seal.ts';
import { readStripes } from '../rows/stripes.ts';
import { eventPages } from './stored-events.ts';

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
 * questions with 503. Stopped anywhere, the day stays sealed: the rebuild may be run again.
 *
 * @param shards how many shards each day has
 * @throws {RebuildRefused | StorageTrouble | LaterFormat}
 */
export const rebuildDay = async (table: Table, shards: number, day: Day, options: RebuildOptions): Promise<void> => {
  const partitions = Array.from({ length: shards }, (_, shard) => shardPartition(day, shard));
  const isStored = async (partition: string): Promise<boolean> =>
    (await table.firstPartition({ from: partition, before: `${partition}!` })) !== undefined;
  const stored: string[] = [];
  for (const partition of partitions) if (await isStored(partition)) stored.push(partition);
  if (stored.length === 0) throw new RebuildRefused('the day has no events');
  for (const partition of stored) {
    if ((await readSeal(table, partition)).sealed === 'closed') throw CLOSED();
  }
  for (const partition of stored) await new ShardRebuild(table, partition, day, options).run();
};

/** Opens a day that a stopped rebuild has left sealed, with its counters as they are. @returns how many shards were sealed */
export const unsealDay = async (table: Table, shards: number, day: Day): Promise<number> => {
  let opened = 0;
  for (let shard = 0; shard < shards; shard += 1) {
    const seal = await readSeal(table, shardPartition(day, shard));
    if (seal.sealed !== 'rebuilding') continue;
    await unsealShard(table, seal);
    opened += 1;
  }
  return opened;
};

const CLOSED = () => new RebuildRefused('the day is closed, and its event rows are gone');

/** The rebuilt counter rows of a stripe. Nothing is stored of them yet. */
type Stripe = Pick<Snapshot, 'day' | 'hours' | 'cameras'>;

/** What the `day` rows list, by stripe, without counts. */
type Lists = ReadonlyMap<number, DayRow>;

class ShardRebuild {
  readonly #table: Table;
  readonly #partition: string;
  readonly #day: Day;
  readonly #options: RebuildOptions;
  /** The version of `day|00`, which every transaction of this rebuild changes: those of another one fail. */
  #etag = '';
  #unreadable: UnreadableRow[] = [];

  constructor(table: Table, partition: string, day: Day, options: RebuildOptions) {
    this.#table = table;
    this.#partition = partition;
    this.#day = day;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { say } = this.#options;
    const wasOpen = await this.#seal();
    say(`${this.#partition} is sealed: the service refuses events and questions of the day`);
    let lists: Lists;
    let stripes: readonly Stripe[];
    try {
      lists = await this.#lists();
      stripes = await this.#count(lists);
      const counted = new Set(stripes.flatMap(({ cameras }) => [...cameras.keys()]));
      if ([...lists.values()].some(({ cameras }) => cameras.ids.some((id) => !counted.has(id)))) {
        // A listed camera is active. It has no events, so the lists begin anew.
        lists = new Map();
        stripes = await this.#count(lists);
      }
    } catch (error) {
      // Nothing was written, except by a rebuild that was stopped before.
      if (wasOpen) await unsealShard(this.#table, await readSeal(this.#table, this.#partition));
      throw error;
    }
    await this.#setAside();
    await this.#writeCounters(stripes);
    await this.#open(stripes, lists);
    say(`${this.#partition} is open again`);
  }

  /** @returns whether the shard was open */
  async #seal(): Promise<boolean> {
    const before = await readSeal(this.#table, this.#partition);
    for (let tries = 1; ; tries += 1) {
      const seal = await readSeal(this.#table, this.#partition);
      if (seal.sealed === 'closed') throw CLOSED();
      try {
        this.#etag = await sealShard(this.#table, seal, 'rebuilding');
        return before.sealed === undefined;
      } catch (error) {
        // Stripe 0 is written all the time.
        if (!(error instanceof WriteConflict || error instanceof StorageTrouble) || tries === TRIES) throw error;
        await setTimeout(backoffMs(tries, 5, 1_000));
      }
    }
  }

  /** The lists of the `day` rows. Indexes that were read before the rebuild must keep their meaning. */
  async #lists(): Promise<Lists> {
    const rows = await readStripes(this.#table, this.#partition, DAY_COUNTER);
    return new Map(
      Array.from(rows, ([stripe, row]): [number, DayRow] => {
        const { tally, cameras } = unlessDamaged(() => dayRowFrom(row)) ?? EMPTY_DAY;
        // What is taken from itself leaves its categories, with zeros.
        return [stripe, { tally: growingDayTally().add(tally).add(tally, -1), cameras, hours: new Map() }];
      }),
    );
  }

  /** Counts the events as recording does, but in memory. What has no room in a stripe goes into the next one. */
  async #count(lists: Lists): Promise<readonly Stripe[]> {
    this.#unreadable = [];
    const stripes: Stripe[] = [];
    const add = (messages: readonly KeyedMessage[], stripe: number): void => {
      if (messages.length === 0) return;
      const listed = lists.get(stripe);
      const before = stripes[stripe] ?? {
        day: listed && { value: listed, etag: '' },
        hours: new Map(),
        cameras: new Map(),
      };
      const firstStripe = 'striped' as const;
      const snapshot = { partition: this.#partition, stripe, ...before, events: new Map(), firstStripe };
      const { outcomes, counters } = planCommit(snapshot, messages);
      if (counters !== undefined) {
        stripes[stripe] = {
          day: { value: counters.day, etag: '' },
          hours: new Map([...before.hours, ...versioned(counters.hours)]),
          cameras: new Map([...before.cameras, ...versioned(counters.cameras)]),
        };
      }
      const left = messages.filter((_, index) => typeof outcomes[index] !== 'string');
      if (stripe + 1 === MAX_STRIPES && left.length > 0)
        throw new RebuildRefused('the stripes have no room for all events');
      add(left, stripe + 1);
    };
    for await (const { decoded, unreadable } of eventPages(this.#table, this.#partition, this.#day, ALL_EVENTS)) {
      const [first] = unreadable;
      if (first !== undefined && !this.#options.withoutUnreadable) {
        throw new RebuildRefused(`${first.damage} (row ${first.row.rowKey}). Leave it out with --without-unreadable`);
      }
      this.#unreadable.push(...unreadable);
      add(decoded.map(keyed), 0);
    }
    return stripes;
  }

  /** Replaces the event rows that are left out by copies under other keys. A key has 512 characters, and a text 32K. */
  async #setAside(): Promise<void> {
    for (const { row } of this.#unreadable) {
      const key = `damaged|${row.rowKey}`.slice(0, 500);
      const content = JSON.stringify(row.properties);
      const isKept = (await this.#table.get(this.#partition, key, { select: [] })) !== undefined;
      await this.#write([
        writeOf(key, isKept ? ANY_VERSION : undefined, { content: content.slice(0, 30_000) }, 'replace'),
        { kind: 'delete', rowKey: row.rowKey },
      ]);
      this.#options.say(`left out ${row.rowKey}, which held ${content}`);
    }
  }

  /** Writes the hours and the cameras: each counter in one transaction over all stripes, so that readers see it before or after. */
  async #writeCounters(stripes: readonly Stripe[]): Promise<void> {
    const rebuilt = new Map<string, () => NewProperties>();
    for (const [stripe, { hours, cameras }] of stripes.entries()) {
      for (const [hour, { value }] of hours) {
        rebuilt.set(counterKey(hourCounter(hour), stripe), () => bucketValues(value, value.keys()));
      }
      for (const [id, { value }] of cameras) {
        const key = counterKey(cameraCounter(id), stripe);
        rebuilt.set(key, () => cameraWrite(key, undefined, value, value.hours.keys()).properties);
      }
    }
    const stored = new Set<string>();
    for (const range of [ALL_HOURS, ALL_CAMERAS]) {
      for (const { rowKey } of await this.#table.all(this.#partition, range, { select: [] })) stored.add(rowKey);
    }
    let waiting: RowWrite[] = [];
    for (const keys of Map.groupBy(new Set([...stored, ...rebuilt.keys()]), (key) => key.slice(0, -2)).values()) {
      const writes = keys.map((rowKey): RowWrite => {
        const properties = rebuilt.get(rowKey)?.();
        if (properties === undefined) return { kind: 'delete', rowKey };
        return writeOf(rowKey, stored.has(rowKey) ? ANY_VERSION : undefined, properties, 'replace');
      });
      if (!areFitting([...waiting, ...writes])) {
        await this.#write(waiting);
        waiting = [];
      }
      waiting.push(...writes);
    }
    await this.#write(waiting);
  }

  /** Writes the `day` rows, the first one last: with it the shard is open. Rows of other stripes that list something stay. */
  async #open(stripes: readonly Stripe[], lists: Lists): Promise<void> {
    const propertiesOf = (stripe: number, row: DayRow): NewProperties =>
      dayWrite(stripe, undefined, row, row.hours.keys()).properties;
    const others: RowWrite[] = [];
    for (let stripe = 1; stripe < MAX_STRIPES; stripe += 1) {
      const rowKey = counterKey(DAY_COUNTER, stripe);
      const row = stripes[stripe]?.day?.value ?? lists.get(stripe) ?? EMPTY_DAY;
      if (row.cameras.ids.length === 0) others.push({ kind: 'delete', rowKey });
      else {
        const properties = { ...propertiesOf(stripe, row), ...sealProperties('rebuilding') };
        await this.#write([{ kind: 'replace', rowKey, etag: ANY_VERSION, properties }]);
        others.push({ kind: 'merge', rowKey, etag: ANY_VERSION, properties: sealProperties(undefined) });
      }
    }
    const first = stripes[0]?.day?.value ?? lists.get(0) ?? EMPTY_DAY;
    const properties = { ...propertiesOf(0, first), ...STRIPED_PROPERTIES };
    await this.#transact([{ kind: 'replace', rowKey: DAY_00, etag: this.#etag, properties }, ...others]);
  }

  /** Writes under the seal. */
  async #write(writes: readonly RowWrite[]): Promise<void> {
    const properties = sealProperties('rebuilding');
    await this.#transact([{ kind: 'merge', rowKey: DAY_00, etag: this.#etag, properties }, ...writes]);
  }

  /** @throws {RebuildRefused} if `day|00` has another version: another process took the shard over, or an answer was lost */
  async #transact(writes: readonly RowWrite[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        [this.#etag = ''] = await this.#table.transact(this.#partition, writes);
        return;
      } catch (error) {
        if (error instanceof WriteConflict) throw new RebuildRefused(TAKEN_OVER, { cause: error });
        if (!(error instanceof StorageTrouble) || tries === TRIES) throw error;
        await setTimeout(Math.max(error.retryAfterMs, backoffMs(tries, 50, 3_000)));
      }
    }
  }
}

const TAKEN_OVER =
  'another process took the day over, or an answer of storage was lost. The day stays sealed: run the rebuild again';

/** As rows of a snapshot, which have versions. */
const versioned = <Key, Value>(rows: ReadonlyMap<Key, Value>) =>
  Array.from(rows, ([key, value]) => [key, { value, etag: '' }] as const);

/** Whether writes fit into one transaction, with the one of `day|00`. */
const areFitting = (writes: readonly RowWrite[]): boolean =>
  writes.length < MAX_OPERATIONS && !areTooLarge(writes.filter((write) => write.kind !== 'delete'));
