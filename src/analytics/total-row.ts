import {
  cameraListFrom,
  EMPTY_CAMERA_LIST,
  placeOfText,
  textsOfRow,
  withCameras,
  type CameraList,
} from './camera-list.ts';
import { camerasKey, TOTAL_KEY, type KeyRange } from './keys.ts';
import { tallyFromProperties, tallyProperties } from './tally-text.ts';
import { EMPTY_TALLY, plus, type Tally } from './tally.ts';
import { writeOf, type CounterTable, type PropertyValue, type RowWrite, type StoredRow } from './table.ts';

/** A shard's day: its tally, the cameras that sent events, and which hours have a row. */
export interface ShardTotal {
  readonly tally: Tally;
  readonly cameras: CameraList;
  /** The hours (0 to 23) that have a row, as bits. */
  readonly hours: number;
}

/** A shard's total together with the versions of the rows that hold it. */
export interface StoredTotal extends ShardTotal {
  readonly etag: string;
  /** Of the rows that continue the camera list, by their number less one. */
  readonly listEtags: readonly string[];
}

/** The total of a shard that has no events yet. */
export const EMPTY_TOTAL: ShardTotal = { tally: EMPTY_TALLY, cameras: EMPTY_CAMERA_LIST, hours: 0 };

const ALL_LIST_ROWS: KeyRange = { from: 'cameras|', before: 'cameras}' };

const countIn = (row: StoredRow, property: string): number => {
  const value = row.properties[property];
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
  const active = countIn(row, 'active_cameras');
  let cameras = cameraListFrom(textsOfRow(row.properties));
  let listEtags: readonly string[] = [];
  if (cameras.ids.length < active) {
    const more = await table.all(partition, ALL_LIST_ROWS);
    const texts = [...cameras.texts, ...more.flatMap((part) => textsOfRow(part.properties))];
    const whole = cameraListFrom(texts);
    cameras = whole.ids.length === active ? whole : withCameras(EMPTY_CAMERA_LIST, whole.ids.slice(0, active));
    listEtags = more.map((part) => part.etag);
    if (cameras.ids.length !== active) throw new TypeError('a stored total is damaged');
  }
  return {
    etag: row.etag,
    tally: tallyFromProperties('day', row.properties) ?? EMPTY_TALLY,
    cameras,
    hours: countIn(row, 'hours'),
    listEtags,
  };
};

/** The total with a difference added that came from cameras in an hour of the day. */
export const addToTotal = (total: ShardTotal, difference: Tally, hours: number): ShardTotal => ({
  tally: plus(total.tally, difference),
  cameras: total.cameras,
  hours: total.hours | hours,
});

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
    active_cameras: total.cameras.ids.length,
    hours: total.hours,
  };
  rows.delete(0);
  return [
    writeOf(TOTAL_KEY, stored?.etag, own),
    ...[...rows].map(([row, properties]) => writeOf(camerasKey(row), stored?.listEtags[row - 1], properties)),
  ];
};
