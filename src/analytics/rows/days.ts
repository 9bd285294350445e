import { LRUCache } from 'lru-cache';

import type { Log } from '../../log.ts';
import { DamagedRow, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { DayClosed, DayHeld, DayMoved } from '../errors.ts';
import type { Day } from '../model/day.ts';
import { type Instant, instantFrom, now } from '../model/instant.ts';
import { newDay, readDayRow, type StoredDay, writeDayRow } from './day-row.ts';
import { DAYS_PARTITION, partitionsOf } from './keys.ts';

/** How long a process relies on a day's row before it reads the row again: much less than a closing is announced ahead. */
const FRESH_MS = 60_000;

/**
 * How long before its moment a closing is announced, and how long after it event rows are still kept, in microseconds. The clocks of two
 * instances may differ by half an hour, and a process may rely on the day's row for a minute.
 */
export const CLOSING_MARGIN = 3_600_000_000n;

/** A larger difference from storage's clock is logged, hourly. */
const CLOCK_OFF_MS = 60_000;
const TELL_AGAIN_MS = 3_600_000;

/** Closing and rewriting days need a clock that is right. */
const MOST_CLOCK_OFF_MS = 5 * 60_000;

const TRIES = 4;

/** How far the clock of this process is ahead of the `Date` in the latest answer of storage, in milliseconds. */
const clockAheadMs = (table: Table): number => Date.now() - table.now();

/** Whether the clock of this process is right enough to close or rewrite days. Ask after storage has answered a read. */
export const isClockRight = (table: Table): boolean => Math.abs(clockAheadMs(table)) <= MOST_CLOCK_OFF_MS;

/** Both clocks of the process, in milliseconds: the first stops while the machine is suspended, the other may be set back. */
const clocks = (): readonly number[] => [performance.now(), Date.now()];

/** Whether a hold keeps others from taking over, by the clock of this process. */
const isLive = ({ hold }: StoredDay): boolean => hold !== undefined && now() < hold.until;

/** Whether two rows of a day name the same partitions. */
const isSamePlace = (one: StoredDay, other: StoredDay): boolean =>
  one.generation === other.generation && one.shards === other.shards;

/**
 * The rows of days, as a process knows them: how many shards a day has, in which generation they are, and whether the day takes changes.
 * The day's first event writes its row, so the number of shards of new days may be changed at any time.
 */
export class Days {
  readonly #table: Table;
  readonly #shardsOfNewDays: number;
  readonly #log: Log;
  readonly #known = new LRUCache<Day, { readonly row: StoredDay; readonly readAt: readonly number[] }>({ max: 1_000 });
  /** The days that had no row in any partition less than a minute ago. */
  readonly #empty = new LRUCache<Day, true>({ max: 1_000, ttl: FRESH_MS });
  /** The claims under way: many requests may come with the first events of a day. */
  readonly #claiming = new Map<Day, Promise<StoredDay>>();
  #toldClockAt = -Infinity;

  /** @param shardsOfNewDays shards of a day that has no data yet, 1 to 64 */
  constructor(table: Table, shardsOfNewDays: number, log: Log) {
    this.#table = table;
    this.#shardsOfNewDays = shardsOfNewDays;
    this.#log = log;
  }

  /** The row of a day, as storage said less than a minute ago; undefined if the day has no events. */
  async find(day: Day): Promise<StoredDay | undefined> {
    const row = this.#fresh(day) ?? (await this.#read(day));
    if (row !== undefined || this.#empty.has(day)) return row;
    const stored = await this.#unlessLost(day);
    if (stored === undefined) this.#empty.set(day, true);
    return stored;
  }

  /** The row of a day as it is in storage now; undefined: the day has no rows. @throws {DamagedRow} if the row is lost */
  async stored(day: Day): Promise<StoredDay | undefined> {
    return (await this.#read(day)) ?? this.#unlessLost(day);
  }

  /**
   * The row of a day that takes changes, read less than a minute ago. Writes the row of a day that has no events yet.
   *
   * @param inStorage as storage says now
   * @throws {DayClosed}
   */
  async claim(day: Day, inStorage = false): Promise<StoredDay> {
    const row = inStorage ? await this.#readOrWrite(day) : (this.#fresh(day) ?? (await this.#claimTogether(day)));
    if (row.closes !== undefined && now() >= row.closes) throw new DayClosed();
    return row;
  }

  /** Demands that a commit may be sent into the partitions that a row of the day names. @throws {DayClosed | DayMoved} */
  async demandOpen(day: Day, row: StoredDay, inStorage: boolean): Promise<void> {
    if (!isSamePlace(await this.claim(day, inStorage), row)) throw new DayMoved();
  }

  /**
   * What a reader does about a mark in rows of the partitions that a row of the day names. It reads the day's row again if the attempt of the
   * mark is running, or unknown to this process.
   *
   * @throws {DayMoved} the rows are of a generation that no longer counts
   */
  async demandCurrent(day: Day, row: StoredDay, mark: number): Promise<StoredDay> {
    const known = this.#known.get(day)?.row ?? row;
    const isOver = mark < known.attempt || (mark === known.attempt && known.hold === undefined);
    const latest = isOver ? known : await this.stored(day);
    if (latest === undefined || !isSamePlace(latest, row)) throw new DayMoved();
    return latest;
  }

  /**
   * What a recorder does about a mark, before it writes the results from marked rows. Removes the hold of an owner that died: its
   * attempt is void.
   *
   * @throws {DayHeld | DayMoved}
   */
  async demandWritable(day: Day, row: StoredDay, mark: number): Promise<void> {
    if (mark === 0) return;
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const latest = await this.demandCurrent(day, row, mark);
      if (mark !== latest.attempt || latest.hold === undefined) return;
      if (isLive(latest)) break;
      await this.#tryToWrite(day, latest, { hold: undefined });
    }
    throw new DayHeld();
  }

  /**
   * Announces that a day closes {@link CLOSING_MARGIN} from now, unless that was announced before, and removes the hold of an owner that died.
   *
   * @returns undefined: the day has no rows
   * @throws {DayHeld}
   */
  async close(day: Day): Promise<(StoredDay & { readonly closes: Instant }) | undefined> {
    for (;;) {
      const row = await this.stored(day);
      if (row === undefined) return undefined;
      const { closes } = row;
      if (closes !== undefined) return { ...row, closes };
      if (isLive(row)) throw new DayHeld();
      await this.#tryToWrite(day, row, { closes: instantFrom(now() + CLOSING_MARGIN), hold: undefined });
    }
  }

  /** Notes that the event rows of a closed day are gone. */
  async noteDeleted(day: Day, row: StoredDay): Promise<void> {
    await this.#tryToWrite(day, row, { isDeleted: true });
  }

  /** Changes a row of a day, unless another process wrote it in the meantime; the remembered row is forgotten. */
  async #tryToWrite(day: Day, row: StoredDay | undefined, changes: Partial<StoredDay>): Promise<void> {
    this.#known.delete(day);
    const after = { ...(row ?? newDay(this.#shardsOfNewDays)), ...changes };
    try {
      await writeDayRow(this.#table, day, row?.etag, after);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }

  /** The row as it was less than a minute ago, if that is remembered. */
  #fresh(day: Day): StoredDay | undefined {
    const { row, readAt = [] } = this.#known.get(day) ?? {};
    return clocks().every((time, clock) => time - (readAt[clock] ?? 0) < FRESH_MS) ? row : undefined;
  }

  #claimTogether(day: Day): Promise<StoredDay> {
    const claiming = this.#claiming.get(day) ?? this.#readOrWrite(day).finally(() => this.#claiming.delete(day));
    this.#claiming.set(day, claiming);
    return claiming;
  }

  async #readOrWrite(day: Day): Promise<StoredDay> {
    const stored = await this.stored(day);
    if (stored !== undefined) return stored;
    await this.#tryToWrite(day, undefined, {});
    const written = await this.#read(day);
    if (written === undefined) throw new StorageTrouble(0, { reason: 'no day row' });
    return written;
  }

  /**
   * The row of a day that had none, if others have just written it; undefined: the day has no rows. If the day has rows, its own row is lost: a made-up
   * row would hide rows of other shards, or open a closed day, which would count repeats twice.
   */
  async #unlessLost(day: Day): Promise<StoredDay | undefined> {
    if ((await this.#table.firstPartition(partitionsOf(day))) === undefined) return undefined;
    const row = await this.#read(day);
    if (row !== undefined) return row;
    throw new DamagedRow(DAYS_PARTITION, day, 'it is missing, and the day has rows');
  }

  async #read(day: Day): Promise<StoredDay | undefined> {
    // The answer is no older than the question.
    const readAt = clocks();
    const row = await readDayRow(this.#table, day);
    this.#known.delete(day);
    if (row !== undefined) this.#known.set(day, { row, readAt });
    const aheadMs = clockAheadMs(this.#table);
    if (Math.abs(aheadMs) > CLOCK_OFF_MS && performance.now() - this.#toldClockAt >= TELL_AGAIN_MS) {
      this.#toldClockAt = performance.now();
      this.#log.warn('clock is off', { ahead_seconds: Math.round(aheadMs / 1_000) });
    }
    return row;
  }
}
