import { DamagedRow, DecodeError, decodingRow } from '../../storage/errors.ts';
import { ANY_VERSION, type NewProperties, type StoredRow, type StoringWrite, writeOf } from '../../storage/row.ts';
import type { Hour } from '../model/day.ts';
import { type DayTally, EMPTY_TALLY } from '../model/tally.ts';
import { indexesOf, MAX_CAMERAS_PER_STRIPE } from './bitset.ts';
import { type Bucket, type Buckets, bucketsPart, bucketValues, hoursFrom } from './buckets.ts';
import { counterKey, DAY_COUNTER, escapeId, unescapeId } from './keys.ts';
import type { PartOf, RowPart } from './part.ts';
import { readTally, readTexts, TALLY_PROPERTIES, tallyProperties, textName } from './properties.ts';

/**
 * The active cameras of a stripe's day, in the order of their first events. The list is only appended to, so a list that was read
 * later than an index has its id.
 */
export interface CameraList {
  readonly ids: readonly string[];
  /** Camera → its index in `ids`. */
  readonly indexes: ReadonlyMap<string, number>;
  /** The ids as stored: one per line, escaped as in keys, each text in a property. */
  readonly texts: readonly string[];
}

/** A whole `day|05` row: the counts of one stripe of a shard on the day. */
export interface DayRow {
  readonly tally: DayTally;
  readonly hours: Buckets<Hour>;
  readonly cameras: CameraList;
}

export const NO_CAMERAS: CameraList = { ids: [], indexes: new Map(), texts: [] };

export const EMPTY_DAY: DayRow = { tally: EMPTY_TALLY, hours: new Map(), cameras: NO_CAMERAS };

// State

/**
 * Why a day takes no commit: `closed` for good, or `rebuilding` its counters. It stands in the `day` rows of all stripes of a shard, which one
 * transaction writes.
 */
export type Seal = 'closed' | 'rebuilding';

/** What a `day` row says of its shard, in addition to its counts. */
export interface DayState {
  /** Of stripe 0 only: other stripes may have rows, too. It is never taken back. */
  readonly isStriped: boolean;
  readonly sealed: Seal | undefined;
}

const [STRIPED, SEALED] = ['striped', 'sealed'];

const readState = (row: StoredRow): DayState =>
  decodingRow(row, () => {
    const { [STRIPED]: striped = false, [SEALED]: sealed = '' } = row.properties;
    if (typeof striped !== 'boolean') throw new DecodeError('striped is not true or false');
    // A seal that was taken away is an empty text: a merge cannot remove a property.
    if (sealed !== 'closed' && sealed !== 'rebuilding' && sealed !== '') throw new DecodeError('its seal is unknown');
    return { isStriped: striped, sealed: sealed === '' ? undefined : sealed };
  });

/** The state alone. */
export const DAY_STATE: RowPart<DayState> = { select: [STRIPED, SEALED], from: readState };

/** The properties that set the seal of a day row, or take it away (undefined). */
export const sealProperties = (sealed: Seal | undefined): NewProperties => ({ [SEALED]: sealed ?? '' });

/** The properties of a day row without counts, to insert. */
export const EMPTY_DAY_PROPERTIES: NewProperties = tallyProperties(EMPTY_TALLY);

/** The property that says that stripes other than 0 may have rows. */
export const STRIPED_PROPERTIES: NewProperties = { [STRIPED]: true };

/**
 * The write that the first commit of another stripe makes in stripe 0: from now on readers ask for all stripes.
 *
 * @param isStored whether stripe 0 has its `day` row
 */
export const stripedWrite = (isStored: boolean): StoringWrite => {
  const rowKey = counterKey(DAY_COUNTER, 0);
  return isStored
    ? // Stripe 0's writer changes other properties of this row all the time.
      { kind: 'merge', rowKey, etag: ANY_VERSION, properties: STRIPED_PROPERTIES }
    : { kind: 'insert', rowKey, properties: { ...EMPTY_DAY_PROPERTIES, ...STRIPED_PROPERTIES } };
};

// Lists

/** UTF-16 units of a text: a string property holds 32K. */
const MAX_TEXT = 32_000;

/** Most UTF-16 units of all texts together: 200,000 characters take 400 KB, and the row with everything else at its limit stays below 1 MiB. */
const MAX_LIST = 200_000;

const MAX_TEXTS = Math.ceil(MAX_LIST / (MAX_TEXT - 129));
const CAMERAS = 'cameras';

/** The damage if other rows of a stripe name a camera or a category that its `day` row does not list. */
export const listsTooShort = (partition: string, stripe: number): DamagedRow =>
  new DamagedRow(
    partition,
    counterKey(DAY_COUNTER, stripe),
    'its lists lack a camera or a category that other rows have',
  );

export const hasRoom = ({ ids, texts }: CameraList, more: readonly string[]): boolean =>
  ids.length + more.length <= MAX_CAMERAS_PER_STRIPE &&
  [...texts, ...more].reduce((length, text) => length + text.length + 1, 0) <= MAX_LIST;

/** The list with cameras appended; known cameras are skipped. */
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
const cameraListFrom = (texts: readonly string[]): CameraList => {
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

// Reading and writing

/** The tally with the figures of accuracy, and the state. */
export const DAY_TALLY: RowPart<DayState & Pick<DayRow, 'tally'>> = {
  select: [...DAY_STATE.select, ...TALLY_PROPERTIES],
  from: (row) => ({ ...readState(row), tally: decodingRow(row, () => readTally(row.properties)) }),
};

const CAMERA_TEXTS = Array.from({ length: MAX_TEXTS }, (_, index) => textName(CAMERAS, index));

const readCameras = (row: StoredRow): CameraList =>
  decodingRow(row, () => cameraListFrom(readTexts(CAMERAS, row.properties)));

/** The tally, which names the categories; the cameras; some hours; and the state. */
export const dayPart = (
  hours: readonly Hour[],
): RowPart<DayState & Pick<DayRow, 'tally' | 'cameras'> & { readonly hours: PartOf<Hour, Bucket> }> => {
  const buckets = bucketsPart(hours);
  return {
    select: [...DAY_TALLY.select, ...CAMERA_TEXTS, ...buckets.select],
    from: (row) => ({ ...DAY_TALLY.from(row), cameras: readCameras(row), hours: buckets.from(row) }),
  };
};

/** A whole row. */
export const dayRowFrom = (row: StoredRow): DayRow & DayState => ({
  ...DAY_TALLY.from(row),
  hours: hoursFrom(row),
  cameras: readCameras(row),
});

/** Writes what a commit changes in the `day` row of a stripe. `before` is the row as it is stored, if it is. */
export const dayWrite = (
  stripe: number,
  before: { readonly etag: string; readonly value: DayRow } | undefined,
  { tally, hours, cameras }: DayRow,
  changedHours: Iterable<Hour>,
): StoringWrite => {
  const texts = cameras.texts.flatMap((text, index): [string, string][] =>
    before?.value.cameras.texts[index] === text ? [] : [[textName(CAMERAS, index), text]],
  );
  return writeOf(counterKey(DAY_COUNTER, stripe), before?.etag, {
    ...tallyProperties(tally),
    ...bucketValues(hours, changedHours),
    ...Object.fromEntries(texts),
  });
};
