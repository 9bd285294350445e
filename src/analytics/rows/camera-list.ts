import { escapeId, unescapeId } from './keys.ts';

// A string property holds 32K UTF-16 units.
const PROPERTY_UNITS = 32_000;

/** How many properties of names the `total` row takes, and each row that continues the list. Each row stays under 1 MiB. */
export const TOTAL_ROW_NAMES = 9;
const MORE_ROW_NAMES = 14;

/** Most cameras of one shard and day: the sets of places in an hour's row stay under its 1 MiB. */
export const MAX_CAMERAS_PER_SHARD = 32_000;

/**
 * The active cameras of a shard's day in the order in which they came. It only grows at its end, so a reader who knows how
 * many there were takes so many from the front, whenever it reads the rest of the list.
 */
export interface CameraList {
  readonly ids: readonly string[];
  /** Camera → its place in `ids`. */
  readonly places: ReadonlyMap<string, number>;
  /** The ids as stored: one a line, escaped as in keys, each text a property. */
  readonly texts: readonly string[];
}

/** No cameras. */
export const EMPTY_CAMERA_LIST: CameraList = { ids: [], places: new Map(), texts: [] };

/** The list with cameras added at its end; those that are in it already are passed over. */
export const withCameras = (list: CameraList, cameraIds: Iterable<string>): CameraList => {
  const more = new Set([...cameraIds].filter((id) => !list.places.has(id)));
  if (more.size === 0) return list;
  const places = new Map(list.places);
  const ids = [...list.ids];
  const texts = [...list.texts];
  for (const id of more) {
    places.set(id, ids.length);
    ids.push(id);
    const text = escapeId(id);
    const last = texts.at(-1);
    if (last !== undefined && last.length + 1 + text.length <= PROPERTY_UNITS)
      texts[texts.length - 1] = `${last}\n${text}`;
    else texts.push(text);
  }
  return { ids, places, texts };
};

/** The list that texts hold. Its places are worked out when they are first asked for: readers need few of them, or none. */
export const cameraListFrom = (texts: readonly string[]): CameraList => {
  // No escape stands for a line's end, so a text is unescaped as a whole.
  const ids = texts.flatMap((text) => unescapeId(text).split('\n'));
  let places: ReadonlyMap<string, number> | undefined;
  return {
    ids,
    get places() {
      return (places ??= new Map(ids.map((id, place) => [id, place])));
    },
    texts,
  };
};

/** Where text `at` of the list is: in the `total` row (row 0) or in row 1 to n that continues it, under a property. */
export const placeOfText = (at: number): { row: number; property: string } => {
  const row = at < TOTAL_ROW_NAMES ? 0 : Math.floor((at - TOTAL_ROW_NAMES) / MORE_ROW_NAMES) + 1;
  const place = row === 0 ? at : (at - TOTAL_ROW_NAMES) % MORE_ROW_NAMES;
  return { row, property: place === 0 ? 'cameras' : `cameras_${place}` };
};

/** The texts of the list that a row keeps, in order. */
export const textsOfRow = (properties: Readonly<Record<string, unknown>>): readonly string[] => {
  const texts: string[] = [];
  for (;;) {
    const text = properties[texts.length === 0 ? 'cameras' : `cameras_${texts.length}`];
    if (typeof text !== 'string') return texts;
    texts.push(text);
  }
};
