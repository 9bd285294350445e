import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Series } from '../../../src/dashboard/browser/model/answers.ts';
import { CATEGORY_MAPS, orderedCategories, paletteOf } from '../../../src/dashboard/browser/model/categories.ts';
import {
  countMarks,
  peakOf,
  plotData,
  type PlottedFact,
  timeMarks,
} from '../../../src/dashboard/browser/model/plot-data.ts';
import { STEP_MS, STEPS } from '../../../src/dashboard/browser/model/steps.ts';
import { shortDay, Times } from '../../../src/dashboard/browser/model/times.ts';

const START = Date.parse('2026-11-21T00:00:00Z');
const HOUR = 3_600_000;

type Counts = Readonly<Record<string, number>>;

type Step = readonly [frames: number, ...maps: readonly Counts[]];

/** A series by hour. Of each step: its frames, and its detections, reviews and annotations. */
const seriesBy = (steps: readonly Step[], start = START): Series => ({
  step: 'hour',
  steps: steps.map(([frames, detections = {}, reviewed = {}, annotations = {}], index) => ({
    ts_utc_start: new Date(start + index * HOUR).toISOString(),
    ts_utc_end: new Date(START + (index + 1) * HOUR - 1).toISOString(),
    total_events: frames,
    active_cameras: 1,
    reviewed_total_events: 0,
    annotated_total_events: 0,
    counts_per_category: detections,
    reviewed_counts_per_category: reviewed,
    annotated_counts_per_category: annotations,
  })),
});

const categories = fc.uniqueArray(
  fc.oneof(fc.constantFrom('fire', 'smoke', 'structure', 'constructor', 'toString'), fc.stringMatching(/^[a-z]{1,6}$/)),
  { maxLength: 20 },
);

/** All steps have the same categories, as the service answers. */
const series: fc.Arbitrary<Series> = categories.chain((names) => {
  const counts = fc
    .array(fc.nat(1_000), { minLength: names.length, maxLength: names.length })
    .map((values) => Object.fromEntries(names.map((name, index) => [name, values[index] ?? 0])));
  return fc
    .array(fc.tuple(fc.nat(5_000), counts, counts, counts), { minLength: 1, maxLength: 30 })
    .map((steps) => seriesBy(steps));
});

/** The palette of everything that a series has. */
const paletteFor = ({ steps }: Series) => {
  const all = (map: (typeof CATEGORY_MAPS)[number]): Counts => {
    const counts: Record<string, number> = {};
    for (const step of steps) {
      for (const [name, count] of Object.entries(step[map])) {
        counts[name] = (Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0) + count;
      }
    }
    return counts;
  };
  return paletteOf({
    counts_per_category: all('counts_per_category'),
    reviewed_counts_per_category: all('reviewed_counts_per_category'),
    annotated_counts_per_category: all('annotated_counts_per_category'),
  });
};

const plotted = (of: Series, fact: PlottedFact) => plotData(of, fact, paletteFor(of));

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('a plot', () => {
  it('draws every count, in at most eight lines that are the same for every fact, and its table has every category', () => {
    fc.assert(
      fc.property(series, (each) => {
        const plots = CATEGORY_MAPS.map((fact) => plotted(each, fact));
        for (const [index, { drawn, columns, starts }] of plots.entries()) {
          const fact = CATEGORY_MAPS[index] ?? 'counts_per_category';
          expect(drawn.length).toBeLessThanOrEqual(8);
          expect(drawn.map(({ label }) => label)).toEqual(plots[0]?.drawn.map(({ label }) => label));
          expect(starts).toEqual(each.steps.map((_, step) => START + step * HOUR));
          expect(columns.map(({ label }) => label)).toEqual(orderedCategories(each.steps));
          expect(starts.map((_, step) => sum(drawn.map(({ values }) => values[step] ?? Number.NaN)))).toEqual(
            each.steps.map((step) => sum(Object.values(step[fact]))),
          );
        }
      }),
    );
  });

  it('finds its highest bar, and has marks up to it', () => {
    fc.assert(
      fc.property(series, (each) => {
        const { drawn } = plotted(each, 'counts_per_category');
        const most = Math.max(0, ...each.steps.map((step) => sum(Object.values(step.counts_per_category))));
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
    ['30_minutes', 48, ['21 Nov', '04:00', '08:00', '12:00', '16:00', '20:00']],
    ['minute', 60, ['21 Nov', '00:10', '00:20', '00:30', '00:40', '00:50']],
    ['hour', 112, ['21 Nov', '22 Nov', '23 Nov', '24 Nov', '25 Nov']],
  ] as const)('by %s, with %i steps, has round times of the reader’s clock beneath it', (step, count, marks) => {
    const midnight = Date.parse('2026-11-21T08:00:00Z');
    const starts = Array.from({ length: count }, (_, index) => midnight + index * STEP_MS[step]);

    expect(timeMarks({ starts, step }, new Times('local', 'America/Los_Angeles')).map(({ text }) => text)).toEqual(
      marks,
    );
  });

  it('has marks in every zone, for every step and range: at least one, at most seven, at the start of a step', () => {
    // Hours are not whole from UTC in most of these; in two of them clocks change by half an hour, or at midnight.
    const zones =
      'UTC America/Los_Angeles Asia/Kathmandu Asia/Kolkata Australia/Adelaide America/St_Johns Asia/Tehran Pacific/Chatham Australia/Lord_Howe America/Santiago Europe/Berlin Pacific/Apia'.split(
        ' ',
      );
    const range = fc.record({
      zone: fc.constantFrom(...zones),
      step: fc.constantFrom(...STEPS),
      first: fc.integer({ min: 0, max: 3 * 366 * 24 * 60 }),
      count: fc.integer({ min: 1, max: 130 }),
    });
    fc.assert(
      fc.property(range, ({ zone, step, first, count }) => {
        const length = STEP_MS[step];
        const start = Math.floor((Date.parse('2024-01-01') + first * 60_000) / length) * length;
        const times = new Times('local', zone);
        const starts = Array.from({ length: count }, (_, index) => start + index * length);
        const marks = timeMarks({ starts, step }, times);
        expect(marks.length).toBeGreaterThanOrEqual(count >= 8 ? 2 : 1);
        expect(marks.length).toBeLessThanOrEqual(7);
        for (const { at, text } of marks) {
          const instant = starts[Math.round(at * count)] ?? Number.NaN;
          const wall = step === 'day' ? new Date(instant).toISOString() : times.wall(instant);
          expect(text).toBe(text.includes(':') ? wall.slice(11, 16) : shortDay(wall));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('shows which of its bars are of a part of their step only', () => {
    const whole = seriesBy([[1], [1]]);
    expect(plotted(whole, 'total_events').partial).toEqual([]);
    const [first, last] = whole.steps;
    if (first === undefined || last === undefined) throw new Error('there are no steps');
    const ragged = {
      ...whole,
      steps: [
        { ...first, ts_utc_start: first.ts_utc_start.replace(':00:00', ':17:00') },
        { ...last, ts_utc_end: last.ts_utc_end.replace(':59:59', ':41:59') },
      ],
    };
    expect(plotted(ragged, 'total_events').partial).toEqual([0, 1]);
  });

  it('begins a ragged first step where the whole step begins', () => {
    const ragged = seriesBy([[1]], START + 17 * 60_000);
    expect(plotted(ragged, 'total_events').starts).toEqual([START]);
  });
});
