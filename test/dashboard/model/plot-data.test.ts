import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Series } from '../../../src/dashboard/browser/model/answers.ts';
import { orderedCategories, paletteOf } from '../../../src/dashboard/browser/model/categories.ts';
import { countMarks, peakOf, plotData, timeMarks } from '../../../src/dashboard/browser/model/plot-data.ts';
import { DAY_MS, seriesStep, STEP_MS, type Step, STEPS } from '../../../src/dashboard/browser/model/steps.ts';
import { shortDay, Times } from '../../../src/dashboard/browser/model/times.ts';

const START = Date.parse('2026-11-21T00:00:00Z');
const HOUR = 3_600_000;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Detections by hour, from one instant to another. */
const hours = (
  counts: readonly Readonly<Record<string, number>>[],
  from = START,
  until = START + 30 * DAY_MS,
): Series => ({
  step: 'hour',
  steps: counts.map((detections, index) => ({
    ts_utc_start: new Date(Math.max(from, START + index * HOUR)).toISOString(),
    ts_utc_end: new Date(Math.min(until, START + (index + 1) * HOUR) - 1).toISOString(),
    total_events: 1,
    active_cameras: 1,
    reviewed_total_events: 0,
    annotated_total_events: 0,
    counts_per_category: detections,
    reviewed_counts_per_category: {},
    annotated_counts_per_category: {},
  })),
});

const names = fc.uniqueArray(fc.constantFrom(...'fire smoke constructor toString a b c d e f g h i'.split(' ')));
/** All steps have the same categories, as in an answer of the service. */
const series = names
  .chain((all) =>
    fc.array(fc.tuple(...all.map((name) => fc.tuple(fc.constant(name), fc.nat(1_000)))), {
      minLength: 1,
      maxLength: 30,
    }),
  )
  .map((steps) => hours(steps.map((counts) => Object.fromEntries(counts))));

/** Two hours without counts. */
const plotted = (...range: readonly [from?: number, until?: number]) =>
  plotData(hours([{}, {}], ...range), 'counts_per_category', new Map());

describe('a plot', () => {
  it('has every count in at most eight lines, every category in its table, and marks up to its highest bar', () => {
    fc.assert(
      fc.property(series, (each) => {
        const counts = each.steps.map(({ counts_per_category: of }) => of);
        const totals = Object.fromEntries(orderedCategories(each.steps).map((name, at) => [name, 100 - at]));
        const palette = paletteOf({
          ...each.steps[0],
          counts_per_category: totals,
          reviewed_counts_per_category: {},
          annotated_counts_per_category: {},
        });
        const { drawn, columns, starts } = plotData(each, 'counts_per_category', palette);
        const sums = counts.map((of) => sum(Object.values(of)));
        expect(drawn.length).toBeLessThanOrEqual(8);
        expect(starts.map((_, step) => sum(drawn.map(({ values }) => values[step] ?? Number.NaN)))).toEqual(sums);
        expect(columns.map(({ label }) => label)).toEqual(orderedCategories(each.steps));
        expect(columns.map(({ values }) => values)).toEqual(columns.map(({ label }) => counts.map((of) => of[label])));
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

  it('starts where its first whole step starts, and knows which steps are only a part', () => {
    expect(plotted()).toMatchObject({ starts: [START, START + HOUR], partial: [] });
    expect(plotted(START + 17 * 60_000, START + 1.7 * HOUR)).toMatchObject({
      starts: [START, START + HOUR],
      partial: [0, 1],
    });
  });
});

describe('the marks of time', () => {
  it.each([
    ['30_minutes', 48, ['21 Nov', '04:00', '08:00', '12:00', '16:00', '20:00']],
    ['minute', 60, ['21 Nov', '00:10', '00:20', '00:30', '00:40', '00:50']],
    ['hour', 112, ['21 Nov', '22 Nov', '23 Nov', '24 Nov', '25 Nov']],
  ] as const)('by %s, of %i steps, are round local times', (step, count, marks) => {
    const starts = Array.from({ length: count }, (_, index) => START + 8 * HOUR + index * STEP_MS[step]);
    const times = new Times('local', 'America/Los_Angeles');
    expect(timeMarks({ starts, step }, times).map(({ text }) => text)).toEqual(marks);
  });

  it('are one to seven starts of steps, in every zone, for every step and range', () => {
    // Most of these zones are not whole hours from UTC; two change their clocks by half an hour, or at midnight.
    const zones =
      'UTC America/Los_Angeles Asia/Kathmandu America/St_Johns Pacific/Chatham Australia/Lord_Howe America/Santiago';
    const range = fc.record({
      times: fc.constantFrom(...zones.split(' ').map((zone) => new Times('local', zone))),
      step: fc.constantFrom(...STEPS),
      first: fc.integer({ min: 0, max: 3 * 366 * 24 * 60 }),
      count: fc.integer({ min: 1, max: 130 }),
    });
    fc.assert(
      fc.property(range, ({ times, step, first, count }) => {
        const length = STEP_MS[step];
        const start = Math.floor((Date.parse('2024-01-01') + first * 60_000) / length) * length;
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
    );
  });
});

describe('the step of a series', () => {
  it.each<[minutes: number, Step]>([
    [10, 'minute'],
    [120, 'minute'],
    [6 * 60, '5_minutes'],
    [12 * 60, '10_minutes'],
    [24 * 60, '30_minutes'],
    [5 * 24 * 60, 'hour'],
    [7 * 24 * 60, '3_hours'],
    [30 * 24 * 60, '6_hours'],
    [31 * 24 * 60, 'day'],
    [366 * 24 * 60, 'day'],
  ])('of %i minutes is %s', (minutes, step) => {
    expect(seriesStep(START, START + minutes * 60_000 - 1)).toBe(step);
  });

  it('gives 24 to 120 bars, from 24 minutes to 120 days', () => {
    const range = fc.tuple(fc.integer({ min: 0, max: 365 * 24 * 60 }), fc.integer({ min: 24, max: 119 * 24 * 60 }));
    fc.assert(
      fc.property(range, ([minute, minutes]) => {
        const [start, end] = [START - minute * 60_000, START - (minute - minutes) * 60_000 - 1];
        const length = STEP_MS[seriesStep(start, end)];
        const bars = Math.floor(end / length) - Math.floor(start / length) + 1;
        expect(bars).toBeGreaterThanOrEqual(24);
        expect(bars).toBeLessThanOrEqual(120);
      }),
    );
  });
});
