import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { seriesStep, STEP_MS } from '../../../src/dashboard/browser/model/steps.ts';
import { timeMarks } from '../../../src/dashboard/browser/model/time-marks.ts';
import { Times } from '../../../src/dashboard/browser/model/times.ts';

const START = Date.parse('2026-11-21T00:00:00Z');

it.each([
  ['30_minutes', 48, ['21 Nov', '04:00', '08:00', '12:00', '16:00', '20:00']],
  ['minute', 35, ['21 Nov', '00:05', '00:10', '00:15', '00:20', '00:25', '00:30']],
  ['minute', 105, ['21 Nov', '00:15', '00:30', '00:45', '01:00', '01:15', '01:30']],
  ['5_minutes', 42, ['21 Nov', '00:30', '01:00', '01:30', '02:00', '02:30', '03:00']],
  ['5_minutes', 84, ['21 Nov', '01:00', '02:00', '03:00', '04:00', '05:00', '06:00']],
  ['10_minutes', 84, ['21 Nov', '02:00', '04:00', '06:00', '08:00', '10:00', '12:00']],
  ['30_minutes', 42, ['21 Nov', '03:00', '06:00', '09:00', '12:00', '15:00', '18:00']],
  ['30_minutes', 84, ['21 Nov', '06:00', '12:00', '18:00', '22 Nov', '06:00', '12:00']],
  ['hour', 84, ['21 Nov', '12:00', '22 Nov', '12:00', '23 Nov', '12:00', '24 Nov']],
  ['3_hours', 112, ['21 Nov', '23 Nov', '25 Nov', '27 Nov', '29 Nov', '1 Dec', '3 Dec']],
  ['6_hours', 84, ['21 Nov', '24 Nov', '27 Nov', '30 Nov', '3 Dec', '6 Dec', '9 Dec']],
  ['6_hours', 116, ['21 Nov', '26 Nov', '1 Dec', '6 Dec', '11 Dec', '16 Dec']],
  ['minute', 60, ['21 Nov', '00:10', '00:20', '00:30', '00:40', '00:50']],
  ['hour', 112, ['21 Nov', '22 Nov', '23 Nov', '24 Nov', '25 Nov']],
  ['day', 100, ['21 Nov', '6 Dec', '21 Dec', '5 Jan', '20 Jan', '4 Feb', '19 Feb']],
] as const)('the marks of time by %s, of %i steps, are at most seven round local times', (step, count, marks) => {
  const starts = Array.from({ length: count }, (_, index) => START + 8 * STEP_MS.hour + index * STEP_MS[step]);
  const times = new Times('local', 'America/Los_Angeles');
  expect(timeMarks({ starts, step }, times).map(({ text }) => text)).toEqual(marks);
});

it('seven days have dates in a zone of half hours, also where no step starts at midnight', () => {
  const times = new Times('local', 'Asia/Kolkata');
  const starts = Array.from({ length: 57 }, (_, index) => START + index * STEP_MS['3_hours']);
  const marks = timeMarks({ starts, step: '3_hours' }, times);
  expect(marks.map(({ text }) => text)).toEqual(['22 Nov', '24 Nov', '26 Nov', '28 Nov']);
  expect((marks[0]?.at ?? 0) * 57 * 3).toBeCloseTo(18.5);
});

it('the axis has a date, from 1 to 7 marks in order, in every zone and through changing clocks', () => {
  const zones = 'UTC America/Los_Angeles Asia/Kathmandu Australia/Lord_Howe America/Santiago Pacific/Auckland'.split(
    ' ',
  );
  const anyTimes = fc.constantFrom(...zones.map((zone) => new Times('local', zone)));
  fc.assert(
    fc.property(
      anyTimes,
      fc.nat(500 * 24 * 60),
      fc.integer({ min: 24, max: 60 * 24 * 60 }),
      (times, minute, minutes) => {
        const [from, until] = [START - minute * 60_000, START - (minute - minutes) * 60_000];
        const step = seriesStep(from, until - 1);
        const first = Math.floor(from / STEP_MS[step]) * STEP_MS[step];
        const starts = Array.from(
          { length: Math.ceil((until - first) / STEP_MS[step]) },
          (_, index) => first + index * STEP_MS[step],
        );
        const marks = timeMarks({ starts, step }, times);
        expect(marks.length).toBeGreaterThanOrEqual(1);
        expect(marks.length).toBeLessThanOrEqual(8);
        expect(marks[0]?.text).toMatch(/^\d+ [A-Z]/);
        expect(marks.map(({ at }) => at)).toEqual(marks.map(({ at }) => at).sort((left, right) => left - right));
        expect(marks.every(({ at }) => at >= 0 && at < 1)).toBe(true);
      },
    ),
    { numRuns: 200 },
  );
});
