import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import type { Series } from '../../../src/dashboard/browser/model/answers.ts';
import { orderedCategories, paletteOf } from '../../../src/dashboard/browser/model/categories.ts';
import { countMarks, peakOf, plotData } from '../../../src/dashboard/browser/model/plot-data.ts';
import { seriesStep, STEP_MS, STEPS, stepText } from '../../../src/dashboard/browser/model/steps.ts';
import { endText, startText } from '../../../src/dashboard/browser/model/times.ts';
import { trendOf } from '../../../src/dashboard/browser/model/trends.ts';

const START = Date.parse('2026-11-21T00:00:00Z');

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** All steps have the same categories, as in an answer of the service. */
const counts = fc
  .uniqueArray(fc.constantFrom(...'fire smoke constructor toString a b c d e f g h i'.split(' ')))
  .chain((all) => fc.array(fc.record(Object.fromEntries(all.map((name) => [name, fc.nat(1_000)]))), { minLength: 1 }));

const TOTALS = { total_events: 1, active_cameras: 1, reviewed_total_events: 0, annotated_total_events: 0 };
const NO_REVIEW = { reviewed_counts_per_category: {}, annotated_counts_per_category: {} };

/** Detections by hour. */
const stepsOf = (all: readonly Readonly<Record<string, number>>[]): Series['steps'] =>
  all.map((counts_per_category, index) => {
    const [start, end] = [index, index + 1].map((hour) => START + hour * STEP_MS.hour);
    const period = { ts_utc_start: startText(start ?? 0), ts_utc_end: endText(end ?? 0) };
    return { ...TOTALS, ...NO_REVIEW, ...period, counts_per_category };
  });

it('a plot has every count in at most eight lines, every category in its table, and marks up to its highest bar', () => {
  fc.assert(
    fc.property(counts, (all) => {
      const steps = stepsOf(all);
      const { drawn, columns, starts, partial } = plotData(
        { step: 'hour', steps },
        'counts_per_category',
        paletteOf(steps[0]),
      );
      expect(partial).toEqual([]);
      const sums = all.map((each) => sum(Object.values(each)));
      expect(drawn.length).toBeLessThanOrEqual(8);
      expect(starts.map((_, step) => sum(drawn.map(({ values }) => values[step] ?? Number.NaN)))).toEqual(sums);
      expect(columns.map(({ label }) => label)).toEqual(orderedCategories(steps));
      expect(columns.map(({ values }) => values)).toEqual(columns.map(({ label }) => all.map((each) => each[label])));
      const most = Math.max(0, ...sums);
      const marks = countMarks(most);
      expect(peakOf(drawn)?.count ?? 0).toBe(most);
      expect(marks.at(-1)).toBeGreaterThanOrEqual(most);
      expect(marks.at(-2)).toBeLessThan(Math.max(most, 4));
      expect(marks.length).toBeLessThanOrEqual(6);
      expect(marks.every(Number.isInteger)).toBe(true);
    }),
  );
});

it('a plot starts where its first whole step starts, and knows the steps of which it has only a part', () => {
  const ends = [{ ts_utc_start: '2026-11-21T00:17:00Z' }, { ts_utc_end: '2026-11-21T01:41:59.999999Z' }];
  const steps = stepsOf([{}, {}]).map((step, index) => Object.assign(step, ends[index]));
  const starts = [START, START + STEP_MS.hour];
  expect(plotData({ step: 'hour', steps }, 'total_events', new Map())).toMatchObject({ starts, partial: [0, 1] });
});

it('a series has the shortest step with at most 120 bars: 24 or more, from 24 minutes to 120 days', () => {
  fc.assert(
    fc.property(fc.nat(365 * 24 * 60), fc.integer({ min: 24, max: 119 * 24 * 60 }), (minute, minutes) => {
      const [start, end] = [START - minute * 60_000, START - (minute - minutes) * 60_000 - 1];
      const barsOf = (length: number) => Math.floor(end / length) - Math.floor(start / length) + 1;
      const step = seriesStep(start, end);
      expect(barsOf(STEP_MS[step])).toBeGreaterThanOrEqual(24);
      expect(STEPS.find((each) => barsOf(STEP_MS[each]) <= 120)).toBe(step);
    }),
  );
  expect([120, 121].map((minutes) => seriesStep(0, minutes * STEP_MS.minute - 1))).toEqual(['minute', '5_minutes']);
  expect(seriesStep(START, START + 366 * STEP_MS.day)).toBe('day');
});

it('the steps have the names and lengths of the service', () => {
  expect(STEPS.map((step) => [stepText(step), STEP_MS[step] / 60_000])).toEqual([
    ['minute', 1],
    ['5 minutes', 5],
    ['10 minutes', 10],
    ['30 minutes', 30],
    ['hour', 60],
    ['3 hours', 180],
    ['6 hours', 360],
    ['UTC day', 1_440],
  ]);
});

const trend = (frames: readonly number[], hours: number): readonly number[] => {
  const steps = stepsOf(frames.map(() => ({}))).map((step, at) => Object.assign(step, { total_events: frames[at] }));
  return trendOf({ step: 'hour', steps }, 'total_events', START + hours * STEP_MS.hour);
};

it('a trend has the part of its highest count of each step that has begun; one step, or nothing, is no trend', () => {
  expect(trend([1, 4, 2, 8], 2)).toEqual([0.25, 1, 0.5]);
  expect([trend([0, 4], 1), trend([5, 5], 0.9), trend([0, 0], 1)]).toEqual([[0, 1], [], []]);
});
