import { DamagedRow } from '../../storage/errors.ts';
import {
  DecodeError,
  decodingRow,
  type NewProperties,
  type Properties,
  type StoredRow,
  type StoringWrite,
  writeOf,
} from '../../storage/row.ts';
import { type Hour, HOURS } from '../model/day.ts';
import { type DayTally, EMPTY_TALLY } from '../model/tally.ts';
import { indexesOf, namesValues, readNames, readTally, TALLY_PROPERTIES, tallyValues } from './properties.ts';
import { type Buckets, bucketValues, MAX_CAMERAS_PER_STRIPE, readBuckets } from './buckets.ts';
import { counterKey, type CounterKey, DAY_COUNTER } from './keys.ts';

/** A whole `day|05` row: the counts of one stripe of a shard on the day. */
export interface DayRow {
  readonly tally: DayTally;
  readonly hours: Buckets<Hour>;
  /**
   * The index of each active camera, in the order of their first events. The list is only appended to, so a list that was read later than an
   * index has its id.
   */
  readonly cameras: ReadonlyMap<string, number>;
}

export const EMPTY_DAY: DayRow = { tally: EMPTY_TALLY, hours: new Map(), cameras: new Map() };

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

const readState = ({ [STRIPED]: striped = false, [SEALED]: sealed = '' }: Properties): DayState => {
  if (typeof striped !== 'boolean') throw new DecodeError('striped is not true or false');
  // An empty text: a seal was removed. A merge cannot remove a property.
  if (sealed !== 'closed' && sealed !== 'rebuilding' && sealed !== '') throw new DecodeError('its seal is unknown');
  return { isStriped: striped, sealed: sealed === '' ? undefined : sealed };
};

/** The state alone. */
export const DAY_STATE = {
  select: [STRIPED, SEALED],
  from: (row: StoredRow): DayState => decodingRow(row, () => readState(row.properties)),
} as const;

/** The tally and the state: a row with thousands of cameras is a hundred times larger. */
export const DAY_TALLY = {
  select: [...DAY_STATE.select, ...TALLY_PROPERTIES],
  from: (row: StoredRow): DayState & Pick<DayRow, 'tally'> =>
    decodingRow(row, () => ({ ...readState(row.properties), tally: readTally(row.properties) })),
} as const;

/** The properties that set the seal of a day row, or take it away (undefined). */
export const sealProperties = (sealed: Seal | undefined): NewProperties => ({ [SEALED]: sealed ?? '' });

/** The property that says that stripes other than 0 may have rows. */
export const STRIPED_PROPERTIES: NewProperties = { [STRIPED]: true };

/**
 * Writes the state of a stripe in its `day` row, which has no counts yet if it is not stored.
 *
 * @param etag undefined: it is not stored. {@link ANY_VERSION}: the writer of the stripe changes other properties all the time.
 */
export const stateWrite = (rowKey: CounterKey, etag: string | undefined, state: NewProperties): StoringWrite =>
  writeOf(rowKey, etag, etag === undefined ? { ...tallyValues(EMPTY_TALLY, undefined), ...state } : state);

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

/** Whether a list of cameras, a line for each id, has room for one more. */
export const hasRoom = (cameras: ReadonlyMap<string, number>, cameraId: string): boolean => {
  let units = cameraId.length + 1;
  for (const id of cameras.keys()) units += id.length + 1;
  return cameras.size < MAX_CAMERAS_PER_STRIPE && units <= MAX_UNITS;
};

// Reading and writing

export const dayRowFrom = (row: StoredRow): DayRow & DayState =>
  decodingRow(row, () => {
    const cameras = indexesOf(readNames(CAMERAS, row.properties));
    return {
      ...readState(row.properties),
      tally: readTally(row.properties),
      hours: readBuckets(HOURS, row.properties, cameras.size),
      cameras,
    };
  });

/** The changes of a commit in the `day` row of a stripe, to write. `before`: the stored row; undefined if the write inserts it. */
export const dayValues = (
  { tally, hours, cameras }: DayRow,
  before: DayRow | undefined,
  changedHours: Iterable<Hour>,
): NewProperties => ({
  ...tallyValues(tally, before?.tally),
  ...bucketValues(hours, changedHours),
  ...(before?.cameras.size !== cameras.size && namesValues(CAMERAS, cameras.keys())),
});
