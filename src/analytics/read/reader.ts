import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { dayOf, type Day, MICROSECONDS, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom, isInstant } from '../model/instant.ts';
import { type DayPiece, endOfMinute, type Period, piecesOf, startOfMinute, widened } from '../model/period.ts';
import { shardOf } from '../model/shard.ts';
import { stepsOf, type Step } from '../model/steps.ts';
import { type DayTally, growingDayTally, sumOf, sumOfDays, type Tally } from '../model/tally.ts';
import { CAMERA_DAY } from '../rows/camera-row.ts';
import { DAY_STATE, DAY_TALLY } from '../rows/day-row.ts';
import { cameraCounter, shardPartition } from '../rows/keys.ts';
import { camerasOfShard } from './cameras-of-shard.ts';
import { lastMinutesIn } from './last-minutes.ts';
import { type ActivitySum, readPieces, readPiecesOfCamera } from './range-reader.ts';
import { readShard, type ShardSource } from './read-shard.ts';

export interface Activity {
  /** The period of the question, with whole minutes at its ends where the day is closed. */
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

/** How long a reader relies on it that a shard has no rows: until then a lost `day` row is not noticed. */
const EMPTY_MS = 60_000;

/** The sums of one day, by shard and piece. */
interface DayReading {
  readonly day: Day;
  readonly shards: readonly (readonly ActivitySum[])[];
  /** Whether partial minutes were read as whole ones, because the day is closed. */
  readonly isWidened: boolean;
}

/**
 * Answers what happened: the sum over disjoint pieces of days and their shards, each event in exactly one of them. All questions throw DayHeld
 * while the counters of a day are rebuilt.
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
    const read = pLimit(PARALLEL_READS);
    const days = await Promise.all(
      piecesOf(period).map(async (piece) => this.#readDay(read, piece.day, [piece], cameraId)),
    );
    const sums = days.flatMap(({ shards }) => shards.flat());
    return activityOf(covered(period, days), sums);
  }

  /**
   * The counts of each step of a period, in order, of all cameras or one: every event is in exactly one step. All steps together cost
   * no more reads than one question about the same period.
   */
  async series(period: Period, step: Step, cameraId?: string): Promise<readonly StepActivity[]> {
    return this.#steps(period, step, cameraId, (ofStep, sums) => ({
      period: ofStep,
      tally: sumOf(sums.map((sum) => sum.tally)),
      // A camera is in one shard: no camera is counted twice.
      activeCameras: sums.reduce((count, sum) => count + sum.countCameras(), 0),
    }));
  }

  /** The counts of each minute of a period, in order, with the ids of its cameras. */
  async minutes(period: Period): Promise<readonly Activity[]> {
    return this.#steps(period, 'minute', undefined, activityOf);
  }

  /**
   * The activity of each camera over the days that end with a day, in no order.
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

  /** The tally of the days that end with one, of all cameras or one, with the figures that say how often the AI was right. */
  async accuracy(last: Day, days: number, cameraId?: string): Promise<DayTally> {
    const sources = this.#sources(pLimit(PARALLEL_READS), daysUntil(last, days), cameraId);
    const tallies = await Promise.all(
      sources.map(async (source): Promise<DayTally> => {
        if (cameraId === undefined) {
          const { stripes } = await readShard(source, DAY_TALLY);
          return sumOfDays(stripes.map(({ day }) => day.tally));
        }
        const request = { counter: cameraCounter(cameraId), part: CAMERA_DAY };
        const { stripes } = await readShard(source, DAY_STATE, [request]);
        return sumOfDays(stripes.flatMap(({ values }) => values.get(request.counter) ?? []));
      }),
    );
    return sumOfDays(tallies);
  }

  /**
   * When each camera last sent an event on the days that end with one: the start of that minute. It is read from the rows of the hours,
   * by key, and from the newest day backwards: for cameras that send now, that is one day.
   *
   * @param wanted the requested cameras; undefined: all of them
   */
  async lastMinutes(last: Day, days: number, wanted?: ReadonlySet<string>): Promise<ReadonlyMap<string, Instant>> {
    const read = pLimit(PARALLEL_READS);
    const found = new Map<string, Instant>();
    for (const day of daysUntil(last, days)) {
      if (found.size === wanted?.size) break;
      const isAsked = (id: string): boolean => !found.has(id) && (wanted?.has(id) ?? true);
      const shards = await Promise.all(
        this.#sources(read, [day]).map(async (source) => lastMinutesIn(source, isAsked)),
      );
      for (const ofShard of shards) {
        for (const [id, minute] of ofShard) {
          found.set(id, instantFrom(startOfDay(day) + BigInt(minute) * MICROSECONDS.minute));
        }
      }
    }
    return found;
  }

  /** Reads each step of a period, in order. @param answerOf its answer, from the sums of all shards */
  async #steps<Answer>(
    period: Period,
    step: Step,
    cameraId: string | undefined,
    answerOf: (ofStep: Period, sums: readonly ActivitySum[]) => Answer,
  ): Promise<readonly Answer[]> {
    const read = pLimit(PARALLEL_READS);
    const days = await Promise.all(
      Array.from(
        Map.groupBy(stepsOf(period, step), ({ start }) => dayOf(start)),
        async ([day, steps]) => {
          // No step is longer than a day, and days start with a step: each step is one piece.
          const reading = await this.#readDay(read, day, steps.flatMap(piecesOf), cameraId);
          return steps.map((ofStep, index) => {
            const sums = reading.shards.flatMap((ofShard) => ofShard[index] ?? []);
            return answerOf(covered(ofStep, [reading]), sums);
          });
        },
      ),
    );
    return days.flat();
  }

  /** Reads pieces of one day. If it is closed, its partial minutes are read again as whole minutes. */
  async #readDay(
    read: LimitFunction,
    day: Day,
    pieces: readonly DayPiece[],
    cameraId: string | undefined,
  ): Promise<DayReading> {
    const sources = this.#sources(read, [day], cameraId);
    const shards = await Promise.all(
      sources.map(async (source) =>
        cameraId === undefined ? readPieces(source, pieces) : readPiecesOfCamera(source, pieces, cameraId),
      ),
    );
    const isRagged = pieces.some(({ partialMinutes }) => partialMinutes.length > 0);
    if (isRagged && shards.some(({ isClosed }) => isClosed)) {
      return { ...(await this.#readDay(read, day, pieces.map(widened), cameraId)), isWidened: true };
    }
    return { day, shards: shards.map(({ sums }) => sums), isWidened: false };
  }

  /** The shards of days: all of them, or the shard of a camera. */
  #sources(read: LimitFunction, days: readonly Day[], cameraId?: string): readonly ShardSource[] {
    const shards =
      cameraId === undefined
        ? Array.from({ length: this.#shards }, (_, shard) => shard)
        : [shardOf(cameraId, this.#shards)];
    return days.flatMap((day) =>
      shards.map((shard) => ({
        table: this.#table,
        partition: shardPartition(day, shard),
        read,
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
  return { period, tally: sumOf(sums.map((sum) => sum.tally)), activeCameras: [...active].sort() };
};

/** A period with whole minutes at each end that is in a widened day. */
const covered = ({ start, end }: Period, days: readonly DayReading[]): Period => {
  const isWidened = (instant: Instant): boolean =>
    days.some((reading) => reading.isWidened && reading.day === dayOf(instant));
  return {
    start: isWidened(start) ? startOfMinute(start) : start,
    end: isWidened(end) ? endOfMinute(end) : end,
  };
};

/** The days that end with one, the newest first. The calendar begins with the year 1. */
const daysUntil = (last: Day, days: number): readonly Day[] =>
  Array.from({ length: days }, (_, back) => startOfDay(last) - BigInt(back) * MICROSECONDS.day)
    .filter(isInstant)
    .map(dayOf);
