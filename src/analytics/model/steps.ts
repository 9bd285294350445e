import { MICROSECONDS, offsetIn } from './day.ts';
import { instantFrom } from './instant.ts';
import type { Period } from './period.ts';

/** The lengths of the steps of a series, in microseconds. Each divides a day, so that no step is in two days. */
const LENGTHS = {
  minute: MICROSECONDS.minute,
  '5_minutes': 5n * MICROSECONDS.minute,
  '10_minutes': 10n * MICROSECONDS.minute,
  '30_minutes': 30n * MICROSECONDS.minute,
  hour: MICROSECONDS.hour,
  '3_hours': 3n * MICROSECONDS.hour,
  '6_hours': 6n * MICROSECONDS.hour,
  day: MICROSECONDS.day,
} as const;

export type Step = keyof typeof LENGTHS;

const isStep = (text: string): text is Step => text in LENGTHS;

/** The steps of a series. The first step of a day starts at midnight UTC. */
export const STEPS: readonly Step[] = Object.keys(LENGTHS).filter(isStep);

/** The start of the step that an instant is in, in microseconds since 1970 (UTC). */
const startOfStep = (instant: bigint, step: Step): bigint => instant - offsetIn(instant, LENGTHS[step]);

export const countSteps = ({ start, end }: Period, step: Step): number =>
  Number((startOfStep(end, step) - startOfStep(start, step)) / LENGTHS[step]) + 1;

/**
 * Splits a period into steps: disjoint, in order, covering exactly the period. The first and the last hold only their part of the period.
 *
 * @example stepsOf({ start: 08:30, end: 10:00 }, 'hour') // 08:30 to 08:59:59.999999, 09:00 to 09:59:59.999999, 10:00 to 10:00
 */
export const stepsOf = ({ start, end }: Period, step: Step): readonly Period[] => {
  const steps: Period[] = [];
  for (let from: bigint = startOfStep(start, step); from <= end; from += LENGTHS[step]) {
    const last = from + LENGTHS[step] - 1n;
    steps.push({ start: instantFrom(from < start ? start : from), end: instantFrom(last > end ? end : last) });
  }
  return steps;
};
