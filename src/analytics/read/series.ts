import pLimit from 'p-limit';

import { dayOf, type Day } from '../model/day.ts';
import { piecesOf, type Period } from '../model/period.ts';
import { shardOf } from '../model/shard.ts';
import { stepsOf, type Step } from '../model/steps.ts';
import { sumOf, type Tally } from '../model/tally.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import type { CounterTable } from '../rows/table.ts';
import { PARALLEL_READS } from './reader.ts';
import { ShardReader, type Bounded } from './shard-reader.ts';
import { stepsOfCamera, stepsOfShard, type DaySteps, type StepSum } from './step-sums.ts';

/** What happened in one step of a series. */
export interface StepActivity {
  readonly period: Period;
  readonly tally: Tally;
  /** How many distinct cameras sent events. */
  readonly activeCameras: number;
}

/** Answers what happened in each step of a period: every event is in exactly one step. */
export class SeriesReader {
  readonly #table: CounterTable;
  readonly #shards: DayShards;

  constructor(table: CounterTable, shards: DayShards) {
    this.#table = table;
    this.#shards = shards;
  }

  /** What happened in each step of a period, in order, of all cameras or one. @throws {StorageTrouble | DamagedRow} */
  async series(period: Period, step: Step, cameraId?: string): Promise<readonly StepActivity[]> {
    const read: Bounded = pLimit(PARALLEL_READS);
    const days = Map.groupBy(stepsOf(period, step), ({ start }) => dayOf(start));
    const ofDays = await Promise.all(
      Array.from(days, async ([day, steps]): Promise<readonly StepActivity[]> => {
        // No step is longer than a day, and days start with a step: each step is one piece.
        const shards = await this.#readDay(read, day, steps.flatMap(piecesOf), cameraId);
        return steps.map((ofStep, index) => {
          const sums = shards.flatMap((ofShard) => ofShard[index] ?? []);
          return {
            period: ofStep,
            tally: sumOf(sums.map(({ tally }) => tally)),
            // A camera is in one shard of the day: no camera is counted twice.
            activeCameras: sums.reduce((count, { activeCameras }) => count + activeCameras, 0),
          };
        });
      }),
    );
    return ofDays.flat();
  }

  /** The sums of each shard, step by step. */
  async #readDay(
    read: Bounded,
    day: Day,
    steps: DaySteps,
    cameraId: string | undefined,
  ): Promise<readonly (readonly StepSum[])[]> {
    const shards = await read(async () => this.#shards.find(day));
    if (shards === undefined) return [];
    const readerOf = (shard: number): ShardReader => new ShardReader(this.#table, shardPartition(day, shard), read);
    if (cameraId !== undefined) return [await stepsOfCamera(readerOf(shardOf(cameraId, shards)), steps, cameraId)];
    return Promise.all(Array.from({ length: shards }, async (_, shard) => stepsOfShard(readerOf(shard), steps)));
  }
}
