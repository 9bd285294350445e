import pLimit from 'p-limit';

import type { Day } from '../model/day.ts';
import type { Tally } from '../model/tally.ts';
import { CAMERA_DAY_PROPERTIES, cameraRowFrom } from '../rows/camera-row.ts';
import { decodingRow } from '../rows/damaged-row.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { ALL_CAMERAS, parseCameraKey, shardPartition } from '../rows/keys.ts';
import type { CounterTable } from '../rows/table.ts';
import { PARALLEL_READS } from './reader.ts';

/** What one camera did on a day. */
export interface CameraActivity {
  readonly cameraId: string;
  readonly tally: Tally;
}

/** Answers what each camera did on a day. */
export class CamerasReader {
  readonly #table: CounterTable;
  readonly #shards: DayShards;

  constructor(table: CounterTable, shards: DayShards) {
    this.#table = table;
    this.#shards = shards;
  }

  /** What each camera that sent events on a day did, in no order. @throws {StorageTrouble | DamagedRow} */
  async ofDay(day: Day): Promise<readonly CameraActivity[]> {
    const shards = (await this.#shards.find(day)) ?? 0;
    const read = pLimit(PARALLEL_READS);
    const ofShards = await Promise.all(
      Array.from({ length: shards }, async (_, shard) => read(async () => this.#ofShard(shardPartition(day, shard)))),
    );
    return ofShards.flat();
  }

  /** Reads the tallies of the day alone: the hours and the minutes of a camera are most of its row. */
  async #ofShard(partition: string): Promise<readonly CameraActivity[]> {
    const rows = await this.#table.all(partition, ALL_CAMERAS, { select: CAMERA_DAY_PROPERTIES });
    return rows.map((row) => ({
      cameraId: decodingRow(row, () => parseCameraKey(row.rowKey)),
      tally: cameraRowFrom(row).tally,
    }));
  }
}
