import { isDeepStrictEqual } from 'node:util';

import { DamagedRow, decodingRow, unlessDamaged } from '../../storage/errors.ts';
import { type NewProperties, type StoredRow, type StoringWrite, writeOf } from '../../storage/row.ts';
import { EMPTY_TALLY, type Tally } from '../model/tally.ts';
import { indexesOf, MAX_CAMERAS_PER_SHARD } from './bitset.ts';
import { bucketProperties, type Buckets, bucketsFrom, bucketValues, NO_BUCKETS } from './buckets.ts';
import { DAY_KEY, escapeId, unescapeId } from './keys.ts';
import { DAY_TALLY, readDay, readTexts, tallyProperties, tallyPropertyNames, textName } from './properties.ts';
import { inStripe, STATE_PROPERTIES, stateFrom, STRIPES, type StripeState } from './stripes.ts';

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

/** A `day` row, or its properties that were read: the counts of one stripe of a shard on the day. */
export interface StripeRow extends StripeState {
  readonly tally: Tally;
  /** By hour of the day, 0 to 23; the hours that have events. */
  readonly hours: Buckets;
  readonly cameras: CameraList;
}

export const NO_CAMERAS: CameraList = { ids: [], indexes: new Map(), texts: [] };

export const EMPTY_STRIPE: StripeRow = {
  stripes: 1,
  mark: 0,
  tally: EMPTY_TALLY,
  hours: NO_BUCKETS,
  cameras: NO_CAMERAS,
};

/** UTF-16 units of a text: a string property holds 32K. */
const MAX_TEXT = 32_000;

/** Most UTF-16 units of all texts together: 200,000 characters take 400 KB, and the row with everything else at its limit stays below 1 MiB. */
const MAX_LIST = 200_000;

const MAX_TEXTS = Math.ceil(MAX_LIST / (MAX_TEXT - 129));
const CAMERAS = 'cameras';

/** The damage if other rows of a stripe name a camera or a category that its `day` row does not list. */
export const listsTooShort = (partition: string, stripe: number): DamagedRow =>
  new DamagedRow(partition, inStripe(DAY_KEY, stripe), 'its lists lack a camera or a category that other rows have');

export const hasRoom = ({ ids, texts }: CameraList, more: readonly string[]): boolean =>
  ids.length + more.length <= MAX_CAMERAS_PER_SHARD &&
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

/** The properties to read of a `day` row, in addition to its state. */
export interface StripeDetail {
  /** Its tally, which also names the categories. */
  readonly tally: boolean;
  readonly cameras: boolean;
  /** The hours whose buckets are needed. */
  readonly hours: readonly number[];
}

export const stripeProperties = ({ tally, cameras, hours }: StripeDetail): readonly string[] => [
  ...STATE_PROPERTIES,
  ...(tally ? tallyPropertyNames(DAY_TALLY) : []),
  ...(cameras ? Array.from({ length: MAX_TEXTS }, (_, index) => textName(CAMERAS, index)) : []),
  ...bucketProperties(hours),
];

/** A `day` row, or its properties that were read; the others are empty. */
export const stripeRowFrom = (row: StoredRow, { tally }: Pick<StripeDetail, 'tally'> = { tally: true }): StripeRow =>
  decodingRow(row, () => ({
    ...stateFrom(row),
    tally: tally ? readDay(row.properties) : EMPTY_TALLY,
    hours: bucketsFrom(row),
    cameras: cameraListFrom(readTexts(CAMERAS, row.properties)),
  }));

/** Whether a row still says what the stripe counted: only its state may differ. */
export const hasSameCounts = (row: StoredRow, before: StripeRow): boolean => {
  const stored = unlessDamaged(() => stripeRowFrom(row));
  return stored !== undefined && isDeepStrictEqual(countsOf(stored), countsOf(before));
};

const countsOf = (row: StripeRow): NewProperties =>
  stripeWrite(1, undefined, undefined, row, row.hours.keys()).properties;

/** Writes what a commit changes in a stripe's row, under the key of stripe 0. `before` is the stored row. */
export const stripeWrite = (
  stripe: number,
  etag: string | undefined,
  before: StripeRow | undefined,
  { tally, hours, cameras }: StripeRow,
  changedHours: Iterable<number>,
): StoringWrite => {
  const texts = cameras.texts.flatMap((text, index): [string, string][] =>
    before?.cameras.texts[index] === text ? [] : [[textName(CAMERAS, index), text]],
  );
  return writeOf(DAY_KEY, etag, {
    ...(before === undefined && stripe === 0 && { [STRIPES]: 1 }),
    ...tallyProperties(DAY_TALLY, tally, 'day'),
    ...bucketValues(hours, changedHours),
    ...Object.fromEntries(texts),
  });
};
