import { DecodeError, decodingRow } from '../../storage/errors.ts';
import { type PropertyValue, type StoredRow, type StoringWrite, writeOf } from '../../storage/row.ts';
import { hourOfMinute } from '../model/day.ts';
import { EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import { indexesOf } from './bitset.ts';
import { DAY_TALLY, numberedName, readDay, readNumberedBytes, readTallyText, tallyProperties } from './properties.ts';
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
  /** Of the day. */
  readonly tally: Tally;
  /** The hours (0 to 23) that were read and have events. */
  readonly hours: ReadonlyMap<number, CameraHour>;
}

export const EMPTY_CAMERA: CameraRow = { tally: EMPTY_TALLY, hours: new Map() };

const HOUR = 'hour_';
const MINUTES = 'minutes_';
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

export const CAMERA_DAY_PROPERTIES: readonly string[] = [DAY_TALLY];

/** The properties that hold the day's tally, the tallies of some hours, and the minutes of some hours. */
export const cameraProperties = (hours: Iterable<number>, minutesOfHours: Iterable<number>): readonly string[] => [
  DAY_TALLY,
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

export const minutesOf = (row: CameraRow, hour: number): ReadonlyMap<number, Tally> =>
  readMinutes(row.hours.get(hour)?.minutes ?? new Uint8Array(), row.tally);

/** The day's tally of a camera. To look for its hours takes three times as long. */
export const cameraDayFrom = (row: StoredRow): Tally => decodingRow(row, () => readDay(row.properties));

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
    return { tally: readDay(row.properties), hours };
  });

/** A camera's row with differences added, each to its minute of the day (0 to 1439). */
export const addToCamera = (
  row: CameraRow,
  differences: readonly (readonly [minute: number, difference: Tally])[],
): CameraRow => {
  const sum = (some: typeof differences): Tally => sumOf(some.map(([, difference]) => difference));
  const tally = plus(row.tally, sum(differences));
  const indexes = indexesOf(tally.categories.keys());
  const hours = new Map(row.hours);
  for (const [hour, own] of Map.groupBy(differences, ([minute]) => hourOfMinute(minute))) {
    const { tally: before, minutes: bytes, last: lastBefore } = row.hours.get(hour) ?? EMPTY_HOUR;
    // Minutes before the changed minutes keep their bytes.
    const first = Math.min(...own.map(([minute]) => minute % 60));
    const kept = lastBefore !== undefined && first >= lastBefore.minute ? lastBefore.start : 0;
    const minutes = new Map(readMinutes(bytes.subarray(kept), row.tally));
    for (const [minute, difference] of own) {
      minutes.set(minute % 60, plus(minutes.get(minute % 60) ?? EMPTY_TALLY, difference));
    }
    const writer = new ByteWriter();
    let last = { minute: 0, start: 0 };
    for (const [minute, ofMinute] of [...minutes].sort(([left], [right]) => left - right)) {
      last = { minute, start: kept + writer.length };
      writer.count(minute);
      writeTally(writer, ofMinute, indexes);
    }
    // Node cuts small buffers out of blocks, and a remembered buffer keeps its block: so copy it.
    const after = new Uint8Array(Buffer.concat([bytes.subarray(0, kept), writer.bytes()]));
    hours.set(hour, { tally: plus(before, sum(own)), minutes: after, last });
  }
  return { tally, hours };
};

const EMPTY_HOUR: CameraHour = { tally: EMPTY_TALLY, minutes: new Uint8Array() };

/** Writes the day's tally and some hours of a camera's row; `etag` undefined: the row is not stored yet. */
export const cameraWrite = (
  rowKey: string,
  etag: string | undefined,
  row: CameraRow,
  changed: Iterable<number>,
): StoringWrite => {
  const written = new Set(changed);
  const properties: Record<string, PropertyValue> = tallyProperties(DAY_TALLY, row.tally, 'day');
  for (const [hour, { tally, minutes }] of row.hours) {
    if (!written.has(hour)) continue;
    properties[numberedName(MINUTES, hour)] = minutes;
    Object.assign(properties, tallyProperties(numberedName(HOUR, hour), tally, 'hour'));
  }
  return writeOf(rowKey, etag, properties);
};
