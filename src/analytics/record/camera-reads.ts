import { CAMERA_DAY_PROPERTIES, cameraProperties, cameraRowFrom } from '../rows/camera-row.ts';
import { cameraKey } from '../rows/keys.ts';
import type { StoredRow } from '../../storage/row.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import { readStripes } from '../rows/stripe-reads.ts';
import type { RowReads } from './row-reads.ts';
import { ofKind, type KnownRow } from './shard-snapshot.ts';
import type { WantedCamera } from './wanted-rows.ts';

const CAMERAS_A_KEY_FOR_RANGE = 8;

/**
 * The rows of cameras in a stripe, with the hours that are wanted of each, by row key: from memory, or read and kept there.
 *
 * @param cameras how many the stripe has
 * @throws {StorageTrouble | DamagedRow}
 */
export const cameraRows = async (
  reads: RowReads,
  stripe: number,
  wanted: ReadonlyMap<string, WantedCamera>,
  cameras: number,
): Promise<ReadonlyMap<string, KnownRow>> => {
  const rows = new Map<string, KnownRow>();
  const missing = new Map<string, ReadonlySet<number>>();
  for (const [cameraId, { hours }] of wanted) {
    const key = inStripe(cameraKey(cameraId), stripe);
    const row = reads.known.get(key);
    const known = ofKind(row, 'camera')?.hours ?? new Set();
    if (row !== undefined && (row.kind === 'absent' || hours.isSubsetOf(known))) rows.set(key, row);
    else missing.set(key, hours.union(known));
  }
  const keep = (key: string, hours: ReadonlySet<number>, row: StoredRow | undefined): void => {
    const camera = row && ({ kind: 'camera', etag: row.etag, value: cameraRowFrom(row), hours } as const);
    rows.set(key, reads.known.keep(key, camera));
  };
  const mostForRange = CAMERAS_A_KEY_FOR_RANGE * missing.size;
  const all = new Set([...missing.values()].flatMap((hours) => Array.from(hours)));
  if (missing.size > 1 && cameras <= mostForRange) {
    const found = await reads.many([...missing.keys()], cameras, mostForRange, cameraProperties(all, all));
    for (const key of missing.keys()) keep(key, all, found.get(key));
  } else {
    await reads.each(missing, async ([key, hours]) =>
      keep(key, hours, await reads.one(key, cameraProperties(hours, hours))),
    );
  }
  return rows;
};

/** The categories that cameras have in any stripe, by camera id. @throws {StorageTrouble | DamagedRow} */
export const categoriesInAllStripes = async (
  reads: RowReads,
  cameraIds: Iterable<string>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
  const categories = new Map<string, ReadonlySet<string>>();
  await reads.each(cameraIds, async (cameraId) => {
    const stored = await readStripes(reads.table, reads.partition, cameraKey(cameraId), CAMERA_DAY_PROPERTIES);
    const found = [...stored.values()].flatMap((row) => Array.from(cameraRowFrom(row).tally.categories.keys()));
    categories.set(cameraId, new Set(found));
  });
  return categories;
};
