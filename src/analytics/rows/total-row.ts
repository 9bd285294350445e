import { EMPTY_TALLY, type Tally } from '../model/tally.ts';
import {
  cameraListFrom,
  CAMERAS,
  EMPTY_CAMERA_LIST,
  locationOfText,
  withCameras,
  type CameraList,
} from './camera-list.ts';
import { DamagedRow, DecodeError, decodingRow } from './damaged-row.ts';
import { camerasKey, TOTAL_KEY } from './keys.ts';
import { readTexts } from './properties.ts';
import { writeOf, type NewProperties, type RowWrite, type StoredRow } from './row.ts';
import type { CounterTable } from './table.ts';
import { readTallyText, tallyProperties, tallyPropertyNames } from './tally-text.ts';

/** The `total` row of a shard: its tally for the day, and the cameras that sent events. */
export interface TotalRow {
  readonly tally: Tally;
  readonly cameras: CameraList;
}

/** A `total` row with its version and those of the rows that continue its camera list. */
export interface StoredTotal extends TotalRow {
  readonly etag: string;
  /** Of `cameras|0001`, `cameras|0002`, … */
  readonly listEtags: readonly string[];
}

/** The total of a shard that has no events yet. */
export const EMPTY_TOTAL: TotalRow = { tally: EMPTY_TALLY, cameras: EMPTY_CAMERA_LIST };

const DAY = 'day';

/** The property that says how many active cameras there are. */
export const ACTIVE_CAMERAS = 'active_cameras';

const tallyOf = (row: StoredRow): Tally => {
  const tally = readTallyText(DAY, row.properties);
  if (tally === undefined) throw new DecodeError('the tally of the day is missing');
  return tally;
};

const textsOf = (row: StoredRow): readonly string[] => decodingRow(row, () => readTexts(CAMERAS, row.properties));

/**
 * A shard's total as of one write of its `total` row. The rows that continue the camera list may be newer: the list is only
 * appended to, and the `total` row says how many cameras there were.
 *
 * @returns undefined where the shard has no events
 * @throws {StorageTrouble | DamagedRow}
 */
export const readTotal = async (table: CounterTable, partition: string): Promise<StoredTotal | undefined> => {
  const row = await table.get(partition, TOTAL_KEY);
  if (row === undefined) return undefined;
  const { tally, active } = decodingRow(row, () => {
    const count = row.properties[ACTIVE_CAMERAS];
    if (typeof count !== 'number') throw new DecodeError(`${ACTIVE_CAMERAS} is not a number`);
    return { tally: tallyOf(row), active: count };
  });
  let cameras = cameraListFrom(textsOf(row));
  const listEtags: string[] = [];
  while (cameras.ids.length < active) {
    const further = await table.get(partition, camerasKey(listEtags.length + 1));
    if (further === undefined) throw new DamagedRow(partition, TOTAL_KEY, 'its camera list is shorter than it says');
    cameras = cameraListFrom([...cameras.texts, ...textsOf(further)]);
    listEtags.push(further.etag);
  }
  if (cameras.ids.length > active) cameras = withCameras(EMPTY_CAMERA_LIST, cameras.ids.slice(0, active));
  return { etag: row.etag, tally, cameras, listEtags };
};

/**
 * The version of a shard: every commit writes its `total` row.
 *
 * @returns undefined where the shard has no events
 * @throws {StorageTrouble}
 */
export const readVersion = async (table: CounterTable, partition: string): Promise<string | undefined> =>
  (await table.get(partition, TOTAL_KEY, [ACTIVE_CAMERAS]))?.etag;

/** A shard's list of categories, without the rest of its total. @throws {StorageTrouble | DamagedRow} */
export const readCategories = async (table: CounterTable, partition: string): Promise<readonly string[]> => {
  const row = await table.get(partition, TOTAL_KEY, tallyPropertyNames(DAY));
  return row === undefined ? [] : decodingRow(row, () => [...tallyOf(row).categories.keys()]);
};

/** What is damaged where other rows of a shard name a camera or a category that its total does not list. */
export const listsTooShort = (partition: string): DamagedRow =>
  new DamagedRow(partition, TOTAL_KEY, 'its lists lack a camera or a category that other rows have');

/** Writes what differs from the stored total: first the `total` row, then the rows that continue the camera list. */
export const totalWrites = (stored: StoredTotal | undefined, total: TotalRow): readonly RowWrite[] => {
  const rows = new Map<number, NewProperties>();
  for (const [index, text] of total.cameras.texts.entries()) {
    if (stored?.cameras.texts[index] === text) continue;
    const { row, property } = locationOfText(index);
    rows.set(row, { ...rows.get(row), [property]: text });
  }
  const own = { ...tallyProperties(DAY, total.tally), ...rows.get(0), [ACTIVE_CAMERAS]: total.cameras.ids.length };
  rows.delete(0);
  return [
    writeOf(TOTAL_KEY, stored?.etag, own),
    ...Array.from(rows, ([row, properties]) => writeOf(camerasKey(row), stored?.listEtags[row - 1], properties)),
  ];
};
