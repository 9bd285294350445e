import { decodingRow, type StoredRow } from '../../storage/row.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import { type DayTally, sumOf } from '../model/tally.ts';
import { CAMERA_DAY } from '../rows/camera-row.ts';
import { DAY_STATE } from '../rows/day-row.ts';
import { ALL_CAMERAS, cameraCounter, parseCameraKey, stripesOf } from '../rows/keys.ts';
import { readAllStripes, readShard, type ShardSource } from './read-shard.ts';

const MOST_EMPTY_PAGES = 20;

/**
 * The day's tally of each camera of a shard that sent events, each as of one moment. The rows of a camera in all stripes are neighbors, and a page
 * is read together. A page that is cut off may lack rows of its last camera: the next query begins with that camera.
 *
 * @throws {DayHeld | StorageTrouble | DamagedRow}
 */
export const camerasOfShard = async (source: ShardSource): Promise<ReadonlyMap<string, DayTally>> => {
  const tallies = new Map<string, DayTally>();
  let range = ALL_CAMERAS;
  let continuation: string | undefined;
  let empty = 0;
  for (;;) {
    const page = await pageOf(source, range, continuation);
    const cameras = [...Map.groupBy(page.rows, cameraOf)];
    // This page continues an empty page: rows of its first camera that were written since then may lie before it.
    const alone = continuation === undefined ? [] : cameras.splice(0, 1);
    const last = page.continuation === undefined ? undefined : cameras.pop();
    // A camera that fills a page is read by itself.
    if (last !== undefined && cameras.length === 0 && alone.length === 0) alone.push(last);
    for (const [cameraId] of alone) {
      const rows = await readAllStripes(source, cameraCounter(cameraId), CAMERA_DAY.select);
      tallies.set(cameraId, sumOf(Array.from(rows.values(), CAMERA_DAY.from)));
    }
    for (const [cameraId, rows] of cameras) tallies.set(cameraId, sumOf(rows.map(CAMERA_DAY.from)));
    if (page.continuation === undefined) break;
    const next = last?.[0] ?? alone.at(-1)?.[0];
    empty = next === undefined ? empty + 1 : 0;
    if (empty > MOST_EMPTY_PAGES) throw new StorageTrouble(0, { reason: 'empty pages' });
    continuation = next === undefined ? page.continuation : undefined;
    if (next !== undefined) {
      const ofNext = stripesOf(cameraCounter(next));
      range = { from: tallies.has(next) ? ofNext.before : ofNext.from, before: ALL_CAMERAS.before };
    }
  }
  await readShard(source, DAY_STATE);
  return tallies;
};

const pageOf = async ({ table, partition, limit }: ShardSource, range: typeof ALL_CAMERAS, continuation?: string) =>
  limit(async () => table.page(partition, range, { select: CAMERA_DAY.select, continuation }));

const cameraOf = (row: StoredRow): string => decodingRow(row, () => parseCameraKey(row.rowKey));
