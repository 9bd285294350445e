import { millisecondsInDay, millisecondsInHour, millisecondsInMinute } from 'date-fns/constants';

import { instantFrom, parseInstant, sortableInstant, type Instant } from './instant.ts';

declare const dayBrand: unique symbol;

/** A UTC day that exists, `YYYY-MM-DD`. */
export type Day = string & { readonly [dayBrand]: true };

/** Lengths in microseconds. */
export const MICROSECONDS = {
  minute: BigInt(millisecondsInMinute) * 1_000n,
  hour: BigInt(millisecondsInHour) * 1_000n,
  day: BigInt(millisecondsInDay) * 1_000n,
} as const;

export const isDay = (text: string): text is Day => parseInstant(`${text}T00:00:00Z`) !== undefined;

/** The day that was formatted last: events fall in few days, and formatting the day of each is slow. */
let latest: { readonly start: bigint; readonly day: Day } | undefined;

export const dayOf = (instant: Instant): Day => {
  const start = instant - offsetIn(instant, MICROSECONDS.day);
  if (latest?.start !== start) {
    const day = sortableInstant(instant).slice(0, 10);
    if (!isDay(day)) throw new RangeError('an instant is always in a day');
    latest = { start, day };
  }
  return latest.day;
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

declare const minuteOfDayBrand: unique symbol;
declare const minuteOfHourBrand: unique symbol;
declare const hourBrand: unique symbol;

/** A minute of a UTC day, 0 to 1439. */
export type MinuteOfDay = number & { readonly [minuteOfDayBrand]: true };

/** A minute of an hour, 0 to 59. */
export type MinuteOfHour = number & { readonly [minuteOfHourBrand]: true };

/** An hour of a UTC day, 0 to 23. */
export type Hour = number & { readonly [hourBrand]: true };

const numbersTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

export const isHour = (value: number): value is Hour => Number.isInteger(value) && value >= 0 && value < 24;
export const isMinuteOfHour = (value: number): value is MinuteOfHour =>
  Number.isInteger(value) && value >= 0 && value < 60;
const isMinuteOfDay = (value: number): value is MinuteOfDay => Number.isInteger(value) && value >= 0 && value < 1_440;

/** All hours of a day, minutes of an hour, and minutes of a day. */
export const HOURS: readonly Hour[] = numbersTo(24).filter(isHour);
export const MINUTES: readonly MinuteOfHour[] = numbersTo(60).filter(isMinuteOfHour);
const MINUTES_OF_DAY: readonly MinuteOfDay[] = numbersTo(1_440).filter(isMinuteOfDay);

/** The element with an index. @throws {RangeError} if the index is too large */
const elementOf = <Element>(elements: readonly Element[], index: number): Element => {
  const element = elements[index];
  if (element === undefined) throw new RangeError('there is no such hour or minute');
  return element;
};

export const minuteFrom = (value: number): MinuteOfDay => elementOf(MINUTES_OF_DAY, value);

/** The minute of its UTC day that an instant is in. */
export const minuteOfDay = (instant: Instant): MinuteOfDay =>
  minuteFrom(Number(offsetIn(instant, MICROSECONDS.day) / MICROSECONDS.minute));

/** The hour that a minute of a day is in. */
export const hourOf = (minute: MinuteOfDay): Hour => elementOf(HOURS, Math.floor(minute / 60));

export const minuteOfHour = (minute: MinuteOfDay): MinuteOfHour => elementOf(MINUTES, minute % 60);
