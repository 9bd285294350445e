import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import pLimit from 'p-limit';

import { StorageTrouble, unlessDamaged, WriteConflict } from '../../storage/errors.ts';
import { type StoredRow, writeOf } from '../../storage/row.ts';
import { backoffMs, type Table } from '../../storage/table.ts';
import { DayMoved } from '../errors.ts';
import type { Day } from '../model/day.ts';
import { instantFrom, now, parseInstant, sortableInstant } from '../model/instant.ts';
import { MAX_SHARDS, shardOf } from '../model/shard.ts';
import { ShardCommitter } from '../record/committer.ts';
import { RowMemory, ShardWriter } from '../record/shard-writer.ts';
import { dayRowFrom, newDay, type StoredDay, writeDayRow } from '../rows/day-row.ts';
import { isClockRight } from '../rows/days.ts';
import { deleteGenerations, shardPartitionsIn } from '../rows/generations.ts';
import { ALL_EVENTS, DAY_KEY, DAYS_PARTITION, rowsOfHour, SEALED_KEY, shardPartition } from '../rows/keys.ts';
import { MARK, MAX_STRIPES, parseStripe, sealWrites, stripesOf, UNSEALED } from '../rows/stripes.ts';
import { type Counted, countedSamples, eventPages, type StoredEvent } from './counted-events.ts';

/** The day cannot be rewritten, or not now. Readers see no change. */
export class RewriteRefused extends Error {
  override readonly name = 'RewriteRefused';
}

/** Another process took the day over. Readers see no change, and the rewrite may be run again. */
export class RewriteAbandoned extends Error {
  override readonly name = 'RewriteAbandoned';
}

/** How a day is rewritten. */
export interface RewriteOptions {
  /** How many shards the day gets, 1 to 64; as many as it has by default. */
  readonly shards?: number | undefined;
  /** Leaves out event rows that cannot be decoded. They stay as `damaged|…`; otherwise they stop the rewrite. */
  readonly withoutUnreadable?: boolean;
  /** Receives a sentence about each finished step. */
  readonly say: (line: string) => void;
}

/** How long others respect the hold of a rewrite that does not renew it, and how often it renews it, in milliseconds. */
const HOLD_MS = 180_000;
const RENEW_MS = 30_000;

const TRIES = 20;
const PARALLEL_READS = 8;
const DAMAGED_ROWS = { from: 'damaged|', before: 'damaged}' };
const MANY_EVENTS = 5_000;
const EVENTS_A_LINE = 10_000;
const TAKEN_OVER = 'another process took the day over: run the rewrite again';

/**
 * Rewrites a day: its event rows are recorded anew into partitions of a new generation, and one write to the day's row switches to them.
 * The day may be read all the time. It takes events, except in the seconds from the seal to the switch. Stopped anywhere, it may be run again.
 *
 * @returns the day's row
 * @throws {RewriteRefused | RewriteAbandoned | StorageTrouble | LaterFormat}
 */
export const rewriteDay = async (table: Table, day: Day, options: RewriteOptions): Promise<StoredDay> =>
  new DayRewrite(table, day, options).run();

/** The row of a day, even if it says too little for every reader except a rewrite. */
interface DayState {
  /** undefined: the row is lost or damaged. */
  readonly row: StoredDay | undefined;
  /** undefined: there is no row. */
  readonly etag: string | undefined;
  readonly attempt: number;
  readonly owner: unknown;
  readonly isLive: boolean;
}

class DayRewrite {
  readonly #table: Table;
  readonly #day: Day;
  readonly #options: RewriteOptions;
  readonly #owner = randomUUID();
  readonly #renewing = pLimit(1);
  readonly #committing = pLimit(16);
  readonly #reading = pLimit(PARALLEL_READS);
  readonly #committers = new Map<string, ShardCommitter>();
  /** The versions of the event rows that were recorded anew, by partition and key. */
  readonly #versions = new Map<string, Map<string, string>>();
  #renewedAt = 0;
  #attempt = 0;
  #shards = 1;
  #events = 0;

  constructor(table: Table, day: Day, options: RewriteOptions) {
    this.#table = table;
    this.#day = day;
    this.#options = options;
  }

  async run(): Promise<StoredDay> {
    const { say } = this.#options;
    const before = await this.#state();
    if (!isClockRight(this.#table)) throw new RewriteRefused('the clock of this machine is more than five minutes off');
    const closed = before.row === undefined ? await this.#restoreClosed() : undefined;
    if (closed !== undefined) return closed;
    const { row } = await this.#announce();
    say(`attempt ${this.#attempt}: replaying the events`);
    try {
      const { found, partitions } = await this.#partitionsOf(row);
      await this.#replay(found);
      await this.#reading.map(partitions, async (partition) => this.#seal(partition));
      say('sealed: the service refuses events of this day until the switch');
      await this.#replay(partitions);
      // Its event rows may have been deleted since then.
      const closedMeanwhile = row === undefined ? await this.#restoreClosed() : undefined;
      if (closedMeanwhile !== undefined) return closedMeanwhile;
    } catch (error) {
      // Another rewrite deletes the rows of this attempt, so this rewrite may fail in any way.
      throw (await this.#release()) ? error : new RewriteAbandoned(TAKEN_OVER, { cause: error });
    }
    const switched = await this.#switch();
    say(
      `switched to ${this.#shards} ${this.#shards === 1 ? 'shard' : 'shards'}: the service accepts events of this day again`,
    );
    await deleteGenerations(this.#table, this.#day, (generation) => generation < this.#attempt);
    say('the old rows are deleted');
    return switched;
  }

  /** The partitions that have events, and all in which recorders may write some. A lost row leaves open which shards those are. */
  async #partitionsOf(
    row: StoredDay | undefined,
  ): Promise<Readonly<Record<'found' | 'partitions', readonly string[]>>> {
    const all = await shardPartitionsIn(this.#table, this.#day);
    const counts = await this.#reading.map(all, async ({ partition, generation }) => {
      if (row !== undefined) return generation === row.generation;
      const { rows, continuation } = await this.#table.page(partition, ALL_EVENTS, { select: [], most: 1 });
      return rows.length > 0 || continuation !== undefined;
    });
    const found = all.filter((_, index) => counts[index]);
    this.#shards = this.#options.shards ?? row?.shards ?? new Set(found.map(({ shard }) => shard)).size;
    const generations = row === undefined ? new Set(found.map(({ generation }) => generation)) : [row.generation];
    const shards = Array.from({ length: row?.shards ?? MAX_SHARDS }, (_, shard) => shard);
    const partitions = [...generations].flatMap((generation) =>
      shards.map((shard) => shardPartition(this.#day, shard, generation)),
    );
    return { found: found.map(({ partition }) => partition), partitions };
  }

  // The row of the day

  async #state(): Promise<DayState> {
    const stored = await this.#table.get(DAYS_PARTITION, this.#day);
    const { attempt, hold_owner: owner, hold_until: text } = stored?.properties ?? {};
    const until = typeof text === 'string' ? parseInstant(text) : undefined;
    return {
      row: stored && unlessDamaged(() => dayRowFrom(stored)),
      etag: stored?.etag,
      attempt: wholeOr0(attempt),
      owner,
      isLive: until !== undefined && now() < until,
    };
  }

  #isMine({ owner, attempt }: DayState): boolean {
    return owner === this.#owner && attempt === this.#attempt;
  }

  /** Takes the next number, and the hold. A lost row says nothing else: all processes except a rewrite continue to refuse the day. */
  async #announce(): Promise<DayState> {
    const found = await shardPartitionsIn(this.#table, this.#day);
    if (found.length === 0) throw new RewriteRefused('the day has no events');
    this.#attempt = 1 + Math.max(...found.map(({ generation }) => generation), await this.#latestMark());
    return this.#untilDone(async () => {
      const state = await this.#state();
      if (this.#isMine(state)) return state;
      if (state.row?.closes !== undefined) throw new RewriteRefused('the day is closed, or closes within an hour');
      if (state.isLive)
        throw new RewriteRefused('another rewrite of this day is running. If you stopped it, wait three minutes');
      this.#attempt = Math.max(this.#attempt, state.attempt + 1);
      await this.#hold(state);
      return undefined;
    });
  }

  async #hold({ row, etag }: DayState): Promise<void> {
    const until = instantFrom(now() + BigInt(HOLD_MS) * 1_000n);
    this.#renewedAt = performance.now();
    const properties = { attempt: this.#attempt, hold_owner: this.#owner, hold_until: sortableInstant(until) };
    // A damaged row is replaced: with a valid attempt, other processes could treat it as whole.
    const kind = row === undefined ? 'replace' : 'merge';
    await this.#table.transact(DAYS_PARTITION, [writeOf(this.#day, etag, properties, kind)]);
  }

  /** @throws {RewriteAbandoned} */
  async #renew(): Promise<void> {
    await this.#renewing(async () => {
      if (performance.now() - this.#renewedAt < RENEW_MS) return;
      await this.#untilDone(async () => {
        const state = await this.#state();
        if (!this.#isMine(state)) throw new RewriteAbandoned(TAKEN_OVER);
        await this.#hold(state);
        return state;
      });
    });
  }

  /** Gives the hold up, if storage answers: otherwise it expires. @returns whether no other process took the day over */
  async #release(): Promise<boolean> {
    try {
      const state = await this.#state();
      if (!this.#isMine(state)) return false;
      if (state.row === undefined) return true;
      await writeDayRow(this.#table, this.#day, state.row.etag, { ...state.row, hold: undefined });
    } catch (error) {
      if (!(error instanceof WriteConflict || error instanceof StorageTrouble)) throw error;
    }
    return true;
  }

  async #switch(): Promise<StoredDay> {
    return this.#untilDone(async () => {
      const state = await this.#state();
      if (state.row?.generation === this.#attempt) return state.row;
      if (!this.#isMine(state)) throw new RewriteAbandoned(TAKEN_OVER);
      const next = { ...newDay(this.#shards), generation: this.#attempt, attempt: this.#attempt };
      return writeDayRow(this.#table, this.#day, state.etag, next);
    });
  }

  /** Tries until a step has a result. A conflict, or an answer that never came, is looked into by the next try. */
  async #untilDone<Result>(step: () => Promise<Result | undefined>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await step();
        if (result !== undefined) return result;
      } catch (error) {
        if (!(error instanceof WriteConflict || error instanceof StorageTrouble) || tries >= TRIES) throw error;
        await setTimeout(backoffMs(tries, 50, 3_000));
      }
    }
  }

  // Recording anew

  /** Records the events of partitions anew whose rows have changed since they were last recorded. */
  async #replay(partitions: readonly string[]): Promise<void> {
    const ranges = partitions.flatMap((partition) =>
      // While the day is sealed, hours are read at the same time.
      (this.#versions.get(partition)?.size ?? 0) > MANY_EVENTS
        ? Array.from({ length: 24 }, (_, hour) => [partition, rowsOfHour('event', hour)] as const)
        : [[partition, ALL_EVENTS] as const],
    );
    for (const partition of partitions) {
      for (const { rowKey, properties } of await this.#table.all(partition, DAMAGED_ROWS)) {
        await this.#keep(rowKey, String(properties['content']));
      }
    }
    await this.#reading.map(ranges, async ([partition, range]) => {
      const versions = this.#versions.get(partition) ?? new Map<string, string>();
      this.#versions.set(partition, versions);
      for await (const { decoded, unreadable } of eventPages(this.#table, partition, this.#day, range)) {
        await this.#renew();
        for (const { row, damage } of unreadable) await this.#setAside(row, damage);
        const changed = decoded.filter(({ rowKey, etag }) => versions.get(rowKey) !== etag);
        await Promise.all(changed.map(async (event) => this.#record(event)));
        for (const { rowKey, etag } of changed) versions.set(rowKey, etag);
      }
    });
  }

  /** Data without room in a stripe goes into the next stripe. */
  async #record(event: StoredEvent, stripe = 0): Promise<void> {
    const outcome = await this.#committer(shardOf(event.cameraId, this.#shards), stripe).submit(event);
    if (typeof outcome === 'string') {
      this.#events += 1;
      if (this.#events % EVENTS_A_LINE === 0) this.#options.say(`${this.#events} events`);
    } else if (outcome.code === 'too_many' && stripe + 1 < MAX_STRIPES) await this.#record(event, stripe + 1);
    else throw new RewriteRefused(`event row ${event.rowKey} cannot be recorded: ${outcome.refused}`);
  }

  #committer(shard: number, stripe: number): ShardCommitter {
    const name = `${shard} ${stripe}`;
    const known = this.#committers.get(name);
    if (known !== undefined) return known;
    const writer = new ShardWriter({
      table: this.#table,
      partition: shardPartition(this.#day, shard, this.#attempt),
      memory: new RowMemory(),
      configuredCategories: new Set(),
      demandOpen: async () => undefined,
      demandWritable: async (mark) => {
        if (mark > 0) throw new DayMoved();
      },
      stripe,
    });
    const committer = new ShardCommitter(writer, this.#committing);
    this.#committers.set(name, committer);
    return committer;
  }

  /** @throws {RewriteRefused} if such rows are not to be left out */
  async #setAside({ rowKey, properties }: StoredRow, damage: string): Promise<void> {
    if (this.#options.withoutUnreadable !== true)
      throw new RewriteRefused(`${damage} (row ${rowKey}). Leave it out with --without-unreadable`);
    const content = JSON.stringify(properties);
    if (await this.#keep(`damaged|${rowKey}`, content)) this.#options.say(`left out ${rowKey}, which held ${content}`);
  }

  /** Keeps a copy of a row that is left out. A key has 512 characters, and a text 32K. @returns whether it is new */
  async #keep(key: string, content: string): Promise<boolean> {
    const partition = shardPartition(this.#day, 0, this.#attempt);
    return (
      (await this.#table.insert(partition, key.slice(0, 500), { content: content.slice(0, 30_000) })) !== undefined
    );
  }

  // Sealing

  /** From now on storage refuses every commit into a partition that read its rows before. @throws {RewriteAbandoned} */
  async #seal(partition: string): Promise<void> {
    await this.#untilDone(async () => {
      await this.#renew();
      // First this row, then the stripes: a stripe that appears later changes it.
      const sealed = await this.#table.get(partition, SEALED_KEY, { isAnyFormat: true });
      const attempt = wholeOr0(sealed?.properties['attempt']);
      if (attempt === this.#attempt) return true;
      if (attempt > this.#attempt) throw new RewriteAbandoned(TAKEN_OVER);
      if (sealed === undefined) await this.#table.insert(partition, SEALED_KEY, UNSEALED);
      else {
        const rows = await this.#table.all(partition, stripesOf(DAY_KEY), { select: [], isAnyFormat: true });
        const stripes = rows.flatMap(({ rowKey }) => unlessDamaged(() => [parseStripe(rowKey).stripe]) ?? []);
        await this.#table.transact(
          partition,
          sealWrites({ etag: sealed.etag, attempt, stripes: 0 }, stripes, this.#attempt),
        );
      }
      return undefined;
    });
  }

  /** The latest attempt that any row names. */
  async #latestMark(): Promise<number> {
    const query = { select: [MARK, 'attempt'], isAnyFormat: true };
    const rows = await this.#reading.map(await shardPartitionsIn(this.#table, this.#day), async ({ partition }) =>
      this.#table.all(partition, stripesOf(DAY_KEY), query),
    );
    const named = rows.flat().flatMap(({ properties }) => [properties[MARK], properties['attempt']]);
    return Math.max(0, ...named.map(wholeOr0));
  }

  // A closed day whose row is lost

  /** Of a day that was closed, samples count events whose rows were deleted. Then only its row is restored. */
  async #restoreClosed(): Promise<StoredDay | undefined> {
    const { etag } = await this.#state();
    const found = await shardPartitionsIn(this.#table, this.#day);
    const cameras = new Map<number, ReadonlySet<string>>();
    let closed: number | undefined;
    for (const { partition, generation, shard } of found) {
      const { counted: samples, events: stored, unreadable } = await countedSamples(this.#table, partition, this.#day);
      const events = eventsBySecond(stored);
      if (events.size === 0 && unreadable.length > 0)
        throw new RewriteRefused(`${unreadable[0]?.damage}, and the day may be closed`);
      if ([...eventsBySecond(samples)].every(([second, count]) => count <= (events.get(second) ?? 0))) continue;
      closed = generation;
      cameras.set(shard, new Set(samples.map(({ cameraId }) => cameraId)));
    }
    if (closed === undefined) return undefined;
    const shards = Array.from({ length: MAX_SHARDS }, (_, index) => index + 1).find((count) =>
      [...cameras].every(([shard, ids]) => [...ids].every((id) => shardOf(id, count) === shard)),
    );
    if (shards === undefined)
      throw new RewriteRefused('no number of shards puts every camera into the shard that holds its rows');
    const closes = now();
    const row = { ...newDay(shards), generation: closed, attempt: await this.#latestMark(), closes };
    this.#options.say(`the day was closed: the command restored its row, with ${shards} shards`);
    return writeDayRow(this.#table, this.#day, etag, row);
  }
}

/** How many events are counted in each second with events, in seconds since 1970. */
const eventsBySecond = (counted: readonly Counted[]): ReadonlyMap<bigint, number> => {
  const sums = new Map<bigint, number>();
  for (const { ts, tally } of counted) sums.set(ts / 1_000_000n, (sums.get(ts / 1_000_000n) ?? 0) + tally.events);
  return sums;
};

const wholeOr0 = (value: unknown): number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 0;
