import { WriteConflict } from '../../storage/errors.ts';
import {
  ANY_VERSION,
  type NewProperties,
  type RowWrite,
  type StoredRow,
  unlessDamaged,
  writeOf,
} from '../../storage/row.ts';
import { type Table, untilTaken } from '../../storage/table.ts';
import { DayClosed } from '../errors.ts';
import type { Day, Hour } from '../model/day.ts';
import { growingDayTally } from '../model/tally.ts';
import { keyed, planCommit } from '../record/commit-plan.ts';
import type { HourRow } from '../rows/buckets.ts';
import type { CameraRow } from '../rows/camera-row.ts';
import { type DayRow, dayRowFrom, dayValues, EMPTY_DAY, sealProperties, STRIPED_PROPERTIES } from '../rows/day-row.ts';
import { eventPages } from '../rows/event-row.ts';
import {
  ALL_CAMERAS,
  ALL_EVENTS,
  ALL_HOURS,
  counterKey,
  DAY_00,
  DAY_COUNTER,
  dayPartitions,
  MAX_STRIPES,
} from '../rows/keys.ts';
import { readSeal, sealShard, type ShardSeal, writeSealed } from '../rows/seal.ts';
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
      await rebuildShard(table, partition, options);
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
    await sealShard(table, seal, undefined);
    opened += 1;
  }
  return opened;
};

const TAKEN_OVER =
  'another process took the day over, or an answer of storage was lost. The day stays sealed: run the rebuild again';

/** The properties of counter rows, by their keys. */
type Rows = Map<string, NewProperties>;

const rebuildShard = async (table: Table, partition: string, options: RebuildOptions): Promise<void> => {
  // Recorders change stripe 0 of a live day all the time: the seal needs several tries.
  const { before, seal } = await untilTaken(TRIES, WriteConflict, async () => {
    const found = await readSeal(table, partition);
    if (found.sealed === 'closed') throw new DayClosed();
    return { before: found, seal: await sealShard(table, found, 'rebuilding') };
  });
  options.say(`${partition} is sealed: the service refuses events and questions of the day`);
  const rebuild = new ShardRebuild(table, seal, options);
  let rows: Rows;
  try {
    rows = await rebuild.count(await readStripes(table, partition, DAY_COUNTER));
  } catch (error) {
    // Nothing is written yet, unless an earlier rebuild was stopped.
    if (before.sealed === undefined) await sealShard(table, seal, undefined);
    throw error;
  }
  await rebuild.write(rows);
  options.say(`${partition} is open again`);
};

/** Counts the events of a sealed shard, writes its counter rows and opens it. */
class ShardRebuild {
  readonly #table: Table;
  readonly #options: RebuildOptions;
  /** Every write changes the version of `day|00` in it. */
  #seal: ShardSeal;
  /** The keys of the rows to leave out: a damaged day may have more of them than memory can hold. */
  readonly #unreadable = new Set<string>();

  constructor(table: Table, seal: ShardSeal, options: RebuildOptions) {
    this.#table = table;
    this.#options = options;
    this.#seal = seal;
  }

  /**
   * Plans the commits of all events, as if none were stored. An event without room in a stripe goes into the next stripe.
   *
   * @param before the stored `day` rows, whose lists keep their order: a reader may resolve an index that it read before the rebuild
   */
  async count(before: RowsByStripe): Promise<Rows> {
    const rows: Rows = new Map();
    const stripes = Array.from({ length: MAX_STRIPES }, (_, stripe) => {
      const row = before.get(stripe);
      const day = row ? listsOf(row) : EMPTY_DAY;
      const rowKey = counterKey(DAY_COUNTER, stripe);
      if (stripe === 0 || day.cameras.size > 0) rows.set(rowKey, dayValues(day, undefined, []));
      return { day, hours: new Map<Hour, HourRow>(), cameras: new Map<string, CameraRow>() };
    });
    for await (const { events, unreadable } of eventPages(this.#table, this.#seal.partition, ALL_EVENTS)) {
      for (const { row, damage } of unreadable) {
        if (!this.#options.withoutUnreadable) {
          throw new RebuildRefused(`${damage} (row ${row.rowKey}). Leave it out with --without-unreadable`);
        }
        this.#unreadable.add(row.rowKey);
      }
      let messages = events.map(keyed);
      for (const [stripe, counters] of stripes.entries()) {
        if (messages.length === 0) break;
        const empty = { events: new Map(), etags: new Map(), firstStripe: 'striped' } as const;
        const plan = planCommit({ partition: this.#seal.partition, stripe, ...counters, ...empty }, messages);
        counters.day = plan.counters?.day ?? counters.day;
        for (const [hour, row] of plan.counters?.hours ?? []) counters.hours.set(hour, row);
        for (const [id, row] of plan.counters?.cameras ?? []) counters.cameras.set(id, row);
        for (const { rowKey, properties } of plan.writes) {
          if (!rowKey.startsWith(ALL_EVENTS.from)) rows.set(rowKey, { ...rows.get(rowKey), ...properties });
        }
        messages = messages.filter((_, index) => typeof plan.outcomes[index] !== 'string');
      }
      if (messages.length > 0) throw new RebuildRefused('the stripes have no room for all events');
    }
    // Readers count each camera of a list as active. If a listed camera has no events, the lists are made anew.
    const counted = new Set(stripes.flatMap(({ cameras }) => [...cameras.keys()]));
    const areActive = stripes.every(({ day }) => [...day.cameras.keys()].every((id) => counted.has(id)));
    return areActive ? rows : this.count(new Map());
  }

  /** Moves an event row that cannot be decoded to another key. A key has 512 characters, and a text 32K. */
  async #setAside(rowKey: string): Promise<void> {
    const { partition } = this.#seal;
    const row = await this.#table.get(partition, rowKey);
    if (row === undefined) return;
    const content = JSON.stringify(row.properties);
    await this.#table.insert(partition, `damaged|${rowKey}`.slice(0, 500), { content: content.slice(0, 30_000) });
    await this.#write([{ kind: 'delete', rowKey }]);
    this.#options.say(`left out ${rowKey}, which held ${content}`);
  }

  /** Replaces all counter rows: each hour and camera in one transaction over all stripes, because readers read it in one page. */
  async write(rows: Rows): Promise<void> {
    for (const rowKey of this.#unreadable) await this.#setAside(rowKey);
    const stored = new Set<string>();
    for (const range of [ALL_HOURS, ALL_CAMERAS]) {
      for (const { rowKey } of await this.#table.all(this.#seal.partition, range, { select: [] })) stored.add(rowKey);
    }
    const keys = new Set([...stored, ...rows.keys()]);
    for (const [counter, ofCounter] of Map.groupBy(keys, (key) => key.slice(0, -2))) {
      if (counter === DAY_COUNTER) continue;
      const writes = ofCounter.map((rowKey): RowWrite => {
        const properties = rows.get(rowKey);
        if (properties === undefined) return { kind: 'delete', rowKey };
        return writeOf(rowKey, stored.has(rowKey) ? ANY_VERSION : undefined, properties, 'replace');
      });
      await this.#write(writes);
    }
    await this.#open(rows);
  }

  /** Replaces the `day` rows; the write of `day|00` comes last and opens the shard. Other stripes keep their lists. */
  async #open(rows: Rows): Promise<void> {
    const opening: RowWrite[] = [];
    for (let stripe = 1; stripe < MAX_STRIPES; stripe += 1) {
      const rowKey = counterKey(DAY_COUNTER, stripe);
      const properties = rows.get(rowKey);
      if (properties === undefined) {
        opening.push({ kind: 'delete', rowKey });
        continue;
      }
      const sealed = { ...properties, ...sealProperties('rebuilding') };
      await this.#write([{ kind: 'replace', rowKey, etag: ANY_VERSION, properties: sealed }]);
      opening.push({ kind: 'merge', rowKey, etag: ANY_VERSION, properties: sealProperties(undefined) });
    }
    await this.#write(opening, { ...rows.get(DAY_00), ...STRIPED_PROPERTIES }, 'replace');
  }

  async #write(others: readonly RowWrite[], ...day00: [properties?: NewProperties, kind?: 'replace']): Promise<void> {
    const write = async () => writeSealed(this.#table, this.#seal, others, ...day00);
    this.#seal = await untilTaken(TRIES, undefined, write);
  }
}

/** A `day` row with its lists and without counts. The categories stay, with zeros. */
const listsOf = (row: StoredRow): DayRow => {
  const { tally, cameras } = unlessDamaged(() => dayRowFrom(row)) ?? EMPTY_DAY;
  return { tally: growingDayTally().add(tally).add(tally, -1), cameras, hours: new Map() };
};
