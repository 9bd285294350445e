import type { View } from '../model/view.ts';
import { lastDayOf } from '../model/view-steps.ts';
import { times } from './texts.ts';

/** What is shown, in words, without the camera. */
export const viewTitle = ({ span }: View, now: number): string => {
  switch (span.kind) {
    case 'today':
      return `Today, ${times.longDay(lastDayOf(span, now))}`;
    case 'day':
      return times.longDay(span.date);
    case 'range':
      return wholeDays(span.start, span.end) ?? `${times.utc(span.start)} – ${times.utc(span.end)}`;
    case 'window':
      return 'Sliding window, until now';
  }
};

/** Undefined where a range does not consist of whole days. */
const wholeDays = (start: string, end: string): string | undefined => {
  if (!start.endsWith('T00:00:00Z') || !end.endsWith('T23:59:59.999999Z')) return undefined;
  const [first, last] = [start.slice(0, 10), end.slice(0, 10)];
  return first === last ? times.longDay(first) : `${times.longDay(first)} – ${times.longDay(last)}`;
};
