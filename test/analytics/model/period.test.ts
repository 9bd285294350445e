import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  dayOf,
  endOfDay,
  isDay,
  microsecondOfMinute,
  minuteOfDay,
  startOfDay,
} from '../../../src/analytics/model/day.ts';
import { formatInstant, instantFrom, type Instant, parseInstant } from '../../../src/analytics/model/instant.ts';
import { piecesOf, type DayPiece } from '../../../src/analytics/model/period.ts';
import { countSteps, STEPS, stepsOf } from '../../../src/analytics/model/steps.ts';
import { instants, instantsAtBoundaries, periods } from '../arbitraries.ts';

const LENGTHS = {
  minute: 60_000_000n,
  '5_minutes': 300_000_000n,
  '10_minutes': 600_000_000n,
  '30_minutes': 1_800_000_000n,
  hour: 3_600_000_000n,
  '3_hours': 10_800_000_000n,
  '6_hours': 21_600_000_000n,
  day: 86_400_000_000n,
};

const at = (text: string): Instant => instantFrom(parseInstant(text) ?? -(2n ** 70n));
const FIRST = at('0001-01-01T00:00:00Z');
const LAST = at('9999-12-31T23:59:59.999999Z');

/** Texts that are not a UTC day that exists. Which dates exist is tested with instants. */
const NO_DAYS = [
  ...'2026-02-29 0000-01-01 -001-01-01 10000-01-01 2026-1-1 26-11-21 2026/11/21 20261121 2026-11-21T00:00:00Z'.split(
    ' ',
  ),
  ...'2026-11-21Z +2026-11-21 ２０２６-11-21 2026-W47-6 2026-325 today 2026-11-21,2026-11-22'.split(' '),
  '',
  '2026-11-21 ',
  ' 2026-11-21',
  '2026-11-21\n',
  '2026-11-21\0',
];

describe('a day', () => {
  it('is a text that is the date of its first and its last microsecond, and no other text', () => {
    for (const text of ['2026-11-21', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31', '1969-12-31']) {
      expect([text, isDay(text)]).toEqual([text, true]);
    }
    for (const text of NO_DAYS) expect([text, isDay(text)]).toEqual([text, false]);
    const day = dayOf(at('2026-11-21T23:30:00-01:00'));
    expect(formatInstant(startOfDay(day))).toBe('2026-11-22T00:00:00+00:00');
    expect(formatInstant(endOfDay(day))).toBe('2026-11-22T23:59:59.999999+00:00');
  });

  it('and its minute and microsecond are those of the clock, at any instant', () => {
    const any = fc.oneof(instants, instantsAtBoundaries, fc.constantFrom(FIRST, LAST, instantFrom(-1n)));
    fc.assert(
      fc.property(any, (instant) => {
        const [, date, hours, minutes, seconds = ''] =
          /^(.{10})T(..):(..):([\d.]+)\+00:00$/.exec(formatInstant(instant)) ?? [];
        const day = dayOf(instant);
        expect([day, isDay(day), minuteOfDay(instant)]).toEqual([date, true, Number(hours) * 60 + Number(minutes)]);
        expect(microsecondOfMinute(instant)).toBe(Math.round(Number(seconds) * 1_000_000));
        expect(startOfDay(day) <= instant && instant <= endOfDay(day)).toBe(true);
        expect(endOfDay(day) - startOfDay(day) + 1n).toBe(LENGTHS.day);
      }),
    );
  });
});

/** What the parts of a piece cover: the day, hours, minutes, and partial minutes. */
const spansOf = ({ day, whole, hours, minutes, partialMinutes }: DayPiece) => {
  const spans = (numbers: readonly number[], length: bigint) =>
    numbers
      .map((number) => startOfDay(day) + BigInt(number) * length)
      .map((start) => ({ start, end: start + length - 1n }));
  const ofDay = spans(whole ? [0] : [], LENGTHS.day);
  return [...ofDay, ...spans(hours, LENGTHS.hour), ...spans(minutes, LENGTHS.minute), ...partialMinutes];
};

describe('the pieces of a period', () => {
  const any = fc.oneof(
    periods,
    fc.constantFrom({ start: FIRST, end: FIRST }, { start: instantFrom(LAST - LENGTHS.day + 1n), end: LAST }),
  );

  it('cover exactly the period, with at most two partial minutes, each in the minute of the day that it names', () => {
    fc.assert(
      fc.property(any, (period) => {
        const pieces = piecesOf(period);
        const spans = pieces.flatMap(spansOf).sort((left, right) => (left.start < right.start ? -1 : 1));
        expect([spans.at(0)?.start, spans.at(-1)?.end]).toEqual([period.start, period.end]);
        expect(spans.slice(1).map(({ start }) => start - 1n)).toEqual(spans.slice(0, -1).map(({ end }) => end));
        const partial = pieces.flatMap(({ day, partialMinutes }) => partialMinutes.map((own) => [day, own] as const));
        expect(partial.length).toBeLessThanOrEqual(2);
        for (const [day, { minute, start, end }] of partial) {
          expect([dayOf(start), minuteOfDay(start), minuteOfDay(end)]).toEqual([day, minute, minute]);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('the steps of a period', () => {
  it.each(STEPS)('of %s cover it exactly, in order, each within one of UTC and so one piece of one day', (step) => {
    const length = LENGTHS[step];
    const few = periods.filter((period) => countSteps(period, step) <= 1_500);
    const ends = fc.constantFrom({ start: FIRST, end: FIRST }, { start: LAST, end: LAST });
    const year1970 = fc.constant({ start: instantFrom(-1n), end: instantFrom(0n) });
    fc.assert(
      fc.property(fc.oneof({ weight: 5, arbitrary: few }, ends, year1970), (period) => {
        const steps = stepsOf(period, step);
        expect([steps.length, steps.at(0)?.start, steps.at(-1)?.end]).toEqual([
          countSteps(period, step),
          period.start,
          period.end,
        ]);
        expect(steps.slice(1).map(({ start }) => start - 1n)).toEqual(steps.slice(0, -1).map(({ end }) => end));
        expect(steps.slice(1).filter(({ start }) => start % length !== 0n)).toEqual([]);
        expect(steps.filter((one) => one.end - one.start >= length || piecesOf(one).length !== 1)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});
