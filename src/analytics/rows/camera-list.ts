import { indexesOf } from './bitset.ts';
import { decodingRow } from '../../storage/errors.ts';
import type { NewProperties, StoredRow } from '../../storage/row.ts';
import { escapeId, unescapeId } from './keys.ts';
import { readTexts, textName } from './properties.ts';

// A string property holds 32K UTF-16 units.
const PROPERTY_UNITS = 32_000;

/** How many texts a row of the list holds: it stays below 1 MiB. */
const TEXTS_A_ROW = 14;

/** Most cameras of one shard and day: the bitsets of an hour's row stay below its 1 MiB. */
export const MAX_CAMERAS_PER_SHARD = 32_000;

/** The property, or the first of the properties, that a row keeps texts of the list in. */
const CAMERAS = 'cameras';

/**
 * The active cameras of a shard's day, in the order of their first events. The list is only appended to, so a reader who knows how
 * many cameras there were takes so many from the front, whenever it reads the rest of the list.
 */
export interface CameraList {
  readonly ids: readonly string[];
  /** Camera → its index in `ids`. */
  readonly indexes: ReadonlyMap<string, number>;
  /** The ids as stored: one a line, escaped as in keys, each text in a property. */
  readonly texts: readonly string[];
}

/** A list without cameras. */
export const EMPTY_CAMERA_LIST: CameraList = { ids: [], indexes: new Map(), texts: [] };

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
    if (last !== undefined && last.length + 1 + text.length <= PROPERTY_UNITS)
      texts[texts.length - 1] = `${last}\n${text}`;
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

/** The texts that a row of the list holds. @throws {DamagedRow} */
export const listTextsFrom = (row: StoredRow): readonly string[] =>
  decodingRow(row, () => readTexts(CAMERAS, row.properties));

/**
 * The rows of a list that differ from those of the list that it grew from.
 *
 * @returns by their numbers, from 1: the properties to write
 */
export const changedListRows = (before: CameraList, list: CameraList): ReadonlyMap<number, NewProperties> => {
  const rows = new Map<number, NewProperties>();
  for (const [index, text] of list.texts.entries()) {
    if (before.texts[index] === text) continue;
    const number = Math.floor(index / TEXTS_A_ROW) + 1;
    rows.set(number, { ...rows.get(number), [textName(CAMERAS, index % TEXTS_A_ROW)]: text });
  }
  return rows;
};
