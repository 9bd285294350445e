import { HOUR_MS } from './steps.ts';
import { daysBetween, endText, longDay, shiftDay, shortDay, startText, type Times, utcDayOf } from './times.ts';
import { LAST, type Span } from './view.ts';

/** The address accepts no earlier time. */
const FIRST_TIME = Date.parse('1000-01-01T00:00:00Z');

/** Both ends of a period, included, as texts of a question. */
export interface PeriodEnds {
  readonly start: string;
  readonly end: string;
}

const over = (end: string): number => (end.endsWith('.999999Z') ? Date.parse(end) + 1 : Date.parse(end));

const daysOf = (first: string, afterLast: string, times: Times): PeriodEnds => ({
  start: startText(times.startOfDay(first)),
  end: endText(times.startOfDay(afterLast)),
});

/** The ends of a moving range change once a minute: in between, the service can answer 304. */
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

/** The first and last day of a period of whole days, by the page's clock; undefined for other periods. */
const wholeDaysOf = ({ start, end }: PeriodEnds, times: Times): { first: string; last: string } | undefined => {
  const [first, afterLast] = [times.dayOf(Date.parse(start)), times.dayOf(over(end))];
  const whole = daysOf(first, afterLast, times);
  return first < afterLast && whole.start === start && whole.end === end
    ? { first, last: shiftDay(afterLast, -1) }
    : undefined;
};

export const spanOfDay = (date: string, now: number, times: Times): Span =>
  date === times.dayOf(now) ? { kind: 'today' } : { kind: 'day', date };

/** The span before or after, of the same length; undefined if that has not begun. No span comes after the last hours: they end now. */
export const movedSpan = (span: Span, direction: -1 | 1, now: number, times: Times): Span | undefined => {
  if (span.kind === 'last' && direction === 1) return undefined;
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
  if (start + by > now || start + by < FIRST_TIME) return undefined;
  // 08:00:00 to 08:59:59.999999 is an hour, 08:00 to 09:00 is also an hour. Both keep the form of their end.
  const endAs = period.end.endsWith('.999999Z') ? endText : startText;
  return { kind: 'range', start: startText(start + by), end: endAs(end + by) };
};

/** Whether the figures of a span can still grow. */
export const isLive = (span: Span, now: number, times: Times): boolean =>
  over(periodOf(span, now, times).end) >= now - 60_000;

/** The days of the list of cameras: the service counts cameras by UTC day. */
export interface UtcDays {
  readonly last: string;
  readonly days: number;
  readonly text: string;
}

/** The UTC days of a period that have begun; of many, the last 31. */
export const utcDaysOf = ({ start, end }: PeriodEnds, now: number): UtcDays => {
  const first = start.slice(0, 10);
  const begun = [end.slice(0, 10), utcDayOf(now)].sort()[0] ?? first;
  const last = begun < first ? first : begun;
  const days = Math.min(daysBetween(first, last) + 1, 31);
  const text =
    days === 1 ? `UTC day ${shortDay(last)}` : `UTC days ${shortDay(shiftDay(last, 1 - days))} – ${shortDay(last)}`;
  return { last, days, text };
};

/** `08:36`, or `08:36:20`. */
const minuteText = (wall: string): string => wall.slice(11).replace(/:00$/, '');

/** `Saturday 21 November 2026, 08:36 – 09:36`, without the zone. */
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
  // For readers, the end 09:35:59.999999 is 09:36. A typed second is included as a whole, and keeps its name.
  const end =
    over(period.end) % 60_000 === 0 ? over(period.end) : over(period.end) - (over(period.end) % 1_000 || 1_000);
  const [from, until] = [times.wall(Date.parse(period.start)), times.wall(Math.max(end, Date.parse(period.start)))];
  const [first, last] = [from.slice(0, 10), until.slice(0, 10)];
  const untilDay = last === first ? '' : `${longDay(last)}, `;
  return `${longDay(first)}, ${minuteText(from)} – ${untilDay}${minuteText(until)}`;
};

/** `2026-11-20 2026-11-21`, or one day, for the name of a file. */
export const daysText = ({ start, end }: PeriodEnds, times: Times): string =>
  [...new Set([start, end].map((at) => times.dayOf(Date.parse(at))))].join(' ');

/** The zone of a span at its time: `PST`; `PDT/PST` if the clocks change in between. */
export const zoneOf = (span: Span, now: number, times: Times): string => {
  if (times.isUtc) return 'UTC';
  const { start, end } = periodOf(span, now, times);
  return [...new Set([times.name(Date.parse(start)), times.name(over(end) - 1)])].join('/');
};

/** A camera that sent nothing for this many minutes is silent. */
export const SILENT_MINUTES = 15;

export const recentPeriod = (now: number): PeriodEnds => {
  const minute = now - (now % 60_000);
  return { start: startText(minute - SILENT_MINUTES * 60_000), end: endText(minute) };
};
