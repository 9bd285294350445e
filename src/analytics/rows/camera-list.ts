import { indexesOf } from './bitset.ts';
import { escapeId, unescapeId } from './keys.ts';
import { textName } from './properties.ts';

// A string property holds 32K UTF-16 units.
const PROPERTY_UNITS = 32_000;

/** How many texts of the list the `total` row holds, and each row that continues the list. Each row stays below 1 MiB. */
export const TOTAL_ROW_TEXTS = 9;
const FURTHER_ROW_TEXTS = 14;

/** Most cameras of one shard and day: the bitsets of an hour's row stay below its 1 MiB. */
export const MAX_CAMERAS_PER_SHARD = 32_000;

/** The property, or the first of the properties, that a row keeps texts of the list in. */
export const CAMERAS = 'cameras';

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

/** The row and the property of a text of the list: row 0 is `total`, rows 1 to n continue the list. */
export const locationOfText = (index: number): { row: number; property: string } => {
  const further = index - TOTAL_ROW_TEXTS;
  if (further < 0) return { row: 0, property: textName(CAMERAS, index) };
  return {
    row: Math.floor(further / FURTHER_ROW_TEXTS) + 1,
    property: textName(CAMERAS, further % FURTHER_ROW_TEXTS),
  };
};
