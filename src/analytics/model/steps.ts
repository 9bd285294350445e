import { MICROSECONDS, offsetIn } from './day.ts';
import { instantFrom } from './instant.ts';
import type { Period } from './period.ts';

/** The step of a series: a minute, an hour or a day, each from its start in UTC. */
export const STEPS = ['minute', 'hour', 'day'] as const;

/** One of {@link STEPS}. */
export type Step = (typeof STEPS)[number];

/** The start of the step that an instant is in, in microseconds since 1970 (UTC). */
const startOfStep = (instant: bigint, step: Step): bigint => instant - offsetIn(instant, MICROSECONDS[step]);

/** How many steps a period touches. */
export const countSteps = ({ start, end }: Period, step: Step): number =>
  Number((startOfStep(end, step) - startOfStep(start, step)) / MICROSECONDS[step]) + 1;

/**
 * Splits a period into steps: disjoint, in order, covering exactly the period. The first and the last hold only what is in the period.
 *
 * @example stepsOf({ start: 08:30, end: 10:00 }, 'hour') // 08:30 to 08:59:59.999999, 09:00 to 09:59:59.999999, 10:00 to 10:00
 */
export const stepsOf = ({ start, end }: Period, step: Step): readonly Period[] => {
  const steps: Period[] = [];
  for (let from: bigint = startOfStep(start, step); from <= end; from += MICROSECONDS[step]) {
    const last = from + MICROSECONDS[step] - 1n;
    steps.push({ start: instantFrom(from < start ? start : from), end: instantFrom(last > end ? end : last) });
  }
  return steps;
};
