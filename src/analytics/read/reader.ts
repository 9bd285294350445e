import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';

import { dayOf, type Day, MICROSECONDS, startOfDay } from '../model/day.ts';
import { isInstant } from '../model/instant.ts';
import { piecesOf, type DayPiece, type Period } from '../model/period.ts';
import { shardOf } from '../model/shard.ts';
import { stepsOf, type Step } from '../model/steps.ts';
import { sumOf, type Tally } from '../model/tally.ts';
import { CAMERA_DAY_PROPERTIES, cameraRowFrom, camerasIn } from '../rows/camera-row.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import type { Table } from '../../storage/table.ts';
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
    const read = pLimit(PARALLEL_READS);
    // The calendar begins with the year 1.
    const starts = Array.from({ length: days }, (_, back) => startOfDay(last) - BigInt(back) * MICROSECONDS.day);
    const ofEach = await Promise.all(
      starts.filter(isInstant).map(async (start) => this.#camerasOf(read, dayOf(start))),
    );
    return Array.from(
      Map.groupBy(ofEach.flat(), ({ cameraId }) => cameraId),
      ([cameraId, activities]) => ({ cameraId, tally: sumOf(activities.map(({ tally }) => tally)) }),
    );
  }

  /** Reads the tallies of the day alone: the hours and the minutes of a camera are most of its row. */
  async #camerasOf(read: LimitFunction, day: Day): Promise<readonly CameraActivity[]> {
    const shards = (await read(async () => this.#shards.find(day))) ?? 0;
    const ofShards = Array.from({ length: shards }, async (_, shard) =>
      read(async () =>
        Array.fromAsync(
          camerasIn(this.#table, shardPartition(day, shard), CAMERA_DAY_PROPERTIES),
          ([cameraId, rows]) => ({ cameraId, tally: sumOf(rows.map((row) => cameraRowFrom(row).tally)) }),
        ),
      ),
    );
    return (await Promise.all(ofShards)).flat();
  }

  /** What happened in pieces of one day, by shard and piece. */
  async #readDay(
    read: LimitFunction,
    day: Day,
    pieces: readonly DayPiece[],
    cameraId: string | undefined,
  ): Promise<readonly (readonly PieceActivity[])[]> {
    const shards = await read(async () => this.#shards.find(day));
    if (shards === undefined) return [];
    const sourceOf = (shard: number): ReadingSource => ({
      table: this.#table,
      partition: shardPartition(day, shard),
      read,
      striped: this.#striped,
    });
    if (cameraId !== undefined) {
      return [await readPiecesOfCamera(sourceOf(shardOf(cameraId, shards)), pieces, cameraId)];
    }
    return Promise.all(Array.from({ length: shards }, async (_, shard) => readPieces(sourceOf(shard), pieces)));
  }
}
