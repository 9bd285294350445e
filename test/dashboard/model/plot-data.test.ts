import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Series, SeriesStepCounts } from '../../../src/dashboard/browser/model/answers.ts';
import { barLayout } from '../../../src/dashboard/browser/model/bar-layout.ts';
import { categoryColours, SHARED_COLOUR } from '../../../src/dashboard/browser/model/category-colours.ts';
import { CATEGORY_MAPS, countOf, orderedCategories } from '../../../src/dashboard/browser/model/category-rows.ts';
import { drawnSteps, peakOf, plotData } from '../../../src/dashboard/browser/model/plot-data.ts';

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
  it('shows every count of the series, in at most eight lines', () => {
    fc.assert(
      fc.property(seriesOf, fc.constantFrom(...CATEGORY_MAPS), (series, fact) => {
        const { lines, starts } = plotData(series, fact);

        expect(lines.length).toBeLessThanOrEqual(8);
        expect(starts).toEqual(series.steps.map((_, index) => START / 1_000 + index * 3_600));
        series.steps.forEach((step, index) => {
          expect(sum(lines.map(({ values }) => values[index] ?? Number.NaN))).toBe(sum(Object.values(step[fact])));
        });
      }),
    );
  });

  it('gives a category the same colour for every fact, and no colour twice', () => {
    fc.assert(
      fc.property(seriesOf, (series) => {
        const [detections, reviews, annotations] = CATEGORY_MAPS.map((fact) =>
          plotData(series, fact).lines.map(({ label, colour }) => [label, colour]),
        );

        expect(reviews).toEqual(detections);
        expect(annotations).toEqual(detections);
        expect(new Set(detections?.map(([, colour]) => colour)).size).toBe(detections?.length);
      }),
    );
  });

  it('has one line of frames', () => {
    fc.assert(
      fc.property(seriesOf, (series) => {
        expect(plotData(series, 'total_events').lines.map(({ values }) => values)).toEqual([
          series.steps.map((step) => step.total_events),
        ]);
      }),
    );
  });

  it('finds its highest count', () => {
    fc.assert(
      fc.property(seriesOf, (series) => {
        const data = plotData(series, 'counts_per_category');
        const most = Math.max(0, ...data.lines.flatMap(({ values }) => values));

        expect(peakOf(data)?.count ?? 0).toBe(most);
      }),
    );
  });

  it('begins a ragged first step where the whole step begins', () => {
    const [step] = fc.sample(seriesOf, { numRuns: 1, seed: 1 })[0]?.steps ?? [];
    if (step === undefined) throw new Error('no step');
    const series: Series = { step: 'hour', steps: [{ ...step, ts_utc_start: '2026-11-21T08:17:00+00:00' }] };

    expect(plotData(series, 'total_events').starts).toEqual([Date.parse('2026-11-21T08:00:00Z') / 1_000]);
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

describe('categories', () => {
  it('are fire, smoke, structure, then the others by name', () => {
    const counts = { reviewed_counts_per_category: {}, annotated_counts_per_category: { bear: 1 } };

    expect(
      orderedCategories([{ ...counts, counts_per_category: { zebra: 1, structure: 0, smoke: 1, fire: 0 } }]),
    ).toEqual(['fire', 'smoke', 'structure', 'bear', 'zebra']);
  });

  it('are counted 0 where they are not there, whatever they are called', () => {
    expect(countOf({ fire: 3 }, 'fire')).toBe(3);
    expect(countOf({}, 'constructor')).toBe(0);
  });

  it('keep a colour alone where they are frequent; the rarest share one', () => {
    const counts_per_category = {
      fire: 0,
      ...Object.fromEntries('abcdefgh'.split('').map((name, index) => [name, index])),
    };
    const colours = categoryColours([
      { counts_per_category, reviewed_counts_per_category: {}, annotated_counts_per_category: {} },
    ]);

    expect(colours.get('fire')).toBe(0);
    expect([...colours].filter(([, colour]) => colour === SHARED_COLOUR).map(([name]) => name)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
  });
});

it('lays the bars of a step side by side inside the step', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.constantFrom(60, 3_600, 86_400), (lines, step) => {
      const bars = Array.from({ length: lines }, (_, line) => barLayout(line, lines, step));

      expect(bars[0]?.offset).toBeGreaterThan(0);
      const ends = bars.map(({ offset, width }) => offset + width);
      bars.slice(1).forEach(({ offset }, index) => expect(offset).toBeCloseTo(ends[index] ?? Number.NaN, 6));
      expect(ends.at(-1)).toBeLessThan(step);
    }),
  );
});
