import { DamagedRow, decodingRow } from '../../storage/errors.ts';
import { type NewProperties, type StoringWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { EMPTY_TALLY, type Tally } from '../model/tally.ts';
import { indexesOf, MAX_CAMERAS_PER_SHARD } from './bitset.ts';
import { camerasKey, escapeId, TOTAL_KEY, unescapeId } from './keys.ts';
import { DAY, readDay, readTexts, readWhole, tallyProperties, tallyPropertyNames, textName } from './properties.ts';
import { inStripe, type ShardState, stateFrom, STATE_PROPERTIES } from './stripes.ts';

/**
 * The active cameras of a shard's day, in the order of their first events, in rows of their own (`cameras|0001`, …). The list is only
 * appended to, so a reader who knows how many cameras there were takes so many from the front, whenever it reads the rest of the list.
 */
export interface CameraList {
  readonly ids: readonly string[];
  /** Camera → its index in `ids`. */
  readonly indexes: ReadonlyMap<string, number>;
  /** The ids as stored: one a line, escaped as in keys, each text in a property. */
  readonly texts: readonly string[];
}

/** The `total` row of a stripe: its tally for the day, and the cameras that sent events. */
export interface TotalRow extends ShardState {
  readonly tally: Tally;
  readonly cameras: CameraList;
}

/** A row of a camera list. */
interface ListRow {
  readonly etag: string;
  readonly texts: readonly string[];
}

/** A `total` row with its version, and the rows of its camera list. */
export interface StoredTotal extends TotalRow {
  readonly etag: string;
  readonly lists: readonly ListRow[];
}

/** A list without cameras. */
export const EMPTY_CAMERA_LIST: CameraList = { ids: [], indexes: new Map(), texts: [] };

/** The total of a stripe that has no commit yet. */
export const EMPTY_TOTAL: TotalRow = { tally: EMPTY_TALLY, cameras: EMPTY_CAMERA_LIST, commit: 0, stripes: 1 };

/** UTF-16 units of a text: a string property holds 32K. */
const MAX_TEXT = 32_000;

/** How many texts a row of the list holds: it stays below 1 MiB. */
const TEXTS_A_ROW = 14;

const CAMERAS = 'cameras';
const ACTIVE_CAMERAS = 'active_cameras';

/** The list with cameras appended; those that it has already are skipped. */
export const withCameras = (list: CameraList, cameraIds: Iterable<string>): CameraList => {
  const added = new Set([...cameraIds].filter((id) => !list.indexes.has(id)));
  if (added.size === 0) return list;
  const indexes = new Map(list.indexes);
  const ids = [...list.ids];
  const texts = [...list.texts];
  for (const id of added) {
    indexes.set(id, ids.length);
    ids.push(id);
    const text = escapeId(id);
    const last = texts.at(-1);
    if (last !== undefined && last.length + 1 + text.length <= MAX_TEXT) texts[texts.length - 1] = `${last}\n${text}`;
    else texts.push(text);
  }
  return { ids, indexes, texts };
};

/** Stored texts → the list. Its indexes are computed on first use: most readers do not need them. */
export const cameraListFrom = (texts: readonly string[]): CameraList => {
  // No escape stands for a line's end, so a text is unescaped as a whole.
  const ids = texts.flatMap((text) => unescapeId(text).split('\n'));
  let indexes: ReadonlyMap<string, number> | undefined;
  return {
    ids,
    get indexes() {
      return (indexes ??= indexesOf(ids));
    },
    texts,
  };
};

/** The properties that {@link tallyFrom} and {@link stateFrom} read. */
export const TALLY_PROPERTIES: readonly string[] = [...STATE_PROPERTIES, ...tallyPropertyNames(DAY)];

const propertiesOf = (tally: Tally, cameras: number): NewProperties => ({
  ...tallyProperties(DAY, tally),
  [ACTIVE_CAMERAS]: cameras,
});

/** The properties of a total without events and cameras, but for its commit number. */
export const emptyTotalProperties = (): NewProperties => propertiesOf(EMPTY_TALLY, 0);

/** Whether a `total` row still says what a total said, but for the number of stripes. @throws {DamagedRow} */
export const isUnchanged = (row: StoredRow, { commit, tally, cameras }: TotalRow): boolean =>
  stateFrom(row).commit === commit &&
  Object.entries(propertiesOf(tally, cameras.ids.length)).every(([name, value]) => row.properties[name] === value);

/** The tally of the day. @throws {DamagedRow} */
export const tallyFrom = (row: StoredRow): Tally => decodingRow(row, () => readDay(row.properties));

/**
 * A stripe's total as of one write of its `total` row. The rows of the camera list may be newer: the list is only appended to, and
 * the `total` row says how many cameras there were.
 *
 * @returns undefined if the stripe has no commit
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
  const active = decodingRow(row, () => readWhole(ACTIVE_CAMERAS, row.properties, 0, MAX_CAMERAS_PER_SHARD));
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

const listRowFrom = (row: StoredRow): ListRow => ({
  etag: row.etag,
  texts: decodingRow(row, () => readTexts(CAMERAS, row.properties)),
});
const listOf = (lists: readonly ListRow[]): CameraList => cameraListFrom(lists.flatMap(({ texts }) => texts));

/** What is damaged if other rows of a stripe name a camera or a category that its total does not list. */
export const listsTooShort = (partition: string, stripe: number): DamagedRow =>
  new DamagedRow(partition, inStripe(TOTAL_KEY, stripe), 'its lists lack a camera or a category that other rows have');

/**
 * Writes what differs from the total before: first the `total` row, then the rows of the camera list. The keys are those of stripe 0.
 *
 * @param etagOf the version of a row that is stored, by its key in stripe 0
 */
export const totalWrites = (
  before: TotalRow | undefined,
  { tally, cameras }: TotalRow,
  etagOf: (key: string) => string | undefined,
): readonly StoringWrite[] => {
  const lists = new Map<number, Record<string, string>>();
  for (const [index, text] of cameras.texts.entries()) {
    if (before?.cameras.texts[index] === text) continue;
    const number = Math.floor(index / TEXTS_A_ROW) + 1;
    lists.set(number, { ...lists.get(number), [textName(CAMERAS, index % TEXTS_A_ROW)]: text });
  }
  return [
    writeOf(TOTAL_KEY, etagOf(TOTAL_KEY), propertiesOf(tally, cameras.ids.length)),
    ...Array.from(lists, ([number, texts]) => writeOf(camerasKey(number), etagOf(camerasKey(number)), texts)),
  ];
};
