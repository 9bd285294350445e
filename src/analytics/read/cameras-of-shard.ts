import { decodingRow, type StoredRow } from '../../storage/row.ts';
import { type DayTally, sumOf } from '../model/tally.ts';
import { CAMERA_DAY } from '../rows/camera-row.ts';
import { DAY_STATE } from '../rows/day-row.ts';
import { ALL_CAMERAS, cameraCounter, parseCameraKey, stripesOf } from '../rows/keys.ts';
import { readStripes } from '../rows/stripes.ts';
import { readShard, type ShardSource } from './read-shard.ts';

/** The activity of one camera on a day, or on several days. */
export interface CameraActivity {
  readonly cameraId: string;
  readonly tally: DayTally;
}

/**
 * The day's tally of each camera of a shard that sent events, each as of one moment: the rows of a camera in all stripes are neighbors, and a
 * page is read together.
 *
 * @throws {DayHeld | StorageTrouble | DamagedRow}
 */
export const camerasOfShard = async (source: ShardSource): Promise<readonly CameraActivity[]> => {
  const { table, partition, limit } = source;
  const activities: CameraActivity[] = [];
  const add = (cameraId: string, some: Iterable<StoredRow>): void => {
    activities.push({ cameraId, tally: sumOf(Array.from(some, CAMERA_DAY.from)) });
  };
  const { select } = CAMERA_DAY;
  let range = ALL_CAMERAS;
  for (;;) {
    const reading = limit(async () => table.pageWithRows(partition, range, { select }));
    const { rows, continuation, isContinued } = await reading;
    const cameras = [...Map.groupBy(rows, cameraOf)];
    // A page that is cut off may lack rows of its last camera. A page that continues an empty page may lack rows of its first camera, which were
    // written since then.
    const complete = isContinued ? [] : continuation === undefined ? cameras : cameras.slice(0, -1);
    for (const camera of complete) add(...camera);
    const [next] = cameras[complete.length] ?? [];
    if (next === undefined) break;
    const counter = cameraCounter(next);
    let { from, before } = stripesOf(counter);
    if (complete.length === 0) {
      // A camera that fills a page is read by itself.
      const alone = await limit(async () => readStripes(table, partition, counter, select));
      add(next, alone.values());
      from = before;
    }
    range = { from, before: ALL_CAMERAS.before };
  }
  await readShard(source, DAY_STATE);
  return activities;
};

const cameraOf = (row: StoredRow): string => decodingRow(row, () => parseCameraKey(row.rowKey));
