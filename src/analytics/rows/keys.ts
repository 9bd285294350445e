import type { Day } from '../model/day.ts';
import { DecodeError } from '../../storage/errors.ts';
import type { KeyRange } from '../../storage/row.ts';

/** A number from 0 to 99 as keys and property names have it: `07`. */
export const twoDigits = (value: number): string => String(value).padStart(2, '0');

// Table Storage forbids / \ # ? in keys, % causes trouble with encodings, | separates the parts of a key, and a space starts the
// suffix of a stripe. Each is replaced by its full-width twin, which looks alike, or by a noncharacter, which no id has; a twin in
// an id is replaced by a noncharacter as well. One character replaces one, so a key with two ids of 128 characters stays far below
// its limit of 512.
const PLAIN = '/\\#?%|\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\u2028\u2029 ';
const ESCAPED = '\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\uFDD0\uFDD1\uFDD2\uFDD3\uFDD4\uFDD5\uFDD6\uFDD7\uFDD8';

/** An id as keys and camera lists have it. */
export const escapeId = (id: string): string =>
  id.replace(/[ /\\#?%|\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\u2028\u2029]/g, (plain) =>
    ESCAPED.charAt(PLAIN.indexOf(plain)),
  );

export const unescapeId = (text: string): string =>
  text.replace(/[\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\uFDD0-\uFDD8]/g, (escaped) =>
    PLAIN.charAt(ESCAPED.indexOf(escaped)),
  );

/** All keys with a prefix that ends with the separator. */
const keysUnder = (prefix: `${string}|`): KeyRange => ({ from: prefix, before: `${prefix.slice(0, -1)}}` });

/** The partition of the rows of all days: a row a day, whose key is the day. */
export const DAYS_PARTITION = 'days';

/** A shard of a day in one generation of its rows: `2026-11-21_00`, and `2026-11-21.1_00` once the day was rewritten. */
export const shardPartition = (day: Day, shard: number, generation = 0): string =>
  `${day}${generation === 0 ? '' : `.${generation}`}_${twoDigits(shard)}`;

/** The partitions of all shards and generations of a day. After the day follows a dot or an underscore. */
export const partitionsOf = (day: Day): KeyRange => ({ from: `${day}.`, before: `${day}\u0060` });

/** The generation and the shard in the key of a partition of a day. */
export const parseShardPartition = (day: Day, partition: string): { generation: number; shard: number } => {
  const [, generation = '0', shard = ''] = /^(?:\.([1-9]\d*))?_(\d\d)$/.exec(partition.slice(day.length)) ?? [];
  if (!partition.startsWith(day) || shard === '')
    throw new DecodeError('the partition is not one of a shard of the day');
  return { generation: Number(generation), shard: Number(shard) };
};

/**
 * The row that every new stripe changes. Its key comes after the keys of all stripes, so one query of `day…` answers it as well. Once the rows
 * of a generation are deleted it stays, and tells late readers and recorders.
 */
export const SEALED_KEY = 'day sealed';

// The rows below are counter rows: they exist once per stripe. The functions and constants name the keys of stripe 0.

/** The row of the stripe's day: its tally, its hours, its cameras. */
export const DAY_KEY = 'day';

/** The row of an hour of the shard (0 to 23), minute by minute. */
export const hourKey = (hour: number): string => `hour|${twoDigits(hour)}`;

/** A minute of the day, 0 to 1439 → `0815`. */
const clockOf = (minute: number): string => twoDigits(Math.floor(minute / 60)) + twoDigits(minute % 60);

/** Seconds of a minute in one row. Half a minute of the top of the field, 210 frames a second, takes about 35 KB. */
export const SECONDS_A_ROW = 30;

/** The row of half a minute of the shard, sample by sample: selected by a second (0 to 59) of the minute (0 to 1439). */
export const minuteKey = (minute: number, second: number): string =>
  `minute|${clockOf(minute)}|${twoDigits(second - (second % SECONDS_A_ROW))}`;

export const cameraKey = (cameraId: string): string => `camera|${escapeId(cameraId)}`;

/** The row of an event; the minute is the minute of the day, 0 to 1439. */
export const eventKey = (minute: number, cameraId: string, eventId: string): string =>
  `${minutePrefix(minute)}${escapeId(cameraId)}|${escapeId(eventId)}`;

const minutePrefix = (minute: number): `event|${string}|` => `event|${clockOf(minute)}|`;

export const ALL_CAMERAS: KeyRange = keysUnder('camera|');
export const ALL_MINUTES: KeyRange = keysUnder('minute|');
export const ALL_EVENTS: KeyRange = keysUnder('event|');

export const MINUTES = 1_440;

/** The minute rows or event rows of an hour, 0 to 23. Every key that there is of the kind is in the range of one hour. */
export const rowsOfHour = (kind: 'minute' | 'event', hour: number): KeyRange => {
  const all = keysUnder(`${kind}|`);
  return {
    from: hour === 0 ? all.from : `${kind}|${twoDigits(hour)}`,
    before: hour === 23 ? all.before : `${kind}|${twoDigits(hour + 1)}`,
  };
};

/** The event rows of a minute of the day (0 to 1439), of all cameras or one. */
export const eventsOfMinute = (minute: number, cameraId?: string): KeyRange =>
  keysUnder(cameraId === undefined ? minutePrefix(minute) : `${minutePrefix(minute)}${escapeId(cameraId)}|`);

// The functions below throw a DecodeError where the key is not one of such a row.

/** A clock time that exists, `0815` → the minute of the day, 0 to 1439. */
const minuteOfClock = (clock: string): number | undefined =>
  /^([01]\d|2[0-3])[0-5]\d$/.test(clock) ? Number(clock.slice(0, 2)) * 60 + Number(clock.slice(2)) : undefined;

const notKeyOf = (kind: string): DecodeError => new DecodeError(`its key is not one of a row of the kind ${kind}`);

/** The parts of a key after its kind, if it is of that kind and has this number of parts. */
const partsOf = (key: string, kind: string, count: number): readonly string[] => {
  const [first, ...parts] = key.split('|');
  if (first !== kind || parts.length !== count) throw notKeyOf(kind);
  return parts;
};

/** The minute of the day (0 to 1439) and the first second (0 or 30) in the key of a minute row. */
export const parseMinuteKey = (key: string): { minute: number; second: number } => {
  const [clock = '', text = ''] = partsOf(key, 'minute', 2);
  const [minute, second] = [minuteOfClock(clock), Number(text)];
  if (minute === undefined || second >= 60 || minuteKey(minute, second) !== key) throw notKeyOf('minute');
  return { minute, second };
};

export const parseCameraKey = (key: string): string => unescapeId(partsOf(key, 'camera', 1).join(''));

/** The minute of the day (0 to 1439), the camera and the event in the key of an event row. */
export const parseEventKey = (key: string): { minute: number; cameraId: string; eventId: string } => {
  const [clock = '', camera = '', event = ''] = partsOf(key, 'event', 3);
  const minute = minuteOfClock(clock);
  if (minute === undefined) throw notKeyOf('event');
  return { minute, cameraId: unescapeId(camera), eventId: unescapeId(event) };
};
