import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { sensibleStep, stepCount } from '../../../src/dashboard/browser/model/series-step.ts';

const DAY = 86_400_000;
const start = fc.integer({ min: Date.parse('2000-01-01T00:00:00Z'), max: Date.parse('2026-11-21T00:00:00Z') });

it('never asks for more steps than the service answers, for any range that it takes', () => {
  fc.assert(
    fc.property(start, fc.integer({ min: 0, max: 366 * DAY }), (from, length) => {
      const steps = stepCount(from, from + length, sensibleStep(from, from + length));

      expect(steps).toBeGreaterThanOrEqual(1);
      expect(steps).toBeLessThanOrEqual(400);
    }),
  );
});

it.each([
  ['minute', 6 * 3_600_000],
  ['hour', DAY - 1],
  ['hour', 7 * DAY],
  ['day', 30 * DAY],
  ['day', 366 * DAY],
])('takes a %s a step for %d ms', (step, length) => {
  const from = Date.parse('2026-11-21T00:00:00Z');

  expect(sensibleStep(from, from + length)).toBe(step);
});
