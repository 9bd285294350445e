import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';

import { dayOf, type Day, hourOfMinute, MICROSECONDS, startOfDay } from '../model/day.ts';
import { type Instant, instantFrom, isInstant } from '../model/instant.ts';
import { piecesOf, type DayPiece, type Period } from '../model/period.ts';
import { shardOf } from '../model/shard.ts';
import { stepsOf, type Step } from '../model/steps.ts';
import { GrowingTally, sumOf, type Tally } from '../model/tally.ts';
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
          for (const row of rows) sum.add(cameraRowFrom(row).tally);
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
      const most = (wanted?.size ?? Infinity) - found.size;
      for (const [id, minute] of await this.#lastMinutesOf(read, day, isAsked, most)) {
        found.set(id, instantFrom(startOfDay(day) + BigInt(minute) * MICROSECONDS.minute));
      }
    }
    return found;
  }

  /** The last minute of a day (0 to 1439) in which cameras sent events: first their last hours, then the minutes of these. */
  async #lastMinutesOf(
    read: LimitFunction,
    day: Day,
    isAsked: (cameraId: string) => boolean,
    most: number,
  ): Promise<ReadonlyMap<string, number>> {
    const hours = Array.from({ length: 24 }, (_, hour) => 23 - hour);
    const hourPieces = hours.map((hour) => ({ ...NO_PIECE, day, hours: [hour] }));
    const lastHours = firstOf(hours, await this.#readDay(read, day, hourPieces, undefined), isAsked, most);
    const minutes = [...new Set(lastHours.values())].flatMap((hour) =>
      Array.from({ length: 60 }, (_, minute) => hour * 60 + 59 - minute),
    );
    const minutePieces = minutes.map((minute) => ({ ...NO_PIECE, day, minutes: [minute] }));
    const shards = minutes.length === 0 ? [] : await this.#readDay(read, day, minutePieces, undefined);
    const isLast = (id: string, minute: number): boolean => lastHours.get(id) === hourOfMinute(minute);
    return firstOf(minutes, shards, isLast, lastHours.size);
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

const NO_PIECE = { whole: false, hours: [], minutes: [], partialMinutes: [] } as const;

/** The days that end with one, the newest first. The calendar begins with the year 1. */
const daysUntil = (last: Day, days: number): readonly Day[] =>
  Array.from({ length: days }, (_, back) => startOfDay(last) - BigInt(back) * MICROSECONDS.day)
    .filter(isInstant)
    .map(dayOf);

/** For each camera the first of some hours or minutes, in their order, of which it is asked about and active in; `most`: so many are asked about. */
const firstOf = (
  numbers: readonly number[],
  shards: readonly (readonly PieceActivity[])[],
  isAsked: (cameraId: string, number: number) => boolean,
  most: number,
): ReadonlyMap<string, number> => {
  const first = new Map<string, number>();
  for (const [index, number] of numbers.entries()) {
    if (first.size === most) break;
    for (const pieces of shards) {
      for (const id of pieces[index]?.cameras() ?? []) if (!first.has(id) && isAsked(id, number)) first.set(id, number);
    }
  }
  return first;
};
