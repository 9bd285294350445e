import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';

import { dayOf, type Day, MICROSECONDS, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom, isInstant } from '../model/instant.ts';
import { piecesOf, type DayPiece, type Period } from '../model/period.ts';
import { shardOf } from '../model/shard.ts';
import { stepsOf, type Step } from '../model/steps.ts';
import { GrowingTally, sumOf, type Tally } from '../model/tally.ts';
import { CAMERA_DAY_PROPERTIES, cameraDayFrom, camerasIn } from '../rows/camera-row.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import type { Table } from '../../storage/table.ts';
import { lastMinutesIn } from './last-minutes.ts';
import { readPieces, readPiecesOfCamera, type PieceActivity } from './shard-reader.ts';
import type { ReadingSource } from './shard-reading.ts';

/** What happened in a period. */
export interface Activity {
  readonly tally: Tally;
  /** The distinct cameras that sent events, ids ascending. */
  readonly activeCameras: readonly string[];
}

/** What happened in one step of a series. */
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
 * others until its deadline is over, and all of them were for nothing.
 */
const PARALLEL_QUERIES = 6;

/** Answers what happened: the sum over disjoint pieces of days and their shards, each event in exactly one of them. */
export class Reader {
  readonly #table: Table;
  readonly #shards: DayShards;
  readonly #striped: ReadingSource['striped'] = new LRUCache({ max: 1_000 });

  constructor(table: Table, shards: DayShards) {
    this.#table = table;
    this.#shards = shards;
  }

  /** What happened in a period, of all cameras or one. @throws {StorageTrouble | DamagedRow} */
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
   * What happened in each step of a period, in order, of all cameras or one: every event is in exactly one step. So many steps cost
   * no more reads than one question about the same period.
   *
   * @throws {StorageTrouble | DamagedRow}
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
   * @throws {StorageTrouble | DamagedRow}
   */
  async cameras(last: Day, days: number): Promise<readonly CameraActivity[]> {
    const read = pLimit(PARALLEL_QUERIES);
    const sums = new Map<string, GrowingTally>();
    await Promise.all(daysUntil(last, days).map(async (day) => this.#addCamerasOf(read, day, sums)));
    return Array.from(sums, ([cameraId, tally]) => ({ cameraId, tally }));
  }

  /** Reads the tallies of the day alone: the hours and the minutes of a camera are most of its row. */
  async #addCamerasOf(read: LimitFunction, day: Day, sums: Map<string, GrowingTally>): Promise<void> {
    const shards = (await read(async () => this.#shards.find(day))) ?? 0;
    const ofShards = Array.from({ length: shards }, async (_, shard) =>
      read(async () => {
        for await (const [cameraId, rows] of camerasIn(
          this.#table,
          shardPartition(day, shard),
          CAMERA_DAY_PROPERTIES,
        )) {
          const sum = sums.get(cameraId) ?? new GrowingTally();
          sums.set(cameraId, sum);
          for (const row of rows) sum.add(cameraDayFrom(row).tally);
        }
      }),
    );
    await Promise.all(ofShards);
  }

  /**
   * When each camera last sent an event on the days that end with one: the start of that minute. It is read from the rows of the hours,
   * by key, and from the newest day backwards: for cameras that send now, that is one day.
   *
   * @param wanted the cameras that are asked about; undefined: all of them
   * @throws {StorageTrouble | DamagedRow}
   */
  async lastMinutes(last: Day, days: number, wanted?: ReadonlySet<string>): Promise<ReadonlyMap<string, Instant>> {
    const read = pLimit(PARALLEL_READS);
    const found = new Map<string, Instant>();
    for (const day of daysUntil(last, days)) {
      if (found.size === wanted?.size) break;
      const isAsked = (id: string): boolean => !found.has(id) && (wanted?.has(id) ?? true);
      const sources = await this.#sourcesOf(read, day);
      const ofShards = await Promise.all(sources.map(async (source) => lastMinutesIn(source, isAsked)));
      for (const ofShard of ofShards) {
        for (const [id, minute] of ofShard) {
          found.set(id, instantFrom(startOfDay(day) + BigInt(minute) * MICROSECONDS.minute));
        }
      }
    }
    return found;
  }

  /** What happened in pieces of one day, by shard and piece. */
  async #readDay(
    read: LimitFunction,
    day: Day,
    pieces: readonly DayPiece[],
    cameraId: string | undefined,
  ): Promise<readonly (readonly PieceActivity[])[]> {
    const sources = await this.#sourcesOf(read, day);
    if (cameraId === undefined) return Promise.all(sources.map(async (source) => readPieces(source, pieces)));
    const source = sources[shardOf(cameraId, sources.length)];
    return source === undefined ? [] : [await readPiecesOfCamera(source, pieces, cameraId)];
  }

  /** What to read the shards of a day from, in their order; none where nothing happened. */
  async #sourcesOf(read: LimitFunction, day: Day): Promise<readonly ReadingSource[]> {
    const shards = (await read(async () => this.#shards.find(day))) ?? 0;
    return Array.from({ length: shards }, (_, shard) => ({
      table: this.#table,
      partition: shardPartition(day, shard),
      read,
      striped: this.#striped,
    }));
  }
}

/** The days that end with one, the newest first. The calendar begins with the year 1. */
const daysUntil = (last: Day, days: number): readonly Day[] =>
  Array.from({ length: days }, (_, back) => startOfDay(last) - BigInt(back) * MICROSECONDS.day)
    .filter(isInstant)
    .map(dayOf);
