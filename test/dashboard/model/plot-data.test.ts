import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Series, SeriesStepCounts } from '../../../src/dashboard/browser/model/answers.ts';
import { CATEGORY_MAPS, orderedCategories } from '../../../src/dashboard/browser/model/categories.ts';
import { countMarks, drawnSteps, peakOf, plotData, timeMarks } from '../../../src/dashboard/browser/model/plot-data.ts';
import { Times } from '../../../src/dashboard/browser/model/times.ts';

const START = Date.parse('2026-11-21T00:00:00Z');

const categories = fc.uniqueArray(
  fc.oneof(fc.constantFrom('fire', 'smoke', 'structure', 'constructor', 'toString'), fc.stringMatching(/^[a-z]{1,6}$/)),
  { maxLength: 20 },
);

/** A series by hour whose steps all have the same categories, as the service answers. */
const seriesOf: fc.Arbitrary<Series> = categories.chain((names) => {
  const counts = fc
    .array(fc.nat(1_000), { minLength: names.length, maxLength: names.length })
    .map((values) => Object.fromEntries(names.map((name, index) => [name, values[index] ?? 0])));
  return fc
    .array(fc.tuple(counts, counts, counts, fc.nat(5_000)), { minLength: 1, maxLength: 30 })
    .map((steps): Series => ({
      step: 'hour',
      steps: steps.map(([detections, reviewed, annotations, frames], index): SeriesStepCounts => ({
        ts_utc_start: new Date(START + index * 3_600_000).toISOString(),
        ts_utc_end: new Date(START + (index + 1) * 3_600_000 - 1).toISOString(),
        total_events: frames,
        active_cameras: 1,
        reviewed_total_events: 0,
        annotated_total_events: 0,
        counts_per_category: detections,
        reviewed_counts_per_category: reviewed,
        annotated_counts_per_category: annotations,
      })),
    }));
});

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('a plot', () => {
  it('draws every count of the series, in at most eight colours, and has every category in its table', () => {
    fc.assert(
      fc.property(seriesOf, fc.constantFrom(...CATEGORY_MAPS), (series, fact) => {
        const { drawn: lines, columns, starts } = plotData(series, fact);

        expect(lines.length).toBeLessThanOrEqual(8);
        expect(starts).toEqual(series.steps.map((_, index) => START + index * 3_600_000));
        expect(columns.map(({ label }) => label)).toEqual(orderedCategories(series.steps));
        series.steps.forEach((step, index) => {
          expect(sum(lines.map(({ values }) => values[index] ?? Number.NaN))).toBe(sum(Object.values(step[fact])));
        });
      }),
    );
  });

  it('draws the same categories for every fact', () => {
    fc.assert(
      fc.property(seriesOf, (series) => {
        const [detections, reviews, annotations] = CATEGORY_MAPS.map((fact) =>
          plotData(series, fact).drawn.map(({ label, colour }) => [label, colour]),
        );

        expect(reviews).toEqual(detections);
        expect(annotations).toEqual(detections);
      }),
    );
  });

  it('has one line of frames, and one of cameras', () => {
    fc.assert(
      fc.property(seriesOf, (series) => {
        for (const fact of ['total_events', 'active_cameras'] as const) {
          expect(plotData(series, fact).drawn.map(({ values }) => values)).toEqual([
            series.steps.map((step) => step[fact]),
          ]);
        }
      }),
    );
  });

  it('finds its highest bar, and has marks up to it', () => {
    fc.assert(
      fc.property(seriesOf, (series) => {
        const { drawn } = plotData(series, 'counts_per_category');
        const most = Math.max(0, ...series.steps.map((step) => sum(Object.values(step.counts_per_category))));
        const marks = countMarks(most);

        expect(peakOf(drawn)?.count ?? 0).toBe(most);
        expect(marks.at(-1)).toBeGreaterThanOrEqual(most);
        expect(marks.at(-2)).toBeLessThan(Math.max(most, 4));
        expect(marks.length).toBeLessThanOrEqual(6);
        expect(marks.every(Number.isInteger)).toBe(true);
      }),
    );
  });

  it.each([
    ['hour', 24, ['21 Nov', '04:00', '08:00', '12:00', '16:00', '20:00']],
    ['minute', 60, ['21 Nov', '00:10', '00:20', '00:30', '00:40', '00:50']],
    ['hour', 168, ['21 Nov', '22 Nov', '23 Nov', '24 Nov', '25 Nov', '26 Nov', '27 Nov']],
  ] as const)('by %s, with %i steps, has round times of the reader’s clock beneath it', (step, count, marks) => {
    const midnight = Date.parse('2026-11-21T08:00:00Z');
    const length = { minute: 60_000, hour: 3_600_000 }[step];
    const starts = Array.from({ length: count }, (_, index) => midnight + index * length);

    expect(timeMarks({ starts, step }, new Times('local', 'America/Los_Angeles')).map(({ text }) => text)).toEqual(
      marks,
    );
  });

  it('begins a ragged first step where the whole step begins', () => {
    const [step] = fc.sample(seriesOf, { numRuns: 1, seed: 1 })[0]?.steps ?? [];
    if (step === undefined) throw new Error('no step');
    const series: Series = { step: 'hour', steps: [{ ...step, ts_utc_start: '2026-11-21T08:17:00+00:00' }] };

    expect(plotData(series, 'total_events').starts).toEqual([Date.parse('2026-11-21T08:00:00Z')]);
  });

  it('draws nothing for hours that have not begun, unless they have counts', () => {
    const step = {
      ts_utc_end: '',
      active_cameras: 0,
      reviewed_total_events: 0,
      annotated_total_events: 0,
      counts_per_category: {},
      reviewed_counts_per_category: {},
      annotated_counts_per_category: {},
    };
    const hours = (frames: readonly number[]): Series => ({
      step: 'hour',
      steps: frames.map((total, index) => ({
        ...step,
        total_events: total,
        ts_utc_start: new Date(START + index * 3_600_000).toISOString(),
      })),
    });
    const now = START + 1.5 * 3_600_000;

    expect(drawnSteps(plotData(hours([3, 0, 0, 0]), 'total_events'), now)).toBe(2);
    expect(drawnSteps(plotData(hours([3, 0, 1, 0]), 'total_events'), now)).toBe(3);
    expect(drawnSteps(plotData(hours([3, 0]), 'total_events'), START + 9 * 3_600_000)).toBe(2);
  });
});
