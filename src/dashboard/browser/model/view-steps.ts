import { DAY_MILLISECONDS, dayOfTime, shiftDay } from './calendar-day.ts';
import type { Span } from './view.ts';

/** The day that a span shows or ends in; the busiest cameras are asked for it. `now` in milliseconds since 1970. */
export const lastDayOf = (span: Span, now: number): string => {
  if (span.kind === 'day') return span.date;
  return dayOfTime(span.kind === 'range' ? Date.parse(span.end) : now);
};

/** The span of a day: the current day is the moving one. */
export const spanOfDay = (date: string, now: number): Span =>
  date === dayOfTime(now) ? { kind: 'today' } : { kind: 'day', date };

/**
 * The day before a span or after it.
 *
 * @param direction -1: the day before the span's first day; 1: the day after its last one
 * @returns undefined where that day has not begun
 */
export const neighbourDay = (span: Span, direction: -1 | 1, now: number): Span | undefined => {
  const firstDay =
    span.kind === 'range'
      ? dayOfTime(Date.parse(span.start))
      : span.kind === 'window'
        ? dayOfTime(now - DAY_MILLISECONDS)
        : lastDayOf(span, now);
  const day = shiftDay(direction < 0 ? firstDay : lastDayOf(span, now), direction);
  return day > dayOfTime(now) ? undefined : spanOfDay(day, now);
};

/** Whether what a span shows can still grow by itself: then it is asked for often. */
export const isLive = (span: Span, now: number): boolean => {
  if (span.kind === 'today' || span.kind === 'window') return true;
  return span.kind === 'day' ? span.date >= dayOfTime(now) : Date.parse(span.end) >= now;
};
