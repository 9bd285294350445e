import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { dayOf, type Day, MICROSECONDS, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom, isInstant } from '../model/instant.ts';
import { type DayPiece, type Period, piecesOf, type Step, stepsOf } from '../model/period.ts';
import { type DayTally, sumOf } from '../model/tally.ts';
import { DAY_TALLY } from '../rows/day-row.ts';
import { dayPartitions, shardOf, shardPartition } from '../rows/keys.ts';
import { type CameraActivity, camerasOfShard } from './cameras-of-shard.ts';
import { lastMinutesIn } from './last-minutes.ts';
import { type Activity, activityOf, readCamera, readPieces } from './range-reader.ts';
import { readShard, type ShardSource } from './read-shard.ts';

/** The maximum number of reads of one question at a time. */
const PARALLEL_READS = 24;

/**
 * The maximum number of queries of one question at a time. A page of a thousand cameras is work for storage: with more of them at once, each waits for the
 * others until its deadline is over, and all of them fail.
 */
const PARALLEL_QUERIES = 6;

/** How long a reader assumes that an empty shard is still empty. Until then it does not notice a lost `day` row. */
const EMPTY_MS = 60_000;

/**
 * Answers questions about periods: the sum over disjoint pieces of days and their shards. Each event is in exactly one piece. All questions throw
 * DayHeld while the counters of a day are rebuilt.
 *
 * @example const { tally } = await reader.activity({ start, end });
 */
export class Reader {
  readonly #shards: number;
  readonly #source: Omit<ShardSource, 'partition' | 'limit'>;

  /**
   * @param shards of the table, 1 to 64
   * @param whileRebuilding true: a day whose counters are rebuilt has answers as well, for an audit
   */
  constructor(table: Table, shards: number, { whileRebuilding = false }: { readonly whileRebuilding?: boolean } = {}) {
    this.#shards = shards;
    const [striped, empty] = [
      new LRUCache<string, true>({ max: 10_000 }),
      new LRUCache<string, true>({ max: 10_000, ttl: EMPTY_MS }),
    ];
    this.#source = { table, striped, empty, whileRebuilding };
  }

  /** The activity in a period, of all cameras or one. */
  async activity(period: Period, cameraId?: string): Promise<Activity> {
    const pieces = await this.#read(piecesOf(period), cameraId);
    return activityOf(
      { start: pieces[0]?.period.start ?? period.start, end: pieces.at(-1)?.period.end ?? period.end },
      pieces,
    );
  }

  /**
   * The activity in each step of a period, in order, of all cameras or one: every event is in exactly one step. All steps together cost
   * no more reads than one question about the same period.
   */
  async series(period: Period, step: Step, cameraId?: string): Promise<readonly Activity[]> {
    // No step is longer than a day, and days start with a step: each step is one piece.
    return this.#read(stepsOf(period, step).flatMap(piecesOf), cameraId);
  }

  /**
   * The activity of each camera over the given number of days until `last`, included; in no order.
   *
   * @param days 1: that day alone
   */
  async cameras(last: Day, days: number): Promise<readonly CameraActivity[]> {
    const sources = this.#sources(pLimit(PARALLEL_QUERIES), daysUntil(last, days));
    const found = (await Promise.all(sources.map(camerasOfShard))).flat();
    return Array.from(
      Map.groupBy(found, ({ cameraId }) => cameraId),
      ([cameraId, ofDays]) => ({ cameraId, tally: sumOf(ofDays.map(({ tally }) => tally)) }),
    );
  }

  /** The tally of the given number of days until `last`, included, of all cameras or one, with the figures that say how often the AI was right. */
  async accuracy(last: Day, days: number, cameraId?: string): Promise<DayTally> {
    const tallies = this.#sources(pLimit(PARALLEL_READS), daysUntil(last, days), cameraId).map(async (source) => {
      if (cameraId === undefined) {
        const shard = await readShard(source, DAY_TALLY);
        return Array.from(shard.days.values(), ({ tally }) => tally);
      }
      const { stripes } = await readCamera(source, [], cameraId);
      return stripes.map(({ day }) => day.tally);
    });
    return sumOf((await Promise.all(tallies)).flat());
  }

  /**
   * When each camera last sent an event in the given number of days until `last`, included: the start of that minute. It is read from the rows of the
   * hours, by key, and from the newest day backwards: for cameras that send now, that is one day.
   *
   * @param wanted the requested cameras; undefined: all of them
   */
  async lastMinutes(last: Day, days: number, wanted?: ReadonlySet<string>): Promise<ReadonlyMap<string, Instant>> {
    const limit = pLimit(PARALLEL_READS);
    const found = new Map<string, Instant>();
    for (const day of daysUntil(last, days)) {
      if (found.size === wanted?.size) break;
      const isAsked = (id: string): boolean => !found.has(id) && (wanted?.has(id) ?? true);
      const shards = await Promise.all(
        this.#sources(limit, [day]).map(async (source) => lastMinutesIn(source, isAsked)),
      );
      for (const ofShard of shards) {
        for (const [id, minute] of ofShard) {
          found.set(id, instantFrom(startOfDay(day) + BigInt(minute) * MICROSECONDS.minute));
        }
      }
    }
    return found;
  }

  /** The activity in pieces of days, which are read at the same time. */
  async #read(pieces: readonly DayPiece[], cameraId: string | undefined): Promise<readonly Activity[]> {
    const limit = pLimit(PARALLEL_READS);
    const days = Array.from(
      Map.groupBy(pieces, ({ day }) => day),
      async ([day, ofDay]) => readPieces(this.#sources(limit, [day], cameraId), ofDay, cameraId),
    );
    return (await Promise.all(days)).flat();
  }

  /** The shards of days: all of them, or the shard of a camera. */
  #sources(limit: LimitFunction, days: readonly Day[], cameraId?: string): readonly ShardSource[] {
    const partitions = days.flatMap((day) =>
      cameraId === undefined
        ? dayPartitions(day, this.#shards)
        : [shardPartition(day, shardOf(cameraId, this.#shards))],
    );
    return partitions.map((partition) => Object.assign({ partition, limit }, this.#source));
  }
}

/** The given number of days until `last`, included, newest first. The calendar begins with the year 1. */
const daysUntil = (last: Day, days: number): readonly Day[] =>
  Array.from({ length: days }, (_, back) => startOfDay(last) - BigInt(back) * MICROSECONDS.day)
    .filter(isInstant)
    .map(dayOf);
