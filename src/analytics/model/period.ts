import { type Day, dayOf, type Hour, isHour, minuteFrom, type MinuteOfDay, MICROSECONDS, offsetIn } from './day.ts';
import { instantFrom, type Instant } from './instant.ts';

/** A period, both ends included. */
export interface Period {
  readonly start: Instant;
  readonly end: Instant;
}

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
export const piecesOf = ({ start, end }: Period): readonly DayPiece[] => {
  const pieces: DayPiece[] = [];
  const afterEnd = end + 1n;
  for (let midnight = start - offsetIn(start, MICROSECONDS.day); midnight < afterEnd; midnight += MICROSECONDS.day) {
    const next = midnight + MICROSECONDS.day;
    pieces.push(pieceOfDay(midnight, start > midnight ? start : midnight, afterEnd < next ? afterEnd : next));
  }
  return pieces;
};

/** The piece from `from` to just before `until` of the day that starts at `midnight`. */
const pieceOfDay = (midnight: bigint, from: bigint, until: bigint): DayPiece => {
  const day = dayOf(instantFrom(midnight));
  const hours: Hour[] = [];
  const minutes: MinuteOfDay[] = [];
  const partialMinutes: PartialMinute[] = [];
  const whole = until - from === MICROSECONDS.day;
  let at = whole ? until : from;
  while (at < until) {
    const intoDay = at - midnight;
    const hour = Number(intoDay / MICROSECONDS.hour);
    if (intoDay % MICROSECONDS.hour === 0n && at + MICROSECONDS.hour <= until && isHour(hour)) {
      hours.push(hour);
      at += MICROSECONDS.hour;
      continue;
    }
    const minute = intoDay / MICROSECONDS.minute;
    const minuteEnd = midnight + (minute + 1n) * MICROSECONDS.minute;
    const stop = minuteEnd < until ? minuteEnd : until;
    if (stop - at === MICROSECONDS.minute) minutes.push(minuteFrom(Number(minute)));
    else
      partialMinutes.push({ minute: minuteFrom(Number(minute)), start: instantFrom(at), end: instantFrom(stop - 1n) });
    at = stop;
  }
  return { day, start: instantFrom(from), end: instantFrom(until - 1n), whole, hours, minutes, partialMinutes };
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
