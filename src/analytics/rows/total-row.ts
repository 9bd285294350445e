import {
  cameraListFrom,
  EMPTY_CAMERA_LIST,
  placeOfText,
  textsOfRow,
  withCameras,
  type CameraList,
} from './camera-list.ts';
import { camerasKey, TOTAL_KEY } from './keys.ts';
import { tallyFromProperties, tallyProperties, tallyPropertyNames } from './tally-text.ts';
import { EMPTY_TALLY, type Tally } from '../model/tally.ts';
import { writeOf, type CounterTable, type PropertyValue, type RowWrite, type StoredRow } from './table.ts';

/** A shard's day: its tally, and the cameras that sent events. */
export interface ShardTotal {
  readonly tally: Tally;
  readonly cameras: CameraList;
}

/** A shard's total together with the versions of the rows that hold it. */
export interface StoredTotal extends ShardTotal {
  readonly etag: string;
  /** Of the rows that continue the camera list, by their number less one. */
  readonly listEtags: readonly string[];
}

/** The total of a shard that has no events yet. */
export const EMPTY_TOTAL: ShardTotal = { tally: EMPTY_TALLY, cameras: EMPTY_CAMERA_LIST };

/** The property that says how many active cameras there are. */
export const ACTIVE_CAMERAS = 'active_cameras';

const activeCamerasIn = (row: StoredRow): number => {
  const value = row.properties[ACTIVE_CAMERAS];
  if (typeof value !== 'number') throw new TypeError('a stored total is damaged');
  return value;
};

/**
 * A shard's total, whole as of one moment: the rows that continue the list may be newer, but the list only grows at its
 * end and the `total` row says how many cameras there were.
 *
 * @returns undefined where the shard has no events
 * @throws {StorageTrouble} where storage does not answer
 */
export const readTotal = async (table: CounterTable, partition: string): Promise<StoredTotal | undefined> => {
  const row = await table.get(partition, TOTAL_KEY);
  if (row === undefined) return undefined;
  const active = activeCamerasIn(row);
  let cameras = cameraListFrom(textsOfRow(row.properties));
  const listEtags: string[] = [];
  while (cameras.ids.length < active) {
    const more = await table.get(partition, camerasKey(listEtags.length + 1));
    if (more === undefined) throw new TypeError('a stored total is damaged');
    cameras = cameraListFrom([...cameras.texts, ...textsOfRow(more.properties)]);
    listEtags.push(more.etag);
  }
  if (cameras.ids.length > active) cameras = withCameras(EMPTY_CAMERA_LIST, cameras.ids.slice(0, active));
  return {
    etag: row.etag,
    tally: tallyFromProperties('day', row.properties) ?? EMPTY_TALLY,
    cameras,
    listEtags,
  };
};

/**
 * The version of a shard: every commit writes its `total` row.
 *
 * @returns undefined where the shard has no events
 * @throws {StorageTrouble} where storage does not answer
 */
export const readVersion = async (table: CounterTable, partition: string): Promise<string | undefined> =>
  (await table.get(partition, TOTAL_KEY, [ACTIVE_CAMERAS]))?.etag;

/**
 * A shard's list of categories, without the rest of its total.
 *
 * @throws {StorageTrouble} where storage does not answer
 */
export const readCategories = async (table: CounterTable, partition: string): Promise<readonly string[]> => {
  const row = await table.get(partition, TOTAL_KEY, tallyPropertyNames('day'));
  return [...(tallyFromProperties('day', row?.properties ?? {})?.categories.keys() ?? [])];
};

/**
 * Writes what changed of a shard's total: the `total` row first, then the rows that continue the camera list.
 *
 * @param stored what is stored now; undefined: nothing
 */
export const totalWrites = (stored: StoredTotal | undefined, total: ShardTotal): readonly RowWrite[] => {
  const rows = new Map<number, Record<string, PropertyValue>>();
  for (const [at, text] of total.cameras.texts.entries()) {
    if (stored?.cameras.texts[at] === text) continue;
    const { row, property } = placeOfText(at);
    rows.set(row, { ...rows.get(row), [property]: text });
  }
  const own: Record<string, PropertyValue> = {
    ...tallyProperties('day', total.tally),
    ...rows.get(0),
    [ACTIVE_CAMERAS]: total.cameras.ids.length,
  };
  rows.delete(0);
  return [
    writeOf(TOTAL_KEY, stored?.etag, own),
    ...[...rows].map(([row, properties]) => writeOf(camerasKey(row), stored?.listEtags[row - 1], properties)),
  ];
};
