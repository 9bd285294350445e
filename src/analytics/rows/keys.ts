import { createHash } from 'node:crypto';

import { DecodeError, type KeyRange } from '../../storage/row.ts';
import { type Day, type Hour, hourOf, isDay, minuteOfHour, type MinuteOfDay } from '../model/day.ts';

/** A number from 0 to 99 in the form of keys and property names: `07`. */
export const twoDigits = (value: number): string => String(value).padStart(2, '0');

// Table Storage forbids / \ # ? in keys, % causes trouble with encodings, and | separates the parts of a key. Each is replaced by its
// full-width twin, which looks alike, or by a noncharacter, which no id has; a twin in an id is replaced by a noncharacter as well. One
// character replaces one, so a key with two ids of 128 characters stays far below its limit of 512.
const PLAIN = '/\\#?%|\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\u2028\u2029';
const ESCAPED = '\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\uFDD0\uFDD1\uFDD2\uFDD3\uFDD4\uFDD5\uFDD6\uFDD7';

/** An id in the form of keys and camera lists. */
const escapeId = (id: string): string =>
  id.replace(/[/\\#?%|\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\u2028\u2029]/g, (plain) =>
    ESCAPED.charAt(PLAIN.indexOf(plain)),
  );

const unescapeId = (text: string): string =>
  text.replace(/[\uFF0F\uFF3C\uFF03\uFF1F\uFF05\uFF5C\uFDD0-\uFDD7]/g, (escaped) =>
    PLAIN.charAt(ESCAPED.indexOf(escaped)),
  );

/** All keys that begin with a text which ends in `|`. `}` is the next character after `|`; `~` sorts before many letters. */
const keysUnder = (prefix: `${string}|`): KeyRange => ({ from: prefix, before: `${prefix.slice(0, -1)}}` });

// Shards and partitions

/** The maximum number of shards of a day; they are numbered from 0. */
export const MAX_SHARDS = 64;

/** The shard of a day that a camera belongs to: a stable hash of its id, because stored rows are found by it. */
export const shardOf = (cameraId: string, shards: number): number =>
  shards === 1 ? 0 : createHash('sha256').update(cameraId).digest().readUInt32BE(0) % shards;

/**
 * The table of the counters, without the prefix of the tables: the number of shards is fixed for a table, so that every process looks for a
 * camera in the same shard.
 *
 * @param shards the setting `COUNTER_SHARDS`
 * @example tableOfShards(8) // analytics8
 */
export const tableOfShards = (shards: number): string => (shards === 1 ? 'analytics' : `analytics${shards}`);

/** The partition of a shard of a day: `2026-11-21.00`. */
export const shardPartition = (day: Day, shard: number): string => `${day}.${twoDigits(shard)}`;

/** The partitions of all shards of a day, in the order of the shards. @param shards how many shards each day has */
export const dayPartitions = (day: Day, shards: number): readonly string[] =>
  Array.from({ length: shards }, (_, shard) => shardPartition(day, shard));

/** The partitions of all shards of a day, or of all days: `/` is the next character after `.`. */
export const partitionsOf = (day: Day): KeyRange => ({ from: `${day}.`, before: `${day}/` });
export const ALL_PARTITIONS: KeyRange = { from: '0', before: ':' };

/** The day in the key of a partition. */
export const dayOfPartition = (partition: string): Day => {
  const [, day = '', shard] = /^(.{10})\.(\d\d)$/.exec(partition) ?? [];
  if (!isDay(day) || Number(shard) >= MAX_SHARDS) throw new DecodeError('its partition is not a shard of a day');
  return day;
};

// Counters. Each exists once per stripe, and its value is the sum.

/** The maximum number of stripes of a shard, numbered from 0. More instances than that share stripes. */
export const MAX_STRIPES = 64;

/** The prefix of the keys of a counter in all stripes: `day|`, `hour|08|`, `camera|ridge-04|`. */
export type Counter = 'day|' | `hour|${string}|` | `camera|${string}|`;

const DIGITS = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'] as const;
type Digit = (typeof DIGITS)[number];

/** The key of a counter's row in one stripe: `day|05`, `hour|08|05`, `camera|ridge-04|05`. */
export type CounterKey = `${Counter}${Digit}${Digit}`;

/** The day of a shard: its tally, its hours, its cameras. */
export const DAY_COUNTER = 'day|';

/** An hour of a shard, minute by minute. */
export const hourCounter = (hour: Hour): Counter => `hour|${twoDigits(hour)}|`;

export const cameraCounter = (cameraId: string): Counter => `camera|${escapeId(cameraId)}|`;

/** The ends of keys, by stripe. */
const ENDINGS = DIGITS.flatMap((tens) => DIGITS.map((ones) => `${tens}${ones}` as const)).slice(0, MAX_STRIPES);

/** The key of a counter's row in a stripe. @throws {RangeError} if there is no such stripe */
export const counterKey = (counter: Counter, stripe: number): CounterKey => {
  const ending = ENDINGS[stripe];
  if (ending === undefined) throw new RangeError('a counter has no such stripe');
  return `${counter}${ending}`;
};

/** Its version orders the seals of a shard and the writes under a seal, and it says whether other stripes have rows. */
export const DAY_00 = counterKey(DAY_COUNTER, 0);

/** The rows of a counter in all stripes, which are neighbors. */
export const stripesOf = (counter: Counter): KeyRange => keysUnder(counter);

export const ALL_HOURS: KeyRange = keysUnder('hour|');
export const ALL_CAMERAS: KeyRange = keysUnder('camera|');

// Events

/** The key of an event's row: `event|0815|ridge-04|f-1029`. */
export type EventKey = `event|${string}|${string}|${string}`;

/** `0815` */
const clockOf = (minute: MinuteOfDay): string => twoDigits(hourOf(minute)) + twoDigits(minuteOfHour(minute));

export const eventKey = (minute: MinuteOfDay, cameraId: string, eventId: string): EventKey =>
  `event|${clockOf(minute)}|${escapeId(cameraId)}|${escapeId(eventId)}`;

export const ALL_EVENTS: KeyRange = keysUnder('event|');

/** The event rows of an hour. Every key that begins with `event|`, even a damaged key, is in the range of one hour. */
export const eventsOfHour = (hour: Hour): KeyRange => ({
  from: hour === 0 ? ALL_EVENTS.from : `event|${twoDigits(hour)}`,
  before: hour === 23 ? ALL_EVENTS.before : `event|${twoDigits(hour + 1)}`,
});

/** The event rows of a minute, of all cameras or one. */
export const eventsOfMinute = (minute: MinuteOfDay, cameraId?: string): KeyRange =>
  keysUnder(cameraId === undefined ? `event|${clockOf(minute)}|` : `event|${clockOf(minute)}|${escapeId(cameraId)}|`);

// The functions below throw a DecodeError if the key is of another kind of row.

const partsOf = (key: string, form: RegExp): readonly string[] => {
  const [, ...parts] = form.exec(key) ?? [];
  if (parts.length === 0) throw new DecodeError('its key is of another kind of row');
  return parts;
};

/** The stripe in the key of a counter's row. */
export const parseStripe = (rowKey: string): number => {
  const [stripe] = partsOf(rowKey, /^(?:day|hour\|\d\d|camera\|[^|]+)\|(\d\d)$/);
  if (Number(stripe) >= MAX_STRIPES) throw new DecodeError('its key has the ending of no stripe');
  return Number(stripe);
};

/** The camera in the key of a camera's row. */
export const parseCameraKey = (rowKey: string): string =>
  unescapeId(partsOf(rowKey, /^camera\|([^|]+)\|\d\d$/)[0] ?? '');

/** The camera and the event in the key of an event row. */
export const parseEventKey = (rowKey: string): { readonly cameraId: string; readonly eventId: string } => {
  const [camera = '', event = ''] = partsOf(rowKey, /^event\|\d{4}\|([^|]+)\|([^|]+)$/);
  return { cameraId: unescapeId(camera), eventId: unescapeId(event) };
};
