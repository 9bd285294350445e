import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { dayOf, type Day, MICROSECONDS, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom, isInstant } from '../model/instant.ts';
import { type DayPiece, type Period, piecesOf, widened } from '../model/period.ts';
import { cameraCounter, shardOf, shardPartition } from '../rows/keys.ts';
import { stepsOf, type Step } from '../model/steps.ts';
import { type DayTally, growingDayTally, sumOf, type Tally } from '../model/tally.ts';
import { CAMERA_DAY } from '../rows/camera-row.ts';
import { DAY_STATE, DAY_TALLY } from '../rows/day-row.ts';
import { camerasOfShard } from './cameras-of-shard.ts';
import { lastMinutesIn } from './last-minutes.ts';
import { type ActivitySum, readPieces, readPiecesOfCamera } from './range-reader.ts';
import { readShard, type ShardSource } from './read-shard.ts';

export interface Activity {
  /** The period of the question; an end in a closed day is widened to a whole minute. */
  readonly period: Period;
  readonly tally: Tally;
  /** The distinct cameras that sent events, removed or not, ids ascending. */
  readonly activeCameras: readonly string[];
}

export interface StepActivity {
  readonly period: Period;
  readonly tally: Tally;
  /** How many distinct cameras sent events, removed or not. */
  readonly activeCameras: number;
}

/** The activity of one camera on a day, or on several days. */
export interface CameraActivity {
  readonly cameraId: string;
  readonly tally: DayTally;
}

/** The maximum number of reads of one question at a time. */
const PARALLEL_READS = 24;

/**
 * The maximum number of queries of one question at a time. A page of a thousand cameras is work for storage: with more of them at once, each waits for the
 * others until its deadline is over, and all of them fail.
 */
const PARALLEL_QUERIES = 6;

/** How long a reader assumes that an empty shard is still empty. Until then it does not notice a lost `day` row. */
const EMPTY_MS = 60_000;

/** The sums of a piece of a day, one of each shard. The piece of a closed day has whole minutes at its ends. */
interface PieceReading {
  readonly piece: DayPiece;
  readonly sums: readonly ActivitySum[];
}

/**
 * Answers questions about periods: the sum over disjoint pieces of days and their shards. Each event is in exactly one piece. All questions throw
 * DayHeld while the counters of a day are rebuilt.
 *
 * @example const { tally } = await reader.activity({ start, end });
 */
export class Reader {
  readonly #table: Table;
  readonly #shards: number;
  readonly #whileRebuilding: boolean;
  readonly #striped: ShardSource['striped'] = new LRUCache({ max: 10_000 });
  readonly #empty: ShardSource['empty'] = new LRUCache({ max: 10_000, ttl: EMPTY_MS });

  /**
   * @param shards of the table, 1 to 64
   * @param whileRebuilding true: a day whose counters are rebuilt has answers as well, for an audit
   */
  constructor(table: Table, shards: number, { whileRebuilding = false }: { readonly whileRebuilding?: boolean } = {}) {
    this.#table = table;
    this.#shards = shards;
    this.#whileRebuilding = whileRebuilding;
  }

  /** The counts of a period, of all cameras or one. */
  async activity(period: Period, cameraId?: string): Promise<Activity> {
    const pieces = await this.#read(piecesOf(period), cameraId);
    const sums = pieces.flatMap((piece) => piece.sums);
    const covered = { start: pieces[0]?.piece.start ?? period.start, end: pieces.at(-1)?.piece.end ?? period.end };
    return activityOf(covered, sums);
  }

  /**
   * The counts of each step of a period, in order, of all cameras or one: every event is in exactly one step. All steps together cost
   * no more reads than one question about the same period.
   */
  async series(period: Period, step: Step, cameraId?: string): Promise<readonly StepActivity[]> {
    // No step is longer than a day, and days start with a step: each step is one piece.
    const pieces = await this.#read(stepsOf(period, step).flatMap(piecesOf), cameraId);
    return pieces.map(({ piece: { start, end }, sums }) => ({
      period: { start, end },
      tally: sumOf(sums.map(({ tally }) => tally)),
      // A camera is in one shard: no camera is counted twice.
      activeCameras: sums.reduce((count, sum) => count + sum.countCameras(), 0),
    }));
  }

  /** The counts of each minute of a period, in order, with the ids of its cameras. */
  async minutes(period: Period): Promise<readonly Activity[]> {
    const pieces = await this.#read(stepsOf(period, 'minute').flatMap(piecesOf), undefined);
    return pieces.map(({ piece: { start, end }, sums }) => activityOf({ start, end }, sums));
  }

  /**
   * The activity of each camera over the given number of days until `last`, included; in no order.
   *
   * @param days 1: that day alone
   */
  async cameras(last: Day, days: number): Promise<readonly CameraActivity[]> {
    const sources = this.#sources(pLimit(PARALLEL_QUERIES), daysUntil(last, days));
    const sums = new Map<string, ReturnType<typeof growingDayTally>>();
    for (const ofShard of await Promise.all(sources.map(camerasOfShard))) {
      for (const [cameraId, tally] of ofShard) {
        const sum = sums.get(cameraId) ?? growingDayTally();
        sums.set(cameraId, sum.add(tally));
      }
    }
    return Array.from(sums, ([cameraId, tally]) => ({ cameraId, tally }));
  }

  /** The tally of the given number of days until `last`, included, of all cameras or one, with the figures that say how often the AI was right. */
  async accuracy(last: Day, days: number, cameraId?: string): Promise<DayTally> {
    const sources = this.#sources(pLimit(PARALLEL_READS), daysUntil(last, days), cameraId);
    const tallies = await Promise.all(
      sources.map(async (source): Promise<DayTally> => {
        if (cameraId === undefined) {
          const { stripes } = await readShard(source, DAY_TALLY);
          return sumOf(stripes.map(({ day }) => day.tally));
        }
        const request = { counter: cameraCounter(cameraId), part: CAMERA_DAY };
        const { stripes } = await readShard(source, DAY_STATE, [request]);
        return sumOf(stripes.flatMap(({ values }) => values.get(request.counter) ?? []));
      }),
    );
    return sumOf(tallies);
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

  /** Reads pieces of days, each day at once. The partial minutes of a day that is closed are read again as whole minutes. */
  async #read(pieces: readonly DayPiece[], cameraId: string | undefined): Promise<readonly PieceReading[]> {
    const limit = pLimit(PARALLEL_READS);
    const readDay = async (day: Day, ofDay: readonly DayPiece[]): Promise<readonly PieceReading[]> => {
      const shards = await Promise.all(
        this.#sources(limit, [day], cameraId).map(async (source) =>
          cameraId === undefined ? readPieces(source, ofDay) : readPiecesOfCamera(source, ofDay, cameraId),
        ),
      );
      const isRagged = ofDay.some(({ partialMinutes }) => partialMinutes.length > 0);
      if (isRagged && shards.some(({ isClosed }) => isClosed)) return readDay(day, ofDay.map(widened));
      return ofDay.map((piece, index) => ({ piece, sums: shards.flatMap(({ sums }) => sums[index] ?? []) }));
    };
    const days = Array.from(
      Map.groupBy(pieces, ({ day }) => day),
      async (ofDay) => readDay(...ofDay),
    );
    return (await Promise.all(days)).flat();
  }

  /** The shards of days: all of them, or the shard of a camera. */
  #sources(limit: LimitFunction, days: readonly Day[], cameraId?: string): readonly ShardSource[] {
    const shards =
      cameraId === undefined
        ? Array.from({ length: this.#shards }, (_, shard) => shard)
        : [shardOf(cameraId, this.#shards)];
    return days.flatMap((day) =>
      shards.map((shard) => ({
        table: this.#table,
        partition: shardPartition(day, shard),
        limit,
        striped: this.#striped,
        empty: this.#empty,
        whileRebuilding: this.#whileRebuilding,
      })),
    );
  }
}

const activityOf = (period: Period, sums: readonly ActivitySum[]): Activity => {
  const active = new Set<string>();
  for (const sum of sums) for (const id of sum.cameras()) active.add(id);
  return { period, tally: sumOf(sums.map(({ tally }) => tally)), activeCameras: [...active].sort() };
};

/** The given number of days until `last`, included, newest first. The calendar begins with the year 1. */
const daysUntil = (last: Day, days: number): readonly Day[] =>
  Array.from({ length: days }, (_, back) => startOfDay(last) - BigInt(back) * MICROSECONDS.day)
    .filter(isInstant)
    .map(dayOf);
