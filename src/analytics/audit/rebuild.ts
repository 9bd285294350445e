import { setTimeout } from 'node:timers/promises';

import { StorageTrouble, unlessDamaged, WriteConflict } from '../../storage/errors.ts';
import {
  ANY_VERSION,
  MAX_OPERATIONS,
  type NewProperties,
  type RowWrite,
  type StoredRow,
  writeOf,
} from '../../storage/row.ts';
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
  DAY_00,
  DAY_COUNTER,
  hourCounter,
  MAX_STRIPES,
  shardPartition,
} from '../rows/keys.ts';
import { readSeal, sealShard, unsealShard } from '../rows/seal.ts';
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
 * questions with 503. A rebuild that is stopped leaves the day sealed, and may be run again.
 *
 * @param shards how many shards each day has
 * @throws {RebuildRefused | StorageTrouble | LaterFormat}
 */
export const rebuildDay = async (table: Table, shards: number, day: Day, options: RebuildOptions): Promise<void> => {
  let rebuilt = 0;
  for (let shard = 0; shard < shards; shard += 1) {
    const partition = shardPartition(day, shard);
    if ((await table.firstPartition({ from: partition, before: `${partition}!` })) === undefined) continue;
    try {
      await new ShardRebuild(table, partition, day, options).run();
    } catch (error) {
      throw error instanceof WriteConflict ? new RebuildRefused(TAKEN_OVER, { cause: error }) : error;
    }
    rebuilt += 1;
  }
  if (rebuilt === 0) throw new RebuildRefused('the day has no events');
};

/** Opens a day after a stopped rebuild, without another change. @returns the number of shards that were sealed */
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

const TAKEN_OVER =
  'another process took the day over, or an answer of storage was lost. The day stays sealed: run the rebuild again';

/** The rebuilt counter rows of one stripe, in memory. */
type Stripe = Pick<Snapshot, 'day' | 'hours' | 'cameras'>;

/** The lists of the stored `day` rows by stripe, without counts. */
type Lists = ReadonlyMap<number, DayRow>;

class ShardRebuild {
  readonly #table: Table;
  readonly #partition: string;
  readonly #day: Day;
  readonly #options: RebuildOptions;
  /** The version of `day|00`. Every transaction changes it, so the transactions of an earlier rebuild fail. */
  #etag = '';

  constructor(table: Table, partition: string, day: Day, options: RebuildOptions) {
    this.#table = table;
    this.#partition = partition;
    this.#day = day;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { sealed } = await readSeal(this.#table, this.#partition);
    // Stripe 0 of a live day changes all the time.
    this.#etag = await untilTaken([WriteConflict, StorageTrouble], async () => {
      const seal = await readSeal(this.#table, this.#partition);
      if (seal.sealed === 'closed') throw new RebuildRefused('the day is closed, and its event rows are gone');
      return sealShard(this.#table, seal, 'rebuilding');
    });
    this.#options.say(`${this.#partition} is sealed: the service refuses events and questions of the day`);
    const unreadable: UnreadableRow[] = [];
    let [lists, stripes]: [Lists, readonly Stripe[]] = [new Map(), []];
    try {
      lists = await this.#lists();
      stripes = await this.#count(lists, unreadable);
      const counted = new Set(stripes.flatMap(({ cameras }) => [...cameras.keys()]));
      if ([...lists.values()].some(({ cameras }) => cameras.ids.some((id) => !counted.has(id)))) {
        // A camera that a list names is active. This camera has no events, so the lists begin anew.
        lists = new Map();
        stripes = await this.#count(lists, []);
      }
    } catch (error) {
      // Nothing is written yet, unless an earlier rebuild was stopped.
      if (sealed === undefined) await unsealShard(this.#table, await readSeal(this.#table, this.#partition));
      throw error;
    }
    for (const { row } of unreadable) await this.#setAside(row);
    await this.#writeCounters(stripes);
    await this.#open(stripes, lists);
    this.#options.say(`${this.#partition} is open again`);
  }

  /** A reader may resolve an index that it read before the rebuild, so the names keep their places. */
  async #lists(): Promise<Lists> {
    const rows = await readStripes(this.#table, this.#partition, DAY_COUNTER);
    return new Map(
      Array.from(rows, ([stripe, row]): [number, DayRow] => {
        const { tally, cameras } = unlessDamaged(() => dayRowFrom(row)) ?? EMPTY_DAY;
        // The categories stay, with zeros.
        return [stripe, { tally: growingDayTally().add(tally).add(tally, -1), cameras, hours: new Map() }];
      }),
    );
  }

  /** Plans the commits of all events, as if none were stored. An event without room in a stripe goes into the next stripe. */
  async #count(lists: Lists, left: UnreadableRow[]): Promise<readonly Stripe[]> {
    const stripes: Stripe[] = [];
    const add = (messages: readonly KeyedMessage[], stripe: number): void => {
      if (messages.length === 0) return;
      if (stripe === MAX_STRIPES) throw new RebuildRefused('the stripes have no room for all events');
      const list = lists.get(stripe);
      const before = stripes[stripe] ?? { day: list && unversioned(list), hours: new Map(), cameras: new Map() };
      const snapshot = {
        partition: this.#partition,
        stripe,
        ...before,
        events: new Map(),
        firstStripe: 'striped',
      } as const;
      const { outcomes, counters } = planCommit(snapshot, messages);
      if (counters !== undefined) {
        stripes[stripe] = {
          day: unversioned(counters.day),
          hours: new Map([...before.hours, ...allUnversioned(counters.hours)]),
          cameras: new Map([...before.cameras, ...allUnversioned(counters.cameras)]),
        };
      }
      add(
        messages.filter((_, index) => typeof outcomes[index] !== 'string'),
        stripe + 1,
      );
    };
    for await (const { decoded, unreadable } of eventPages(this.#table, this.#partition, this.#day, ALL_EVENTS)) {
      const [first] = unreadable;
      if (first !== undefined && !this.#options.withoutUnreadable) {
        throw new RebuildRefused(`${first.damage} (row ${first.row.rowKey}). Leave it out with --without-unreadable`);
      }
      left.push(...unreadable);
      add(decoded.map(keyed), 0);
    }
    return stripes;
  }

  /** Moves an event row that cannot be decoded to another key. A key has 512 characters, and a text 32K. */
  async #setAside({ rowKey, properties }: StoredRow): Promise<void> {
    const content = JSON.stringify(properties);
    await this.#table.insert(this.#partition, `damaged|${rowKey}`.slice(0, 500), { content: content.slice(0, 30_000) });
    await this.#write([{ kind: 'delete', rowKey }]);
    this.#options.say(`left out ${rowKey}, which held ${content}`);
  }

  /** Replaces the rows of hours and cameras: each counter in one transaction over all stripes, because readers read it in one page. */
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

  /** Replaces the `day` rows. The write of `day|00` comes last and opens the shard. Other stripes keep their lists. */
  async #open(stripes: readonly Stripe[], lists: Lists): Promise<void> {
    const rowOf = (stripe: number): DayRow => stripes[stripe]?.day?.value ?? lists.get(stripe) ?? EMPTY_DAY;
    const replaced = (stripe: number, more: NewProperties, etag = ANY_VERSION): RowWrite => {
      const { rowKey, properties } = dayWrite(stripe, undefined, rowOf(stripe), rowOf(stripe).hours.keys());
      return { kind: 'replace', rowKey, etag, properties: { ...properties, ...more } };
    };
    const others: RowWrite[] = [];
    for (let stripe = 1; stripe < MAX_STRIPES; stripe += 1) {
      const rowKey = counterKey(DAY_COUNTER, stripe);
      if (rowOf(stripe).cameras.ids.length === 0) others.push({ kind: 'delete', rowKey });
      else {
        await this.#write([replaced(stripe, sealProperties('rebuilding'))]);
        others.push({ kind: 'merge', rowKey, etag: ANY_VERSION, properties: sealProperties(undefined) });
      }
    }
    await this.#transact([replaced(0, STRIPED_PROPERTIES, this.#etag), ...others]);
  }

  /** Writes under the seal. */
  async #write(writes: readonly RowWrite[]): Promise<void> {
    const properties = sealProperties('rebuilding');
    await this.#transact([{ kind: 'merge', rowKey: DAY_00, etag: this.#etag, properties }, ...writes]);
  }

  /** @throws {WriteConflict} if `day|00` has another version */
  async #transact(writes: readonly RowWrite[]): Promise<void> {
    const transact = async () => this.#table.transact(this.#partition, writes);
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

/** Rows of a snapshot have versions. */
const unversioned = <Row>(value: Row) => ({ value, etag: '' });
const allUnversioned = <Key, Row>(rows: ReadonlyMap<Key, Row>) =>
  Array.from(rows, ([key, row]) => [key, unversioned(row)] as const);

/** Whether writes fit into one transaction, with the write of `day|00`. */
const areFitting = (writes: readonly RowWrite[]): boolean =>
  writes.length < MAX_OPERATIONS && !areTooLarge(writes.filter((write) => write.kind !== 'delete'));
