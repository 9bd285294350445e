import { DamagedRow, DecodeError, decodingRow } from '../../storage/errors.ts';
import { ANY_VERSION, type NewProperties, type StoredRow, type StoringWrite, writeOf } from '../../storage/row.ts';
import type { Hour } from '../model/day.ts';
import { MAX_ID_LENGTH } from '../model/identifier.ts';
import { type DayTally, EMPTY_TALLY } from '../model/tally.ts';
import { indexesOf, MAX_CAMERAS_PER_STRIPE } from './bitset.ts';
import { type Bucket, type Buckets, bucketsPart, bucketValues, hoursFrom } from './buckets.ts';
import { counterKey, DAY_00, DAY_COUNTER } from './keys.ts';
import type { PartOf, RowPart } from './part.ts';
import { namesProperties, namesValues, readNames, readTally, TALLY_PROPERTIES, tallyValues } from './properties.ts';

/**
 * The active cameras of a stripe's day, in the order of their first events. The list is only appended to, so a list that was read
 * later than an index has its id.
 */
export interface CameraList {
  readonly ids: readonly string[];
  /** Camera → its index in `ids`. */
  readonly indexes: ReadonlyMap<string, number>;
  /** The length of the stored ids in UTF-16 units, including a line end for each. */
  readonly units: number;
}

/** A whole `day|05` row: the counts of one stripe of a shard on the day. */
export interface DayRow {
  readonly tally: DayTally;
  readonly hours: Buckets<Hour>;
  readonly cameras: CameraList;
}

export const NO_CAMERAS: CameraList = { ids: [], indexes: new Map(), units: 0 };

export const EMPTY_DAY: DayRow = { tally: EMPTY_TALLY, hours: new Map(), cameras: NO_CAMERAS };

// State

/**
 * Why a day accepts no commit: `closed` for good, or `rebuilding` its counters. One transaction writes it into the `day` rows of all stripes of a
 * shard.
 */
export type Seal = 'closed' | 'rebuilding';

/** The state of a shard that its `day` row has, in addition to counts. */
export interface DayState {
  /** In stripe 0 only; true: other stripes may have rows, too. It never becomes false again. */
  readonly isStriped: boolean;
  readonly sealed: Seal | undefined;
}

const [STRIPED, SEALED] = ['striped', 'sealed'];

const readState = (row: StoredRow): DayState =>
  decodingRow(row, () => {
    const { [STRIPED]: striped = false, [SEALED]: sealed = '' } = row.properties;
    if (typeof striped !== 'boolean') throw new DecodeError('striped is not true or false');
    // An empty text: a seal was removed. A merge cannot remove a property.
    if (sealed !== 'closed' && sealed !== 'rebuilding' && sealed !== '') throw new DecodeError('its seal is unknown');
    return { isStriped: striped, sealed: sealed === '' ? undefined : sealed };
  });

/** The state alone. */
export const DAY_STATE: RowPart<DayState> = { select: [STRIPED, SEALED], from: readState };

/** The properties that set the seal of a day row, or take it away (undefined). */
export const sealProperties = (sealed: Seal | undefined): NewProperties => ({ [SEALED]: sealed ?? '' });

/** The properties of a day row without counts, to insert. */
export const EMPTY_DAY_PROPERTIES: NewProperties = tallyValues(EMPTY_TALLY, undefined);

/** The property that says that stripes other than 0 may have rows. */
export const STRIPED_PROPERTIES: NewProperties = { [STRIPED]: true };

/**
 * The write that the first commit of another stripe makes in stripe 0: from now on readers ask for all stripes.
 *
 * @param isStored whether stripe 0 has its `day` row
 */
export const stripedWrite = (isStored: boolean): StoringWrite =>
  isStored
    ? // Stripe 0's writer changes other properties of this row all the time.
      { kind: 'merge', rowKey: DAY_00, etag: ANY_VERSION, properties: STRIPED_PROPERTIES }
    : { kind: 'insert', rowKey: DAY_00, properties: { ...EMPTY_DAY_PROPERTIES, ...STRIPED_PROPERTIES } };

// Lists

/** The maximum number of UTF-16 units of the ids: 200,000 characters take 400 KB, and the row with everything else at its limit stays below 1 MiB. */
const MAX_UNITS = 200_000;

const CAMERAS = 'cameras';

/** The damage if other rows of a stripe name a camera or a category that its `day` row does not list. */
export const listsTooShort = (partition: string, stripe: number): DamagedRow =>
  new DamagedRow(
    partition,
    counterKey(DAY_COUNTER, stripe),
    'its lists lack a camera or a category that other rows have',
  );

export const hasRoom = ({ ids, units }: CameraList, more: readonly string[]): boolean =>
  ids.length + more.length <= MAX_CAMERAS_PER_STRIPE && units + unitsOf(more) <= MAX_UNITS;

const unitsOf = (ids: readonly string[]): number => ids.reduce((units, id) => units + id.length + 1, 0);

/** The list with cameras appended; known cameras are skipped. */
export const withCameras = (list: CameraList, cameraIds: Iterable<string>): CameraList => {
  const added = [...new Set(cameraIds)].filter((id) => !list.indexes.has(id));
  if (added.length === 0) return list;
  const ids = [...list.ids, ...added];
  return { ids, indexes: indexesOf(ids), units: list.units + unitsOf(added) };
};

/** Its indexes and units are computed on first use: readers need only the ids. */
const readCameras = (row: StoredRow): CameraList =>
  decodingRow(row, () => {
    const ids = readNames(CAMERAS, row.properties);
    let indexes: ReadonlyMap<string, number> | undefined;
    let units: number | undefined;
    return {
      ids,
      get indexes() {
        return (indexes ??= indexesOf(ids));
      },
      get units() {
        return (units ??= unitsOf(ids));
      },
    };
  });

// Reading and writing

/** The tally with the figures of accuracy, and the state. */
export const DAY_TALLY: RowPart<DayState & Pick<DayRow, 'tally'>> = {
  select: [...DAY_STATE.select, ...TALLY_PROPERTIES],
  from: (row) => ({ ...readState(row), tally: decodingRow(row, () => readTally(row.properties)) }),
};

const CAMERA_PROPERTIES = namesProperties(CAMERAS, MAX_UNITS, MAX_ID_LENGTH + 1);

/** The tally, which names the categories; the cameras; some hours; and the state. */
export const dayPart = (
  hours: readonly Hour[],
): RowPart<DayState & Pick<DayRow, 'tally' | 'cameras'> & { readonly hours: PartOf<Hour, Bucket> }> => {
  const buckets = bucketsPart(hours);
  return {
    select: [...DAY_TALLY.select, ...CAMERA_PROPERTIES, ...buckets.select],
    from: (row) => ({ ...DAY_TALLY.from(row), cameras: readCameras(row), hours: buckets.from(row) }),
  };
};

/** A whole row. */
export const dayRowFrom = (row: StoredRow): DayRow & DayState => ({
  ...DAY_TALLY.from(row),
  hours: hoursFrom(row),
  cameras: readCameras(row),
});

/** Writes what a commit changes in the `day` row of a stripe. `before`: the stored row; undefined if the write inserts it. */
export const dayWrite = (
  stripe: number,
  before: { readonly etag: string; readonly value: DayRow } | undefined,
  { tally, hours, cameras }: DayRow,
  changedHours: Iterable<Hour>,
): StoringWrite =>
  writeOf(counterKey(DAY_COUNTER, stripe), before?.etag, {
    ...tallyValues(tally, before?.value.tally),
    ...bucketValues(hours, changedHours),
    ...(before?.value.cameras.ids.length !== cameras.ids.length && namesValues(CAMERAS, cameras.ids)),
  });
