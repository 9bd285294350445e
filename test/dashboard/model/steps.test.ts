import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { DAY_MS, seriesStep, STEP_MS, type Step } from '../../../src/dashboard/browser/model/steps.ts';

const NOON = Date.parse('2026-11-20T12:00:00Z');
const HOUR = 3_600_000;

it.each<[minutes: number, Step]>([
  [10, 'minute'],
  [60, 'minute'],
  [120, 'minute'],
  [6 * 60, '5_minutes'],
  [12 * 60, '10_minutes'],
  [24 * 60, '30_minutes'],
  [5 * 24 * 60, 'hour'],
  [7 * 24 * 60, '3_hours'],
  [30 * 24 * 60, '6_hours'],
  [31 * 24 * 60, 'day'],
  [366 * 24 * 60, 'day'],
])('%i minutes are plotted by %s', (minutes, step) => {
  const start = Math.floor(NOON / DAY_MS) * DAY_MS;
  expect(seriesStep(start, start + minutes * 60_000 - 1)).toBe(step);
});

it('a plot has 24 to 120 bars, for any range from 24 minutes to 120 days', () => {
  const range = fc.tuple(fc.integer({ min: 0, max: 365 * 24 * 60 }), fc.integer({ min: 24, max: 119 * 24 * 60 }));
  fc.assert(
    fc.property(range, ([minute, minutes]) => {
      const [start, end] = [NOON - minute * 60_000, NOON - (minute - minutes) * 60_000 - 1];
      const length = STEP_MS[seriesStep(start, end)];
      const bars = Math.floor(end / length) - Math.floor(start / length) + 1;
      expect(bars).toBeGreaterThanOrEqual(24);
      expect(bars).toBeLessThanOrEqual(120);
    }),
  );
});

it('over 120 days there is one bar a day, under 24 minutes one a minute', () => {
  expect(seriesStep(NOON - 121 * DAY_MS, NOON)).toBe('day');
  expect(seriesStep(NOON - 23 * 60_000, NOON)).toBe('minute');
  expect(seriesStep(NOON - HOUR, NOON)).toBe('minute');
});
