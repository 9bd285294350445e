import type { Series } from './answers.ts';

/** A figure of a tile that has a trend. */
export type TrendFact = 'total_events' | 'active_cameras' | 'reviewed_total_events' | 'annotated_total_events';

/**
 * The points of a small trend, from 0 to 1, one for each step that has begun; empty if all are 0.
 *
 * @param now milliseconds since 1970
 */
export const trendOf = ({ steps }: Series, fact: TrendFact, now: number): readonly number[] => {
  const values = steps.filter(({ ts_utc_start: start }) => Date.parse(start) <= now).map((step) => step[fact]);
  const most = Math.max(0, ...values);
  return most === 0 || values.length < 2 ? [] : values.map((value) => value / most);
};
