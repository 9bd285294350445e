import { hourOfMinute } from '../model/day.ts';
import { cameraKey } from './keys.ts';
import { ByteReader, ByteWriter } from './byte-stream.ts';
import { placesOf, readTally, writeTally } from './tally-bytes.ts';
import { tallyFromProperties, tallyProperties } from './tally-text.ts';
import { EMPTY_TALLY, plus, type Tally } from '../model/tally.ts';
import { writeOf, type PropertyValue, type RowWrite } from './table.ts';
import { twoDigits } from './two-digits.ts';

/** Most categories of one camera in one day. */
export const MAX_CAMERA_CATEGORIES = 64;

/** One hour of a camera: its tally, and a tally for each minute (0 to 59) that has events, as {@link minutesOf} reads it. */
export interface CameraHour {
  readonly tally: Tally;
  readonly minutes: Uint8Array;
  /** Its last minute and where that starts in `minutes`, where known: most events are in it, or after it. */
  readonly last?: { readonly minute: number; readonly at: number };
}

/** A camera's day, or what was read of it. */
export interface CameraDay {
  /** Its place in the shard's list of active cameras. */
  readonly place: number;
  readonly tally: Tally;
  /** The hours (0 to 23) that have events, of those that were read. */
  readonly hours: ReadonlyMap<number, CameraHour>;
}

/** The day of a camera that sent nothing yet, and its place in the shard's list. */
export const emptyCameraDay = (place: number): CameraDay => ({ place, tally: EMPTY_TALLY, hours: new Map() });

const hourProperty = (hour: number): string => `h${twoDigits(hour)}`;
const minutesProperty = (hour: number): string => `m${twoDigits(hour)}`;

/** The properties to read for the day's tally alone, and the camera's place. */
export const CAMERA_DAY_PROPERTIES: readonly string[] = ['day', 'place'];

/** The properties to read for the day's tally, some hours' tallies, and the minutes of some hours. */
export const cameraProperties = (hours: Iterable<number>, minutesOfHours: Iterable<number>): readonly string[] => [
  ...CAMERA_DAY_PROPERTIES,
  ...[...hours].map(hourProperty),
  ...[...minutesOfHours].map(minutesProperty),
];

const minutesBytes = (
  before: Uint8Array,
  minutes: ReadonlyMap<number, Tally>,
  places: ReadonlyMap<string, number>,
): Pick<CameraHour, 'minutes' | 'last'> => {
  const writer = new ByteWriter();
  let last = { minute: 0, at: 0 };
  for (const [minute, tally] of [...minutes].sort(([left], [right]) => left - right)) {
    last = { minute, at: before.length + writer.length };
    writer.count(minute);
    writeTally(writer, tally, places);
  }
  return { minutes: Buffer.concat([before, writer.bytes()]), last };
};

/**
 * The minutes (0 to 59) of an hour of a camera's day.
 *
 * @throws {TypeError} where they are not what this module writes
 */
export const minutesOf = (day: CameraDay, hour: number): ReadonlyMap<number, Tally> =>
  readMinutes(day.hours.get(hour)?.minutes ?? new Uint8Array(), day.tally);

const readMinutes = (bytes: Uint8Array, { categories: ofDay }: Tally): ReadonlyMap<number, Tally> => {
  const categories = [...ofDay.keys()];
  const minutes = new Map<number, Tally>();
  const reader = new ByteReader(bytes);
  while (!reader.done) {
    const minute = reader.count();
    const tally = readTally(reader, categories);
    // The list of categories is in the same row: it cannot be older than its minutes.
    if (tally === undefined) throw new TypeError('a stored camera is damaged');
    minutes.set(minute, tally);
  }
  return minutes;
};

/**
 * A camera row, or the part of it that was read → the camera's day.
 *
 * @throws {TypeError} where the row is not what {@link cameraWrite} writes
 */
export const cameraDayFrom = (properties: Readonly<Record<string, unknown>>): CameraDay => {
  const tally = tallyFromProperties('day', properties);
  const { place } = properties;
  if (tally === undefined || typeof place !== 'number') throw new TypeError('a stored camera is damaged');
  const hours = new Map<number, CameraHour>();
  for (let hour = 0; hour < 24; hour += 1) {
    const ofHour = tallyFromProperties(hourProperty(hour), properties);
    const minutes = properties[minutesProperty(hour)] ?? new Uint8Array();
    if (!(minutes instanceof Uint8Array)) throw new TypeError('a stored camera is damaged');
    if (ofHour !== undefined || minutes.length > 0) hours.set(hour, { tally: ofHour ?? EMPTY_TALLY, minutes });
  }
  return { place, tally, hours };
};

/**
 * The day with a difference added.
 *
 * @param minute minute of the day, 0 to 1439
 */
export const addToCamera = (day: CameraDay, minute: number, difference: Tally): CameraDay => {
  const hour = hourOfMinute(minute);
  const before = day.hours.get(hour);
  const tally = plus(day.tally, difference);
  // Only what is at or after the event's minute is written anew.
  const bytes = before?.minutes ?? new Uint8Array();
  const from = before?.last !== undefined && minute % 60 >= before.last.minute ? before.last.at : 0;
  const minutes = new Map(readMinutes(bytes.subarray(from), day.tally));
  minutes.set(minute % 60, plus(minutes.get(minute % 60) ?? EMPTY_TALLY, difference));
  const ofHour: CameraHour = {
    tally: plus(before?.tally ?? EMPTY_TALLY, difference),
    ...minutesBytes(bytes.subarray(0, from), minutes, placesOf(tally.categories.keys())),
  };
  return { place: day.place, tally, hours: new Map(day.hours).set(hour, ofHour) };
};

/** Writes the day's tally, the place, and the hours named of a camera's day; `etag` undefined: there is no row yet. */
export const cameraWrite = (
  cameraId: string,
  etag: string | undefined,
  day: CameraDay,
  hours: Iterable<number>,
): RowWrite => {
  const rowKey = cameraKey(cameraId);
  const properties: Record<string, PropertyValue> = { ...tallyProperties('day', day.tally), place: day.place };
  for (const hour of hours) {
    const ofHour = day.hours.get(hour);
    if (ofHour === undefined) continue;
    Object.assign(properties, tallyProperties(hourProperty(hour), ofHour.tally));
    properties[minutesProperty(hour)] = ofHour.minutes;
  }
  return writeOf(rowKey, etag, properties);
};
