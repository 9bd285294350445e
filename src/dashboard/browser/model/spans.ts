import { daysBetween, endText, longDay, shiftDay, shortDay, startText, type Times, utcDayOf } from './times.ts';
import { LAST, type Span } from './view.ts';

const HOUR_MS = 3_600_000;
/** The address knows no earlier years. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z');

/** Both ends of a period, included, as the questions have them. */
export interface PeriodEnds {
  readonly start: string;
  readonly end: string;
}

/** Milliseconds since 1970 at which a period's end is over. */
const over = (end: string): number => (end.endsWith('.999999Z') ? Date.parse(end) + 1 : Date.parse(end));

const daysOf = (first: string, afterLast: string, times: Times): PeriodEnds => ({
  start: startText(times.startOfDay(first)),
  end: endText(times.startOfDay(afterLast)),
});

/** Both ends of a span. Those of a live range move once a minute: in between, answers may be unchanged. */
export const periodOf = (span: Span, now: number, times: Times): PeriodEnds => {
  if (span.kind === 'range') return span;
  const last = span.kind === 'last' ? LAST[span.length] : { days: 1 };
  if ('hours' in last) {
    const end = now - (now % 60_000);
    return { start: startText(end - last.hours * HOUR_MS), end: endText(end) };
  }
  const day = span.kind === 'day' ? span.date : times.dayOf(now);
  return daysOf(shiftDay(day, 1 - last.days), shiftDay(day, 1), times);
};

/** The whole days, by the clock that is shown, that a period consists of; undefined where it does not. */
const wholeDaysOf = ({ start, end }: PeriodEnds, times: Times): { first: string; last: string } | undefined => {
  const [first, afterLast] = [times.dayOf(Date.parse(start)), times.dayOf(over(end))];
  const whole = daysOf(first, afterLast, times);
  return first < afterLast && whole.start === start && whole.end === end
    ? { first, last: shiftDay(afterLast, -1) }
    : undefined;
};

/** The span of a day: the current day is the moving one. */
export const spanOfDay = (date: string, now: number, times: Times): Span =>
  date === times.dayOf(now) ? { kind: 'today' } : { kind: 'day', date };

/**
 * A span moved by its own length.
 *
 * @param direction -1: earlier; 1: later
 * @returns undefined where that has not begun
 */
export const movedSpan = (span: Span, direction: -1 | 1, now: number, times: Times): Span | undefined => {
  const period = periodOf(span, now, times);
  const days = wholeDaysOf(period, times);
  if (days !== undefined) {
    const length = daysBetween(days.first, days.last) + 1;
    const first = shiftDay(days.first, direction * length);
    if (times.startOfDay(first) > now) return undefined;
    return length === 1
      ? spanOfDay(first, now, times)
      : { kind: 'range', ...daysOf(first, shiftDay(first, length), times) };
  }
  const [start, end] = [Date.parse(period.start), over(period.end)];
  const by = direction * (end - start);
  if (start + by > now || !(start + by > FIRST_TIME)) return undefined;
  // 08:00:00 to 08:59:59.999999 is an hour, and so is 08:00 to 09:00: the next one ends in the same way.
  const endAs = period.end.endsWith('.999999Z') ? endText : startText;
  return { kind: 'range', start: startText(start + by), end: endAs(end + by) };
};

/** Whether what a span shows can still grow by itself: then it is asked for often. */
export const isLive = (span: Span, now: number, times: Times): boolean =>
  over(periodOf(span, now, times).end) >= now - 60_000;

/** The UTC days that cameras are listed for, because they are counted by UTC day. */
export interface UtcDays {
  readonly last: string;
  readonly days: number;
  /** Whether that is exactly the period. */
  readonly isExact: boolean;
  /** In words: `UTC days 20 Nov – 21 Nov` */
  readonly text: string;
}

/** The UTC days that a period touches and that have begun; of many, the last 31. */
export const utcDaysOf = ({ start, end }: PeriodEnds, now: number): UtcDays => {
  const first = start.slice(0, 10);
  const begun = [end.slice(0, 10), utcDayOf(now)].sort()[0] ?? first;
  const last = begun < first ? first : begun;
  const touched = daysBetween(first, last) + 1;
  const days = Math.min(Math.max(touched, 1), 31);
  const isExact = touched === days && start === `${first}T00:00:00Z` && end.endsWith('T23:59:59.999999Z');
  const text =
    days === 1 ? `UTC day ${shortDay(last)}` : `UTC days ${shortDay(shiftDay(last, 1 - days))} – ${shortDay(last)}`;
  return { last, days, isExact, text };
};

/** `08:36`, with seconds where there are some. */
const minuteText = (wall: string): string => wall.slice(11).replace(/:00$/, '');

/** What is shown, in words, without the camera and without its zone: `Saturday 21 November 2026, 08:36 – 09:36`. */
export const spanTitle = (span: Span, now: number, times: Times): string => {
  const moving = span.kind === 'last' ? LAST[span.length] : undefined;
  if (moving !== undefined && 'hours' in moving) {
    return moving.hours === 1 ? 'Last hour' : `Last ${moving.hours} hours`;
  }
  if (span.kind === 'today') return `Today, ${longDay(times.dayOf(now))}`;
  const period = periodOf(span, now, times);
  const days = wholeDaysOf(period, times);
  if (days !== undefined) {
    if (days.first === days.last) return longDay(days.first);
    return `${moving === undefined ? '' : `Last ${moving.days} days, `}${longDay(days.first)} – ${longDay(days.last)}`;
  }
  // 09:35:59.999999 is the end that everybody calls 09:36; a second that was typed is included wholly, and stays the one that was typed.
  const end =
    over(period.end) % 60_000 === 0 ? over(period.end) : over(period.end) - (over(period.end) % 1_000 || 1_000);
  const [from, until] = [times.wall(Date.parse(period.start)), times.wall(Math.max(end, Date.parse(period.start)))];
  const [first, last] = [from.slice(0, 10), until.slice(0, 10)];
  const untilDay = last === first ? '' : `${longDay(last)}, `;
  return `${longDay(first)}, ${minuteText(from)} – ${untilDay}${minuteText(until)}`;
};

/** The first and the last day of a period by the clock that is shown: `2026-11-20 2026-11-21`, or one. */
export const daysText = ({ start, end }: PeriodEnds, times: Times): string =>
  [...new Set([start, end].map((at) => times.dayOf(Date.parse(at))))].join(' ');

/** The zone of what is shown, as it was then: `PST`; `PDT/PST` where the clocks change in between. */
export const zoneOf = (span: Span, now: number, times: Times): string => {
  if (times.isUtc) return 'UTC';
  const { start, end } = periodOf(span, now, times);
  return [...new Set([times.name(Date.parse(start)), times.name(over(end) - 1)])].join('/');
};

/** Minutes after which a camera that sends nothing is silent. */
export const SILENT_MINUTES = 15;

/** The minutes until now: a camera that sent nothing in them is silent. */
export const recentPeriod = (now: number): PeriodEnds => {
  const minute = now - (now % 60_000);
  return { start: startText(minute - SILENT_MINUTES * 60_000), end: endText(minute) };
};
