import { DecodeError, decodingRow } from '../../storage/errors.ts';
import { type PropertyValue, type StoringWrite, type StoredRow, writeOf } from '../../storage/row.ts';
import { hourOfMinute } from '../model/day.ts';
import { addTo, EMPTY_TALLY, plus, type Tally } from '../model/tally.ts';
import { indexesOf, MAX_CAMERAS_PER_SHARD } from './bitset.ts';
import {
  DAY_TALLY,
  numberedBytes,
  numberedName,
  readDay,
  readNumberedBytes,
  readTallyText,
  readWhole,
  tallyProperties,
} from './properties.ts';
import { ByteReader, ByteWriter, readTally, writeTally } from './tally-bytes.ts';

/** One hour of a camera: its tally, and a tally for each minute (0 to 59) that has events, as {@link minutesOf} reads it. */
export interface CameraHour {
  readonly tally: Tally;
  readonly minutes: Uint8Array;
  /** Its last minute and the byte where that starts, where known: most events are in it, or after it. */
  readonly last?: { readonly minute: number; readonly start: number };
}

/** A `camera|ridge-04` row, or its properties that were read. */
export interface CameraRow {
  /** The camera's index in the shard's camera list. */
  readonly index: number;
  /** Of the day. */
  readonly tally: Tally;
  /** The hours (0 to 23) that were read and have events. */
  readonly hours: ReadonlyMap<number, CameraHour>;
}

/** The row of a camera that has no events yet. */
export const emptyCameraRow = (index: number): CameraRow => ({ index, tally: EMPTY_TALLY, hours: new Map() });

const INDEX = 'camera_index';
const HOUR = 'hour_';
const MINUTES = 'minutes_';
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** The properties that hold the day's tally and the camera's index. */
export const CAMERA_DAY_PROPERTIES: readonly string[] = [DAY_TALLY, INDEX];

/** The properties that hold the day's tally, the index, the tallies of some hours, and the minutes of some hours. */
export const cameraProperties = (hours: Iterable<number>, minutesOfHours: Iterable<number>): readonly string[] => [
  ...CAMERA_DAY_PROPERTIES,
  ...Array.from(hours, (hour) => numberedName(HOUR, hour)),
  ...Array.from(minutesOfHours, (hour) => numberedName(MINUTES, hour)),
];

const readMinutes = (bytes: Uint8Array, { categories: ofDay }: Tally): ReadonlyMap<number, Tally> => {
  const categories = [...ofDay.keys()];
  const minutes = new Map<number, Tally>();
  const reader = new ByteReader(bytes);
  let before = -1;
  while (!reader.done) {
    const minute = reader.count();
    if (minute <= before || minute >= 60) throw new DecodeError('minutes are not in order');
    before = minute;
    const tally = readTally(reader, categories);
    // The categories are in the same row: they cannot be older than its minutes.
    if (tally === undefined) throw new DecodeError('a minute has a category that the day lacks');
    minutes.set(minute, tally);
  }
  return minutes;
};

/** The minutes (0 to 59) of an hour of a camera's day. @throws {DecodeError} */
export const minutesOf = (row: CameraRow, hour: number): ReadonlyMap<number, Tally> =>
  readMinutes(row.hours.get(hour)?.minutes ?? new Uint8Array(), row.tally);

/** What a camera row says of the day as a whole. To look for its hours takes three times as long. @throws {DamagedRow} */
export const cameraDayFrom = (row: StoredRow): Pick<CameraRow, 'index' | 'tally'> =>
  decodingRow(row, () => ({
    tally: readDay(row.properties),
    index: readWhole(INDEX, row.properties, 0, MAX_CAMERAS_PER_SHARD - 1),
  }));

/** A camera row, or its properties that were read. @throws {DamagedRow} */
export const cameraRowFrom = (row: StoredRow): CameraRow =>
  decodingRow(row, () => {
    const minutes = readNumberedBytes(MINUTES, HOURS.length, row.properties);
    const hours = new Map<number, CameraHour>();
    for (const hour of HOURS) {
      const ofHour = readTallyText(numberedName(HOUR, hour), row.properties, 'hour');
      const ofMinutes = minutes.get(hour) ?? new Uint8Array();
      if (ofHour !== undefined || ofMinutes.length > 0) {
        hours.set(hour, { tally: ofHour ?? EMPTY_TALLY, minutes: ofMinutes });
      }
    }
    return { ...cameraDayFrom(row), hours };
  });

/** Differences to the counters of a camera. */
export interface CameraDifference {
  readonly day: Tally;
  /** By hour of the day, 0 to 23. */
  readonly hours: ReadonlyMap<number, Tally>;
  /** By minute of the day, 0 to 1439. */
  readonly minutes: ReadonlyMap<number, Tally>;
}

/** The hours of the day that a difference changes. */
export const hoursOf = ({ hours, minutes }: CameraDifference): ReadonlySet<number> =>
  new Set([...hours.keys(), ...Array.from(minutes.keys(), hourOfMinute)]);

/** A camera's row with a difference added. @throws {DecodeError} */
export const addToCamera = (row: CameraRow, difference: CameraDifference): CameraRow => {
  const tally = plus(row.tally, difference.day);
  const indexes = indexesOf(tally.categories.keys());
  const hours = new Map(row.hours);
  const byHour = Map.groupBy(difference.minutes, ([minute]) => hourOfMinute(minute));
  for (const hour of hoursOf(difference)) {
    const before = row.hours.get(hour) ?? EMPTY_HOUR;
    const changed = (byHour.get(hour) ?? []).map(([minute, added]) => [minute % 60, added] as const);
    hours.set(hour, {
      tally: plus(before.tally, difference.hours.get(hour) ?? EMPTY_TALLY),
      ...addToMinutes(before, new Map(changed), row.tally, indexes),
    });
  }
  return { index: row.index, tally, hours };
};

const EMPTY_HOUR: CameraHour = { tally: EMPTY_TALLY, minutes: new Uint8Array() };

/** The minutes of an hour with differences added, by minute of the hour. */
const addToMinutes = (
  { minutes: bytes, last: lastBefore }: CameraHour,
  differences: ReadonlyMap<number, Tally>,
  ofDay: Tally,
  indexes: ReadonlyMap<string, number>,
): Omit<CameraHour, 'tally'> => {
  if (differences.size === 0) return { minutes: bytes, ...(lastBefore && { last: lastBefore }) };
  // Minutes before the changed ones keep their bytes.
  const kept = lastBefore !== undefined && Math.min(...differences.keys()) >= lastBefore.minute ? lastBefore.start : 0;
  const minutes = new Map(readMinutes(bytes.subarray(kept), ofDay));
  for (const [minute, difference] of differences) addTo(minutes, minute, difference);
  const writer = new ByteWriter();
  let last = { minute: 0, start: 0 };
  for (const [minute, ofMinute] of [...minutes].sort(([left], [right]) => left - right)) {
    last = { minute, start: kept + writer.length };
    writer.count(minute);
    writeTally(writer, ofMinute, indexes);
  }
  // Node cuts small buffers out of blocks, and a remembered buffer keeps its block: so copy it.
  return { minutes: new Uint8Array(Buffer.concat([bytes.subarray(0, kept), writer.bytes()])), last };
};

/** Writes the day's tally, the index and some hours of a camera's row; `etag` undefined: the row is not stored yet. */
export const cameraWrite = (
  rowKey: string,
  etag: string | undefined,
  row: CameraRow,
  hours: Iterable<number>,
): StoringWrite => {
  const written = [...hours].filter((hour) => row.hours.has(hour));
  const properties: Record<string, PropertyValue> = {
    ...tallyProperties(DAY_TALLY, row.tally, 'day'),
    [INDEX]: row.index,
    ...numberedBytes(MINUTES, written, (hour) => row.hours.get(hour)?.minutes),
  };
  for (const hour of written) {
    const { tally = EMPTY_TALLY } = row.hours.get(hour) ?? {};
    Object.assign(properties, tallyProperties(numberedName(HOUR, hour), tally, 'hour'));
  }
  return writeOf(rowKey, etag, properties);
};
