import { EMPTY_TALLY, type Tally } from '../model/tally.ts';
import {
  cameraListFrom,
  changedListRows,
  EMPTY_CAMERA_LIST,
  listTextsFrom,
  withCameras,
  type CameraList,
} from './camera-list.ts';
import { COMMIT_NUMBER, commitNumberOf } from './commit-number.ts';
import { DamagedRow, DecodeError, decodingRow } from '../../storage/errors.ts';
import { type NewProperties, type StoringWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { camerasKey, TOTAL_KEY } from './keys.ts';
import { inStripe } from './stripe-keys.ts';
import { readTallyText, tallyProperties, tallyPropertyNames } from './tally-text.ts';

/** What a `total` row says of its shard, without its tally. */
export interface ShardState {
  /** The number of the stripe's latest commit. */
  readonly commit: number;
  /** How many stripes the shard has, numbered from 0. Only stripe 0's row says it; the others say 1. */
  readonly stripes: number;
}

/** The `total` row of a stripe: its tally for the day, and the cameras that sent events, which are listed in rows of their own. */
export interface TotalRow extends ShardState {
  readonly tally: Tally;
  readonly cameras: CameraList;
}

/** A row of a camera list. */
export interface ListRow {
  readonly etag: string;
  readonly texts: readonly string[];
}

/** A `total` row with its version, and the rows of its camera list. */
export interface StoredTotal extends TotalRow {
  readonly etag: string;
  readonly lists: readonly ListRow[];
}

/** The total of a stripe that has no commit yet. */
export const EMPTY_TOTAL: TotalRow = {
  tally: EMPTY_TALLY,
  cameras: EMPTY_CAMERA_LIST,
  commit: 0,
  stripes: 1,
};

const DAY = 'day';
const ACTIVE_CAMERAS = 'active_cameras';
const STRIPES = 'stripes';

/** The properties that {@link stateFrom} reads. */
export const STATE_PROPERTIES: readonly string[] = [COMMIT_NUMBER, STRIPES];

/** The properties that {@link tallyFrom} and {@link stateFrom} read. */
export const TALLY_PROPERTIES: readonly string[] = [...STATE_PROPERTIES, ...tallyPropertyNames(DAY)];

/** The properties of a total without events and cameras, but for its commit number. */
export const emptyTotalProperties = (): NewProperties => ({
  ...tallyProperties(DAY, EMPTY_TALLY),
  [ACTIVE_CAMERAS]: 0,
});

/** What announces a stripe in stripe 0's `total` row. */
export const announcement = (stripes: number): NewProperties => ({ [STRIPES]: stripes });

/** The state of a shard. @throws {DamagedRow} */
export const stateFrom = (row: StoredRow): ShardState =>
  decodingRow(row, () => {
    const { [STRIPES]: stripes = 1 } = row.properties;
    if (typeof stripes !== 'number') throw new DecodeError(`${STRIPES} is not a number`);
    return { commit: commitNumberOf(row), stripes };
  });

/** The tally of the day. @throws {DamagedRow} */
export const tallyFrom = (row: StoredRow): Tally =>
  decodingRow(row, () => {
    const tally = readTallyText(DAY, row.properties);
    if (tally === undefined) throw new DecodeError('the tally of the day is missing');
    return tally;
  });

/** How many cameras a `total` row says that its list has. @throws {DamagedRow} */
export const activeCamerasOf = (row: StoredRow): number =>
  decodingRow(row, () => {
    const count = row.properties[ACTIVE_CAMERAS];
    if (typeof count !== 'number') throw new DecodeError(`${ACTIVE_CAMERAS} is not a number`);
    return count;
  });

/**
 * A stripe's total as of one write of its `total` row. The rows of the camera list may be newer: the list is only appended to, and
 * the `total` row says how many cameras there were.
 *
 * @returns undefined where the stripe has no commit
 * @throws {StorageTrouble | DamagedRow}
 */
export const readTotal = async (table: Table, partition: string, stripe = 0): Promise<StoredTotal | undefined> => {
  const [row, first] = await Promise.all([
    table.get(partition, inStripe(TOTAL_KEY, stripe)),
    table.get(partition, inStripe(camerasKey(1), stripe)),
  ]);
  return row && totalFrom(table, row, stripe, first);
};

/**
 * A stripe's total from its row, which was read before.
 *
 * @param first the first row of the camera list as it was read with the total, perhaps before it
 * @throws {StorageTrouble | DamagedRow}
 */
export const totalFrom = async (
  table: Table,
  row: StoredRow,
  stripe: number,
  first: StoredRow | undefined,
): Promise<StoredTotal> => {
  const active = activeCamerasOf(row);
  const stored = { etag: row.etag, ...stateFrom(row), tally: tallyFrom(row) };
  let lists: readonly ListRow[] = first === undefined ? [] : [listRowFrom(first)];
  let cameras = listOf(lists);
  // The last row that was read may be older than the total.
  for (let number = Math.max(1, lists.length); cameras.ids.length < active; number += 1) {
    const further = await table.get(row.partitionKey, inStripe(camerasKey(number), stripe));
    if (further === undefined) {
      throw new DamagedRow(row.partitionKey, row.rowKey, 'its camera list is shorter than it says');
    }
    lists = [...lists.slice(0, number - 1), listRowFrom(further)];
    cameras = listOf(lists);
  }
  if (cameras.ids.length > active) cameras = withCameras(EMPTY_CAMERA_LIST, cameras.ids.slice(0, active));
  return { ...stored, cameras, lists };
};

const listRowFrom = (row: StoredRow): ListRow => ({ etag: row.etag, texts: listTextsFrom(row) });
const listOf = (lists: readonly ListRow[]): CameraList => cameraListFrom(lists.flatMap(({ texts }) => texts));

/** What is damaged where other rows of a stripe name a camera or a category that its total does not list. */
export const listsTooShort = (partition: string, stripe: number): DamagedRow =>
  new DamagedRow(partition, inStripe(TOTAL_KEY, stripe), 'its lists lack a camera or a category that other rows have');

/**
 * Writes what differs from the total before: first the `total` row, then the rows of the camera list. The keys are those of stripe 0.
 *
 * @param etagOf the version of a row that is stored, by its key in stripe 0
 */
export const totalWrites = (
  before: TotalRow | undefined,
  total: TotalRow,
  etagOf: (key: string) => string | undefined,
): readonly StoringWrite[] => [
  writeOf(TOTAL_KEY, etagOf(TOTAL_KEY), {
    ...tallyProperties(DAY, total.tally),
    [ACTIVE_CAMERAS]: total.cameras.ids.length,
  }),
  ...Array.from(
    changedListRows(before?.cameras ?? EMPTY_CAMERA_LIST, total.cameras),
    ([number, properties]): StoringWrite => writeOf(camerasKey(number), etagOf(camerasKey(number)), properties),
  ),
];
