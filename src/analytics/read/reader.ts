import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';

import { dayOf, type Day, MICROSECONDS, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom, isInstant } from '../model/instant.ts';
import { piecesOf, type DayPiece, type Period } from '../model/period.ts';
import { shardOf } from '../model/shard.ts';
import { stepsOf, type Step } from '../model/steps.ts';
import { GrowingTally, sumOf, type Tally } from '../model/tally.ts';
import { decodingRow, StorageTrouble } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DayMoved } from '../errors.ts';
import { CAMERA_DAY_PROPERTIES, cameraDayFrom } from '../rows/camera-row.ts';
import { ACCURACY, type StoredDay } from '../rows/day-row.ts';
import type { Days } from '../rows/days.ts';
import { ALL_CAMERAS, cameraKey, parseCameraKey, shardPartition } from '../rows/keys.ts';
import { parseStripe, readStripes } from '../rows/stripes.ts';
import { demandCurrentStill, readShard, type ReadingSource } from './counter-page.ts';
import { lastMinutesIn } from './last-minutes.ts';
import { type ActivitySum, readPieces, readPiecesOfCamera } from './range-reader.ts';

export interface Activity {
  readonly tally: Tally;
  /** The distinct cameras that sent events, ids ascending. */
  readonly activeCameras: readonly string[];
}

export interface StepActivity {
  readonly period: Period;
  readonly tally: Tally;
  /** How many distinct cameras sent events. */
  readonly activeCameras: number;
}

/** What one camera did on a day, or on several. */
export interface CameraActivity {
  readonly cameraId: string;
  readonly tally: Tally;
}

/** Most reads of one question at a time. */
const PARALLEL_READS = 24;

/**
 * Most queries of one question at a time. A page of a thousand cameras is work for storage: with more of them at once, each waits for the
 * others until its deadline is over, and all of them fail.
 */
const PARALLEL_QUERIES = 6;

/** How often a question follows a day that is rewritten while it is read. */
const MOVES = 5;

/** Answers what happened: the sum over disjoint pieces of days and their shards, each event in exactly one of them. */
export class Reader {
  readonly #table: Table;
  readonly #days: Days;
  readonly #striped: ReadingSource['striped'] = new LRUCache({ max: 1_000 });

  constructor(table: Table, days: Days) {
    this.#table = table;
    this.#days = days;
  }

  /** The counts of a period, of all cameras or one. */
  async activity(period: Period, cameraId?: string): Promise<Activity> {
    const read = pLimit(PARALLEL_READS);
    const days = await Promise.all(
      piecesOf(period).map(async (piece) => this.#readDay(read, piece.day, [piece], cameraId)),
    );
    const activities = days.flat(2);
    const active = new Set(activities.flatMap((piece) => [...piece.cameras()]));
    return { tally: sumOf(activities.map((piece) => piece.tally())), activeCameras: [...active].sort() };
  }

  /**
   * The counts of each step of a period, in order, of all cameras or one: every event is in exactly one step. All steps together cost
   * no more reads than one question about the same period.
   */
  async series(period: Period, step: Step, cameraId?: string): Promise<readonly StepActivity[]> {
    const read = pLimit(PARALLEL_READS);
    const days = await Promise.all(
      Array.from(
        Map.groupBy(stepsOf(period, step), ({ start }) => dayOf(start)),
        async ([day, steps]): Promise<readonly StepActivity[]> => {
          // No step is longer than a day, and days start with a step: each step is one piece.
          const shards = await this.#readDay(read, day, steps.flatMap(piecesOf), cameraId);
          return steps.map((ofStep, index) => {
            const activities = shards.flatMap((ofShard) => ofShard[index] ?? []);
            return {
              period: ofStep,
              tally: sumOf(activities.map((piece) => piece.tally())),
              // A camera is in one shard of the day: no camera is counted twice.
              activeCameras: activities.reduce((count, piece) => count + piece.countCameras(), 0),
            };
          });
        },
      ),
    );
    return days.flat();
  }

  /**
   * What each camera that sent events on the days that end with one did, over all of them, in no order.
   *
   * @param days 1: that day alone
   */
  async cameras(last: Day, days: number): Promise<readonly CameraActivity[]> {
    const read = pLimit(PARALLEL_QUERIES);
    const sums = new Map<string, GrowingTally>();
    await Promise.all(
      daysUntil(last, days).map(async (day) => {
        const ofShards = await this.#onDay(read, day, async (sources) => Promise.all(sources.map(cameraTallies)));
        for (const [cameraId, tally] of ofShards.flat()) {
          const sum = sums.get(cameraId) ?? new GrowingTally();
          sums.set(cameraId, sum);
          sum.add(tally);
        }
      }),
    );
    return Array.from(sums, ([cameraId, tally]) => ({ cameraId, tally }));
  }

  /**
   * The tally of the days that end with one, of all cameras or one, with the figures that say how often the AI was right.
   *
   * @returns also the days without such figures, which are left out of the tally, oldest first
   */
  async accuracy(
    last: Day,
    days: number,
    cameraId?: string,
  ): Promise<{ readonly tally: Tally; readonly without: readonly Day[] }> {
    const read = pLimit(PARALLEL_READS);
    const without: Day[] = [];
    const tallies = await Promise.all(
      daysUntil(last, days).map(async (day) =>
        this.#onDay(read, day, async (sources, row) => {
          if (row !== undefined && row.accuracy !== ACCURACY) {
            without.push(day);
            return [];
          }
          if (cameraId === undefined) return Promise.all(sources.map(tallyOfShard));
          const source = sources[shardOf(cameraId, sources.length)];
          return source === undefined ? [] : [await tallyOfCamera(source, cameraId)];
        }),
      ),
    );
    return { tally: sumOf(tallies.flat()), without: [...new Set(without)].sort() };
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
      const ofShards = await this.#onDay(read, day, async (sources) =>
        Promise.all(sources.map(async (source) => lastMinutesIn(source, isAsked))),
      );
      for (const ofShard of ofShards) {
        for (const [id, minute] of ofShard) {
          found.set(id, instantFrom(startOfDay(day) + BigInt(minute) * MICROSECONDS.minute));
        }
      }
    }
    return found;
  }

  /** The counts of pieces of one day, by shard and piece. */
  async #readDay(
    read: LimitFunction,
    day: Day,
    pieces: readonly DayPiece[],
    cameraId: string | undefined,
  ): Promise<readonly (readonly ActivitySum[])[]> {
    return this.#onDay(read, day, async (sources) => {
      if (cameraId === undefined) return Promise.all(sources.map(async (source) => readPieces(source, pieces)));
      const source = sources[shardOf(cameraId, sources.length)];
      return source === undefined ? [] : [await readPiecesOfCamera(source, pieces, cameraId)];
    });
  }

  /**
   * The reads of a day's shards, in their order; empty for a day without events. If the day is rewritten meanwhile, all of
   * it is read again, from the new generation.
   */
  async #onDay<Answer>(
    read: LimitFunction,
    day: Day,
    work: (sources: readonly ReadingSource[], row: StoredDay | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    for (let moves = 0; ; moves += 1) {
      const row = await read(async () => this.#days.find(day));
      try {
        const sources = Array.from({ length: row?.shards ?? 0 }, (_, shard): ReadingSource => ({
          table: this.#table,
          partition: shardPartition(day, shard, row?.generation),
          read,
          striped: this.#striped,
          demandCurrent: async (mark) => row && this.#days.demandCurrent(day, row, mark),
        }));
        return await work(sources, row);
      } catch (error) {
        if (!(error instanceof DayMoved)) throw error;
        if (moves === MOVES) throw new StorageTrouble(0, { reason: 'day moved', cause: error });
      }
    }
  }
}

const cameraOf = (row: StoredRow): string => decodingRow(row, () => parseCameraKey(parseStripe(row.rowKey).key));

/**
 * The day's tally of each camera of a shard. The rows of a camera in all stripes are neighbors, so a page has them together. Only the
 * first camera of a later page may have rows before it, of an earlier moment or written since: those are read again together.
 */
const cameraTallies = async (
  source: ReadingSource,
): Promise<readonly (readonly [cameraId: string, tally: Tally])[]> => {
  const { table, partition } = source;
  const select = CAMERA_DAY_PROPERTIES;
  const tallies = new Map<string, Tally>();
  await source.read(async () => {
    let isLaterPage = false;
    for await (const page of table.pages(partition, ALL_CAMERAS, { select })) {
      let mayLackSome = isLaterPage;
      for (const [id, own] of Map.groupBy(page, cameraOf)) {
        const rows = mayLackSome ? [...(await readStripes(table, partition, cameraKey(id), select)).values()] : own;
        tallies.set(id, sumOf(rows.map(cameraDayFrom)));
        mayLackSome = false;
      }
      isLaterPage = true;
    }
  });
  await demandCurrentStill(source);
  return [...tallies];
};

const tallyOfShard = async (source: ReadingSource): Promise<Tally> => {
  const stripes = await readShard(source, [], { tally: true, cameras: false, hours: [] });
  return sumOf(stripes.map(({ day }) => day.tally));
};

const tallyOfCamera = async (source: ReadingSource, cameraId: string): Promise<Tally> => {
  const request = { key: cameraKey(cameraId), select: CAMERA_DAY_PROPERTIES };
  const stripes = await readShard(source, [request], { tally: false, cameras: false, hours: [] });
  return sumOf(stripes.flatMap(({ rows }) => [...rows.values()].map(cameraDayFrom)));
};

/** The days that end with one, the newest first. The calendar begins with the year 1. */
const daysUntil = (last: Day, days: number): readonly Day[] =>
  Array.from({ length: days }, (_, back) => startOfDay(last) - BigInt(back) * MICROSECONDS.day)
    .filter(isInstant)
    .map(dayOf);
