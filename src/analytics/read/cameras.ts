import pLimit, { type LimitFunction } from 'p-limit';

import { dayOf, type Day, MICROSECONDS, startOfDay } from '../model/day.ts';
import { isInstant } from '../model/instant.ts';
import { sumOf, type Tally } from '../model/tally.ts';
import { CAMERA_DAY_PROPERTIES, cameraRowFrom, camerasIn } from '../rows/camera-row.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import type { Table } from '../../storage/table.ts';
import { PARALLEL_READS } from './reader.ts';

/** What one camera did on a day, or on several. */
export interface CameraActivity {
  readonly cameraId: string;
  readonly tally: Tally;
}

/** Answers what each camera did on days. */
export class CamerasReader {
  readonly #table: Table;
  readonly #shards: DayShards;

  constructor(table: Table, shards: DayShards) {
    this.#table = table;
    this.#shards = shards;
  }

  /**
   * What each camera that sent events on the days that end with one did, over all of them, in no order. However many days, no more than
   * {@link PARALLEL_READS} are read at a time.
   *
   * @param days 1: that day alone
   * @throws {StorageTrouble | DamagedRow}
   */
  async ofDays(last: Day, days: number): Promise<readonly CameraActivity[]> {
    const read = pLimit(PARALLEL_READS);
    // The calendar begins with the year 1.
    const starts = Array.from({ length: days }, (_, back) => startOfDay(last) - BigInt(back) * MICROSECONDS.day);
    const ofEach = await Promise.all(starts.filter(isInstant).map(async (start) => this.#ofDay(dayOf(start), read)));
    return Array.from(
      Map.groupBy(ofEach.flat(), ({ cameraId }) => cameraId),
      ([cameraId, activities]) => ({
        cameraId,
        tally: sumOf(activities.map(({ tally }) => tally)),
      }),
    );
  }

  async #ofDay(day: Day, read: LimitFunction): Promise<readonly CameraActivity[]> {
    const shards = (await read(async () => this.#shards.find(day))) ?? 0;
    const ofShards = await Promise.all(
      Array.from({ length: shards }, async (_, shard) => read(async () => this.#ofShard(shardPartition(day, shard)))),
    );
    return ofShards.flat();
  }

  /** Reads the tallies of the day alone: the hours and the minutes of a camera are most of its row. */
  async #ofShard(partition: string): Promise<readonly CameraActivity[]> {
    return Array.fromAsync(camerasIn(this.#table, partition, CAMERA_DAY_PROPERTIES), ([cameraId, rows]) => ({
      cameraId,
      tally: sumOf(rows.map((row) => cameraRowFrom(row).tally)),
    }));
  }
}
