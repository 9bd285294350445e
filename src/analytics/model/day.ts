import { LRUCache } from 'lru-cache';

import { instantFrom, parseInstant, sortableInstant, type Instant } from './instant.ts';

declare const dayBrand: unique symbol;

/** A UTC day that exists, `YYYY-MM-DD`. */
export type Day = string & { readonly [dayBrand]: true };

/** Lengths in microseconds. */
export const MICROSECONDS = {
  minute: 60_000_000n,
  hour: 3_600_000_000n,
  day: 86_400_000_000n,
} as const;

export const isDay = (text: string): text is Day => parseInstant(`${text}T00:00:00Z`) !== undefined;

/** Days by their number since 1970. Formatting a day for every event is slow, and events fall in few days. */
const DAYS = new LRUCache<bigint, Day>({ max: 1_000 });

const dayNumber = (instant: Instant): bigint => (instant - offsetIn(instant, MICROSECONDS.day)) / MICROSECONDS.day;

export const dayOf = (instant: Instant): Day => {
  const number = dayNumber(instant);
  const known = DAYS.get(number);
  if (known !== undefined) return known;
  const day = sortableInstant(instant).slice(0, 10);
  if (!isDay(day)) throw new RangeError('an instant is always in a day');
  DAYS.set(number, day);
  return day;
};

export const startOfDay = (day: Day): Instant => {
  const start = parseInstant(`${day}T00:00:00Z`);
  if (start === undefined) throw new RangeError('a day always has a start');
  return start;
};

/** The last microsecond of a day, `23:59:59.999999`. */
export const endOfDay = (day: Day): Instant => instantFrom(startOfDay(day) + MICROSECONDS.day - 1n);

/** Microseconds since the start of the minute, hour or day (by its length) that an instant is in. */
export const offsetIn = (instant: bigint, length: bigint): bigint => ((instant % length) + length) % length;

/** The minute of its UTC day that an instant is in, 0 to 1439. */
export const minuteOfDay = (instant: Instant): number =>
  Number(offsetIn(instant, MICROSECONDS.day) / MICROSECONDS.minute);

export const hourOfMinute = (minute: number): number => Math.floor(minute / 60);

/** The microsecond of its minute that an instant is, 0 to 59,999,999. */
export const microsecondOfMinute = (instant: Instant): number => Number(offsetIn(instant, MICROSECONDS.minute));
