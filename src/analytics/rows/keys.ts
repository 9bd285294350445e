import type { Day } from '../model/day.ts';
import { twoDigits } from './two-digits.ts';

// A key may not have / \ # ? and had better not have %; | is our own separator. Each has a full-width twin that may be in a
// key and reads alike. Where an id has the twin itself, a noncharacter stands for it, which no id has. So it is one
// character for one, both ways, and no id grows: 128 + 128 characters and the row's prefix stay far below the 512 of a key.
const ESCAPES: readonly (readonly [plain: string, escaped: string])[] = [
  ['/', '\uFF0F'],
  ['\\', '\uFF3C'],
  ['#', '\uFF03'],
  ['?', '\uFF1F'],
  ['%', '\uFF05'],
  ['|', '\uFF5C'],
  ['\uFF0F', '\uFDD0'],
  ['\uFF3C', '\uFDD1'],
  ['\uFF03', '\uFDD2'],
  ['\uFF1F', '\uFDD3'],
  ['\uFF05', '\uFDD4'],
  ['\uFF5C', '\uFDD5'],
  ['\u2028', '\uFDD6'],
  ['\u2029', '\uFDD7'],
];
const ESCAPED = new Map(ESCAPES);
const PLAIN = new Map(ESCAPES.map(([plain, escaped]) => [escaped, plain]));

/** An id as keys and lists of ids keep it. */
export const escapeId = (id: string): string =>
  id.replace(/[/\\#?%|\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\u2028\u2029]/g, (plain) => ESCAPED.get(plain) ?? plain);

/** What {@link escapeId} made → the id. */
export const unescapeId = (text: string): string =>
  text.replace(/[\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\uFDD0-\uFDD7]/g, (escaped) => PLAIN.get(escaped) ?? escaped);

/** From the first key of a range to just before the key after its last. */
export interface KeyRange {
  readonly from: string;
  readonly before: string;
}

/** All keys that start with a text that ends with the separator. */
const keysUnder = (prefix: `${string}|`): KeyRange => ({ from: prefix, before: `${prefix.slice(0, -1)}}` });

/** Partition of a day's `shards` row. */
export const dayPartition = (day: Day): string => day;

/** Partition of one shard of a day: `2026-11-21_00`. */
export const shardPartition = (day: Day, shard: number): string => `${day}_${twoDigits(shard)}`;

/** Row that says how many shards the day has. */
export const SHARDS_KEY = 'shards';

/** Row of the shard's tally for the day and its active cameras. */
export const TOTAL_KEY = 'total';

/** Row that continues the list of active cameras, 1 to n. */
export const camerasKey = (part: number): string => `cameras|${String(part).padStart(4, '0')}`;

/** Row of the hours of the shard's day. */
export const HOURS_KEY = 'hours';

/** Row of one hour of the shard (0 to 23), minute by minute. */
export const hourKey = (hour: number): string => `hour|${twoDigits(hour)}`;

/** A minute of the day, 0 to 1439 → `0815`. */
const clockOf = (minute: number): string => twoDigits(Math.floor(minute / 60)) + twoDigits(minute % 60);

/** Row of one minute of the shard (0 to 1439), moment by moment. */
export const minuteKey = (minute: number): string => `minute|${clockOf(minute)}`;

/** Row of one camera's day. */
export const cameraKey = (cameraId: string): string => `camera|${escapeId(cameraId)}`;

/** Row of one event; the minute is the minute of the day, 0 to 1439. */
export const eventKey = (minute: number, cameraId: string, eventId: string): string =>
  `${minutePrefix(minute)}${escapeId(cameraId)}|${escapeId(eventId)}`;

const minutePrefix = (minute: number): `event|${string}|` => `event|${clockOf(minute)}|`;

/** All camera rows. */
export const ALL_CAMERAS: KeyRange = keysUnder('camera|');

/** All hour rows. */
export const ALL_HOURS: KeyRange = keysUnder('hour|');

const ALL_MINUTES: KeyRange = keysUnder('minute|');

/** The minute rows of an hour of the day, 0 to 23; together these ranges have every key that looks like one of a minute row. */
export const minutesOfHour = (hour: number): KeyRange => ({
  from: hour === 0 ? ALL_MINUTES.from : minuteKey(hour * 60),
  before: hour === 23 ? ALL_MINUTES.before : minuteKey((hour + 1) * 60),
});

/** All event rows. */
export const ALL_EVENTS: KeyRange = keysUnder('event|');

/** The event rows of a minute of the day, of all cameras or one. */
export const eventsOfMinute = (minute: number, cameraId?: string): KeyRange =>
  cameraId === undefined ? keysUnder(minutePrefix(minute)) : keysUnder(`${minutePrefix(minute)}${escapeId(cameraId)}|`);

/** Two digits each of an hour and a minute that exist → the minute of the day, 0 to 1439. */
const minuteOfClock = (clock: string): number | undefined =>
  /^([01]\d|2[0-3])[0-5]\d$/.test(clock) ? Number(clock.slice(0, 2)) * 60 + Number(clock.slice(2)) : undefined;

/**
 * The hour (0 to 23) that an hour row's key names.
 *
 * @throws {RangeError} where the key is not one of an hour row
 */
export const parseHourKey = (key: string): number => {
  const [kind, hour = '', ...rest] = key.split('|');
  const minute = minuteOfClock(`${hour}00`);
  if (kind !== 'hour' || minute === undefined || rest.length > 0) throw new RangeError('not the key of an hour row');
  return minute / 60;
};

/**
 * The minute of the day (0 to 1439) that a minute row's key names.
 *
 * @throws {RangeError} where the key is not one of a minute row
 */
export const parseMinuteKey = (key: string): number => {
  const [kind, clock = '', ...rest] = key.split('|');
  const minute = minuteOfClock(clock);
  if (kind !== 'minute' || minute === undefined || rest.length > 0) throw new RangeError('not the key of a minute row');
  return minute;
};

/**
 * The camera that a camera row's key names.
 *
 * @throws {RangeError} where the key is not one of a camera row
 */
export const parseCameraKey = (key: string): string => {
  const [kind, camera, ...rest] = key.split('|');
  if (kind !== 'camera' || camera === undefined || rest.length > 0) throw new RangeError('not the key of a camera row');
  return unescapeId(camera);
};

/**
 * What an event row's key names.
 *
 * @throws {RangeError} where the key is not one of an event row
 */
export const parseEventKey = (key: string): { minute: number; cameraId: string; eventId: string } => {
  const [kind, clock = '', camera, event, ...rest] = key.split('|');
  const minute = minuteOfClock(clock);
  if (kind !== 'event' || minute === undefined || camera === undefined || event === undefined || rest.length > 0) {
    throw new RangeError('not the key of an event row');
  }
  return {
    minute,
    cameraId: unescapeId(camera),
    eventId: unescapeId(event),
  };
};
