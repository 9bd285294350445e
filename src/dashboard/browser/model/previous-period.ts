import { isLive, type PeriodEnds, periodOf } from './spans.ts';
import { DAY_MS } from './steps.ts';
import { endText, startText, type Times } from './times.ts';
import { LAST, type Span } from './view.ts';

/** The words of the period before, under a change. */
export interface PreviousPeriod extends PeriodEnds {
  readonly words: string;
}

/**
 * The period before a span, as long as the part of the span that is over: until 10:00, today compares with yesterday until 10:00.
 *
 * @param now milliseconds since 1970
 */
export const previousPeriod = (span: Span, now: number, times: Times): PreviousPeriod => {
  const { start, end } = periodOf(span, now, times);
  const from = Date.parse(start);
  const over = Math.floor(Date.parse(end) / 1_000) * 1_000 + (end.endsWith('.999999Z') ? 1_000 : 0);
  const minute = now - (now % 60_000);
  const until = isLive(span, now, times) ? Math.min(over, minute) : over;
  // A local day may have 23 or 25 hours: the clock's day counts.
  const isDays = span.kind === 'today' || span.kind === 'day';
  const back = isDays ? from - times.startOfDay(times.dayOf(from - DAY_MS / 4)) : over - from;
  return {
    start: startText(from - back),
    end: endText(Math.max(until - back, from - back + 1_000)),
    words: wordsOf(span),
  };
};

const wordsOf = (span: Span): string => {
  if (span.kind === 'today') return 'yesterday until now';
  if (span.kind === 'day') return 'the day before';
  if (span.kind === 'range') return 'the time before';
  const last = LAST[span.length];
  if ('days' in last) return `the ${last.days} days before`;
  return last.hours === 1 ? 'the hour before' : `the ${last.hours} hours before`;
};

/** `+12%`, `−40%`, `×5`; undefined without a count to compare with. */
export const changeText = (count: number, before: number): string | undefined => {
  if (before === 0) return count === 0 ? undefined : 'new';
  const factor = count / before;
  if (factor >= 3) return `×${factor < 10 ? Number(factor.toFixed(1)) : Math.round(factor)}`;
  const percent = Math.round((factor - 1) * 100);
  return percent === 0 ? '±0%' : `${percent > 0 ? '+' : '−'}${Math.abs(percent)}%`;
};
