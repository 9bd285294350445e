import { dayOf, MICROSECONDS, startOfDay, type Day } from './day.ts';
import { instantFrom, type Instant } from './instant.ts';

/** A period, both ends included. */
export interface Period {
  readonly start: Instant;
  readonly end: Instant;
}

/** A minute that is only partly in a period; both ends included. */
export interface PartialMinute extends Period {
  /** Minute of the day, 0 to 1439. */
  readonly minute: number;
}

/** What a period covers of one day: the whole day, or whole hours, whole minutes and partial minutes. */
export interface DayPiece {
  readonly day: Day;
  /** Then there is nothing in the lists. */
  readonly whole: boolean;
  /** Hours of the day, 0 to 23, ascending. */
  readonly hours: readonly number[];
  /** Minutes of the day, 0 to 1439, ascending, outside `hours`. */
  readonly minutes: readonly number[];
  /** At most two, outside `minutes` and `hours`. */
  readonly partialMinutes: readonly PartialMinute[];
}

/**
 * Splits a period into disjoint pieces, one for each day, that cover exactly the period, to the microsecond.
 *
 * @example piecesOf({ start: 2026-11-20T18:20:00.5, end: 2026-11-22T06:00:00 })
 *   // partial minute 18:20, minutes 18:21 to 18:59, hours 19 to 23; the whole 21st; hours 0 to 5, partial minute 06:00
 */
export const piecesOf = ({ start, end }: Period): readonly DayPiece[] => {
  const pieces: DayPiece[] = [];
  const afterEnd = end + 1n;
  for (let midnight: bigint = startOfDay(dayOf(start)); midnight < afterEnd; midnight += MICROSECONDS.day) {
    const next = midnight + MICROSECONDS.day;
    pieces.push(pieceOfDay(midnight, start > midnight ? start : midnight, afterEnd < next ? afterEnd : next));
  }
  return pieces;
};

/** The piece from `from` to just before `until` of the day that starts at `midnight`. */
const pieceOfDay = (midnight: bigint, from: bigint, until: bigint): DayPiece => {
  const day = dayOf(instantFrom(midnight));
  const hours: number[] = [];
  const minutes: number[] = [];
  const partialMinutes: PartialMinute[] = [];
  const whole = until - from === MICROSECONDS.day;
  let at = whole ? until : from;
  while (at < until) {
    const intoDay = at - midnight;
    if (intoDay % MICROSECONDS.hour === 0n && at + MICROSECONDS.hour <= until) {
      hours.push(Number(intoDay / MICROSECONDS.hour));
      at += MICROSECONDS.hour;
      continue;
    }
    const minute = intoDay / MICROSECONDS.minute;
    const minuteEnd = midnight + (minute + 1n) * MICROSECONDS.minute;
    const stop = minuteEnd < until ? minuteEnd : until;
    if (stop - at === MICROSECONDS.minute) minutes.push(Number(minute));
    else partialMinutes.push({ minute: Number(minute), start: instantFrom(at), end: instantFrom(stop - 1n) });
    at = stop;
  }
  return { day, whole, hours, minutes, partialMinutes };
};
