import { DecodeError, decodingRow, type NewProperties, type PropertyValue, type StoredRow } from '../../storage/row.ts';
import {
  type Hour,
  hourOf,
  HOURS,
  isMinuteOfHour,
  minuteOfHour,
  type MinuteOfDay,
  type MinuteOfHour,
} from '../model/day.ts';
import { type DayTally, EMPTY_TALLY, sumOf, type Tally } from '../model/tally.ts';
import { twoDigits } from './keys.ts';
import {
  ByteReader,
  indexesOf,
  readBytes,
  readTally,
  readTallyBytes,
  TALLY_PROPERTIES,
  tallyValues,
  writeCount,
  writeTally,
} from './properties.ts';

/** A whole `camera|ridge-04|05` row. */
export interface CameraRow {
  /** The counts of the day. */
  readonly tally: DayTally;
  /** By hour: the minutes that have events, each with its tally, in bytes. */
  readonly hours: ReadonlyMap<Hour, Uint8Array>;
}

export const EMPTY_CAMERA: CameraRow = { tally: EMPTY_TALLY, hours: new Map() };

const minutesName = (hour: Hour): string => `minutes_${twoDigits(hour)}`;

/** The day's tally of a camera alone. */
export const CAMERA_DAY = {
  select: TALLY_PROPERTIES,
  from: (row: StoredRow): DayTally => decodingRow(row, () => readTally(row.properties)),
} as const;

export const cameraRowFrom = (row: StoredRow): CameraRow =>
  decodingRow(row, () => {
    const hours = new Map<Hour, Uint8Array>();
    for (const hour of HOURS) {
      const minutes = readBytes(minutesName(hour), row.properties);
      if (minutes !== undefined) hours.set(hour, minutes);
    }
    return { tally: readTally(row.properties), hours };
  });

/** The minutes of an hour in which a camera sent events. Their bytes are decoded only if they are needed. @throws {DecodeError} */
export const minutesIn = ({ tally, hours }: CameraRow, hour: Hour): ReadonlyMap<MinuteOfHour, Tally> =>
  minutesFrom(hours.get(hour) ?? new Uint8Array(), [...tally.categories.keys()]);

const minutesFrom = (bytes: Uint8Array, categories: readonly string[]): Map<MinuteOfHour, Tally> => {
  const minutes = new Map<MinuteOfHour, Tally>();
  const reader = new ByteReader(bytes);
  let before = -1;
  while (!reader.done) {
    const minute = reader.count();
    if (minute <= before || !isMinuteOfHour(minute)) throw new DecodeError('minutes are not in order');
    before = minute;
    const tally = readTallyBytes(reader, categories);
    // One row has both, as of one write: a minute without its category is damage, not an older read.
    if (tally === undefined) throw new DecodeError('a minute has a category that the day lacks');
    minutes.set(minute, tally);
  }
  return minutes;
};

/** The offset of the first stored minute that is not before `minute`, in bytes. */
const startOf = (minute: number, bytes: Uint8Array): number => {
  const reader = new ByteReader(bytes);
  for (;;) {
    const start = reader.position;
    if (reader.done || reader.count() >= minute) return start;
    reader.skipTally();
  }
};

/** A camera's row with differences added, each to its minute. */
export const addToCamera = (
  row: CameraRow,
  changes: readonly { readonly minute: MinuteOfDay; readonly difference: DayTally }[],
): CameraRow => {
  const tally = sumOf([row.tally, ...changes.map(({ difference }) => difference)]);
  const indexes = indexesOf(tally.categories.keys());
  const hours = new Map(row.hours);
  for (const [hour, some] of Map.groupBy(changes, ({ minute }) => hourOf(minute))) {
    const before = row.hours.get(hour) ?? new Uint8Array();
    // Minutes before the first changed minute keep their bytes: most frames are in the last minute, or after it.
    const kept = before.subarray(0, startOf(Math.min(...some.map(({ minute }) => minuteOfHour(minute))), before));
    const minutes = minutesFrom(before.subarray(kept.length), [...row.tally.categories.keys()]);
    for (const { minute, difference } of some) {
      const number = minuteOfHour(minute);
      minutes.set(number, sumOf([minutes.get(number) ?? EMPTY_TALLY, difference]));
    }
    const bytes: number[] = [];
    for (const [minute, ofMinute] of [...minutes].sort(([left], [right]) => left - right)) {
      writeCount(bytes, minute);
      writeTally(bytes, ofMinute, indexes);
    }
    const all = new Uint8Array(kept.length + bytes.length);
    all.set(kept);
    all.set(bytes, kept.length);
    hours.set(hour, all);
  }
  return { tally, hours };
};

/** The day's tally and some hours of a camera's row, to write. `before`: the stored row; undefined if the write inserts it. */
export const cameraValues = (
  { tally, hours }: CameraRow,
  before: CameraRow | undefined,
  changed: Iterable<Hour>,
): NewProperties => {
  const properties: Record<string, PropertyValue | undefined> = { ...tallyValues(tally, before?.tally) };
  for (const hour of changed) properties[minutesName(hour)] = hours.get(hour);
  return properties;
};
