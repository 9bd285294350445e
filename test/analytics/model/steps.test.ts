import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { formatInstant, instantFrom, parseInstant } from '../../../src/analytics/model/instant.ts';
import { piecesOf } from '../../../src/analytics/model/period.ts';
import { countSteps, type Step, STEPS, stepsOf } from '../../../src/analytics/model/steps.ts';
import { periods } from '../arbitraries.ts';

const LENGTHS = { minute: 60_000_000n, hour: 3_600_000_000n, day: 86_400_000_000n };

const at = (text: string) => instantFrom(parseInstant(text) ?? -(2n ** 70n));

/** Periods that have not too many steps. */
const periodsOf = (step: Step) => periods.filter((period) => countSteps(period, step) <= 1_500);

describe('the steps of a period', () => {
  it.each(STEPS)('%ss cover it exactly, in order, each within one of UTC', (step) => {
    const length = LENGTHS[step];
    fc.assert(
      fc.property(periodsOf(step), (period) => {
        const steps = stepsOf(period, step);
        const ends = steps.map(({ end }) => end);
        expect([steps.length, steps[0]?.start, ends.at(-1)]).toEqual([
          countSteps(period, step),
          period.start,
          period.end,
        ]);
        expect(steps.slice(1).map(({ start }) => start - 1n)).toEqual(ends.slice(0, -1));
        expect(steps.filter(({ start, end }) => start / length !== end / length)).toEqual([]);
        expect(steps.slice(1).filter(({ start }) => start % length !== 0n)).toEqual([]);
      }),
    );
  });

  it.each(STEPS)('%ss are each one piece of one day', (step) => {
    fc.assert(
      fc.property(periodsOf(step), (period) => {
        expect(stepsOf(period, step).filter((one) => piecesOf(one).length !== 1)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('are ragged at both ends', () => {
    const period = { start: at('2026-11-21T08:30:00.5Z'), end: at('2026-11-21T10:00:00Z') };
    expect(stepsOf(period, 'hour').map(({ start, end }) => [formatInstant(start), formatInstant(end)])).toEqual([
      ['2026-11-21T08:30:00.500000+00:00', '2026-11-21T08:59:59.999999+00:00'],
      ['2026-11-21T09:00:00+00:00', '2026-11-21T09:59:59.999999+00:00'],
      ['2026-11-21T10:00:00+00:00', '2026-11-21T10:00:00+00:00'],
    ]);
  });

  it.each([
    ['before 1970', '1969-12-31T23:59:59.999999Z', '1970-01-01T00:00:00Z', 2],
    ['in the first year there is', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z', 1],
    ['at the end of the last year there is', '9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z', 1],
  ])('are counted %s', (_, start, end, count) => {
    for (const step of STEPS) {
      expect(countSteps({ start: at(start), end: at(end) }, step)).toBe(count);
      expect(stepsOf({ start: at(start), end: at(end) }, step)).toHaveLength(count);
    }
  });
});
