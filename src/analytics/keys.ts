import type { Day } from './day.ts';
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

/** Row of one hour of the shard, 0 to 23. */
export const hourKey = (hour: number): string => `hour|${twoDigits(hour)}`;

/** Row of one camera's day. */
export const cameraKey = (cameraId: string): string => `camera|${escapeId(cameraId)}`;

/** Row of one event; the minute is the minute of the day, 0 to 1439. */
export const eventKey = (minute: number, cameraId: string, eventId: string): string =>
  `${minutePrefix(minute)}${escapeId(cameraId)}|${escapeId(eventId)}`;

const minutePrefix = (minute: number): `event|${string}|` =>
  `event|${twoDigits(Math.floor(minute / 60))}${twoDigits(minute % 60)}|`;

/** All camera rows. */
export const ALL_CAMERAS: KeyRange = keysUnder('camera|');

/** All hour rows. */
export const ALL_HOURS: KeyRange = keysUnder('hour|');

/** All event rows. */
export const ALL_EVENTS: KeyRange = keysUnder('event|');

/** The event rows of a minute of the day, of all cameras or one. */
export const eventsOfMinute = (minute: number, cameraId?: string): KeyRange =>
  cameraId === undefined ? keysUnder(minutePrefix(minute)) : keysUnder(`${minutePrefix(minute)}${escapeId(cameraId)}|`);

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
  if (kind !== 'event' || !/^\d{4}$/.test(clock) || camera === undefined || event === undefined || rest.length > 0) {
    throw new RangeError('not the key of an event row');
  }
  return {
    minute: Number(clock.slice(0, 2)) * 60 + Number(clock.slice(2)),
    cameraId: unescapeId(camera),
    eventId: unescapeId(event),
  };
};
