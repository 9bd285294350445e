import { type Day, dayOf, type Hour, hourOf, MICROSECONDS, minuteOfDay, type MinuteOfDay, offsetIn } from './day.ts';
import { instantFrom, type Instant } from './instant.ts';

/** A period, both ends included. */
export interface Period {
  readonly start: Instant;
  readonly end: Instant;
}

// Steps

/** The lengths of the steps of a series, in microseconds. Each divides a day, so that no step is in two days. */
const LENGTHS = {
  minute: MICROSECONDS.minute,
  '5_minutes': 5n * MICROSECONDS.minute,
  '10_minutes': 10n * MICROSECONDS.minute,
  '30_minutes': 30n * MICROSECONDS.minute,
  hour: MICROSECONDS.hour,
  '3_hours': 3n * MICROSECONDS.hour,
  '6_hours': 6n * MICROSECONDS.hour,
  day: MICROSECONDS.day,
} as const;

export type Step = keyof typeof LENGTHS;

const isStep = (text: string): text is Step => text in LENGTHS;

/** The steps of a series. The first step of a day starts at midnight UTC. */
export const STEPS: readonly Step[] = Object.keys(LENGTHS).filter(isStep);

/** The start of the step that an instant is in, in microseconds since 1970 (UTC). */
const startOfStep = (instant: bigint, step: Step): bigint => instant - offsetIn(instant, LENGTHS[step]);

export const countSteps = ({ start, end }: Period, step: Step): number =>
  Number((startOfStep(end, step) - startOfStep(start, step)) / LENGTHS[step]) + 1;

/**
 * Splits a period into steps: disjoint, in order, covering exactly the period. The first and the last hold only their part of the period.
 *
 * @example stepsOf({ start: 08:30, end: 10:00 }, 'hour') // 08:30 to 08:59:59.999999, 09:00 to 09:59:59.999999, 10:00 to 10:00
 */
export const stepsOf = ({ start, end }: Period, step: Step): readonly Period[] => {
  const steps: Period[] = [];
  for (let from: bigint = startOfStep(start, step); from <= end; from += LENGTHS[step]) {
    const last = from + LENGTHS[step] - 1n;
    steps.push({ start: instantFrom(from < start ? start : from), end: instantFrom(last > end ? end : last) });
  }
  return steps;
};

/** Whether a part of a step is the whole step. */
const isWhole = ({ start, end }: Period, step: Step): boolean => end - start + 1n === LENGTHS[step];

// Pieces

/** A minute that is only partly in a period; both ends included. */
export interface PartialMinute extends Period {
  readonly minute: MinuteOfDay;
}

/** The part of a period that is in one day: the whole day, or whole hours, whole minutes and partial minutes. */
export interface DayPiece extends Period {
  readonly day: Day;
  /** True: the piece is the whole day, and the lists are empty. */
  readonly whole: boolean;
  /** Ascending. */
  readonly hours: readonly Hour[];
  /** Ascending, outside `hours`. */
  readonly minutes: readonly MinuteOfDay[];
  /** At most two, outside `minutes` and `hours`. */
  readonly partialMinutes: readonly PartialMinute[];
}

/**
 * Splits a period into disjoint pieces, one for each day, that cover exactly the period, to the microsecond.
 *
 * @example piecesOf({ start: 2026-11-20T18:20:00.5, end: 2026-11-22T06:00:00 })
 *   // partial minute 18:20, minutes 18:21 to 18:59, hours 19 to 23; the whole 21st; hours 0 to 5, partial minute 06:00
 */
export const piecesOf = (period: Period): readonly DayPiece[] => stepsOf(period, 'day').map(pieceOf);

const pieceOf = (ofDay: Period): DayPiece => {
  const hours: Hour[] = [];
  const minutes: MinuteOfDay[] = [];
  const partialMinutes: PartialMinute[] = [];
  const whole = isWhole(ofDay, 'day');
  for (const ofHour of whole ? [] : stepsOf(ofDay, 'hour')) {
    if (isWhole(ofHour, 'hour')) hours.push(hourOf(minuteOfDay(ofHour.start)));
    else {
      for (const ofMinute of stepsOf(ofHour, 'minute')) {
        const minute = minuteOfDay(ofMinute.start);
        if (isWhole(ofMinute, 'minute')) minutes.push(minute);
        else partialMinutes.push({ minute, ...ofMinute });
      }
    }
  }
  return { day: dayOf(ofDay.start), ...ofDay, whole, hours, minutes, partialMinutes };
};

/** A piece with whole minutes in place of its partial ones: a closed day keeps no event rows, and is counted by the minute. */
export const widened = (piece: DayPiece): DayPiece => {
  const all = new Set([...piece.minutes, ...piece.partialMinutes.map(({ minute }) => minute)]);
  const minutes = [...all].sort((left, right) => left - right);
  return { ...piece, start: startOfMinute(piece.start), end: endOfMinute(piece.end), minutes, partialMinutes: [] };
};

/** The first and the last microsecond of the minute that an instant is in. */
export const startOfMinute = (instant: Instant): Instant =>
  instantFrom(instant - offsetIn(instant, MICROSECONDS.minute));
const endOfMinute = (instant: Instant): Instant => instantFrom(startOfMinute(instant) + MICROSECONDS.minute - 1n);

const SECOND = 1_000_000n;

/**
 * The sliding window. If its length is at least an hour and whole minutes, it ends with the current minute: no minute is partial, and all questions
 * of a minute have the same answer. Otherwise it ends now, exactly.
 *
 * @param seconds its length
 */
export const slidingWindow = (now: Instant, seconds: number): Period => {
  const length = BigInt(seconds) * SECOND;
  if (length < MICROSECONDS.hour || length % MICROSECONDS.minute !== 0n) {
    return { start: instantFrom(now - length), end: now };
  }
  const end = endOfMinute(now);
  return { start: instantFrom(end + 1n - length), end };
};
