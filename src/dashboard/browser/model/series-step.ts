/** The steps of `GET /api/analytics/series`. */
export type SeriesStep = 'minute' | 'hour' | 'day';

/** Lengths in milliseconds. */
export const STEP_MILLISECONDS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const satisfies Record<
  SeriesStep,
  number
>;

/** More steps than this are no longer told apart on a plot; the service's own limit is 1,500. */
const MOST_STEPS = 400;

/** How many steps a range touches, the ragged first and last ones included. Both ends in milliseconds, and included. */
export const stepCount = (start: number, end: number, step: SeriesStep): number =>
  Math.floor(end / STEP_MILLISECONDS[step]) - Math.floor(start / STEP_MILLISECONDS[step]) + 1;

/**
 * The finest step with which a range can still be read: hours for a day, minutes for up to six hours.
 *
 * @param start milliseconds since 1970, included
 * @param end milliseconds since 1970, included
 */
export const sensibleStep = (start: number, end: number): SeriesStep => {
  if (stepCount(start, end, 'minute') <= MOST_STEPS) return 'minute';
  return stepCount(start, end, 'hour') <= MOST_STEPS ? 'hour' : 'day';
};
