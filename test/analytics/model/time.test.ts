import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { dayOf, endOfDay, isDay, minuteOfDay, startOfDay } from '../../../src/analytics/model/day.ts';
import {
  formatInstant,
  hasOffset,
  type Instant,
  instantFrom,
  instantFromMilliseconds,
  isInstant,
  parseInstant,
  sortableInstant,
} from '../../../src/analytics/model/instant.ts';
import { countSteps, piecesOf, STEPS, stepsOf } from '../../../src/analytics/model/period.ts';
import { HOUR, MINUTE } from '../counting.ts';
import { DAY } from '../oracle.ts';

const EIGHT = 1_795_248_000_000_000n; // 2026-11-21T08:00:00Z
const [FIRST, LAST] = [instantFrom(-62_135_596_800_000_000n), instantFrom(253_402_300_799_999_999n)];

/** Instants, often on the boundary of a minute, an hour or a day of five days, or a microsecond before or after it. */
const nearBoundaries = fc
  .record({
    into: fc.bigInt({ min: 20_776n * DAY, max: 20_781n * DAY }),
    unit: fc.constantFrom(1n, 1_000n, MINUTE, HOUR, DAY),
    beside: fc.constantFrom(-1n, 0n, 1n),
  })
  .map(({ into, unit, beside }) => instantFrom(into - (into % unit) + beside));
const instants = fc.oneof(
  fc.bigInt({ min: FIRST, max: LAST }).map(instantFrom),
  nearBoundaries,
  fc.constantFrom(FIRST, LAST, instantFrom(-1n)),
);

/** Other spellings of a time, and times that do not exist. In place of `_` there is a space. */
const NO_TIMES = `now 2026-11-21 2026-11-21T08:00Z 20261121T080000Z 2026-11-21T08:00:00,5Z 2026-11-21T08:00:00.Z 1795248000
  2026-11-21T08:00:00.1234567890123Z 2026-11-21T24:00:00Z 2026-11-21T23:60:00Z 2026-11-21T23:59:60Z 2026-02-29T00:00:00Z
  2100-02-29T00:00:00Z 2026-04-31T00:00:00Z 2026-13-01T00:00:00Z 2026-00-01T00:00:00Z 2026-01-00T00:00:00Z
  0000-12-31T23:59:59Z 0001-01-01T00:00:00+00:01 9999-12-31T23:59:59-00:01 10000-01-01T00:00:00Z +002026-11-21T08:00:00Z
  2026-11-21T08:00:00+1 2026-11-21T08:00:00+100 2026-11-21T08:00:00+0160 2026-11-21T08:00:00+24:00 2026-W47-6T08:00:00Z
  ２０２６-11-21T08:00:00Z 2026-11-21_08:00:00Z 2026-11-21T08:00:00_Z _2026-11-21T08:00:00Z 2026-11-21T08:00:00Z_`;
const NO_DAYS = `2026-02-29 0000-01-01 -001-01-01 10000-01-01 2026-1-1 26-11-21 2026/11/21 20261121 2026-11-21T00:00:00Z
  2026-11-21Z +2026-11-21 ２０２６-11-21 2026-W47-6 2026-325 today 2026-11-21,2026-11-22 2026-11-21_ _2026-11-21`;
const wordsOf = (text: string): readonly string[] => text.split(/\s+/).map((word) => word.replace('_', ' '));

describe('a time in ISO 8601', () => {
  it.each([
    [EIGHT, '2026-11-21T08:00:00Z 2026-11-21t08:00:00z 2026-11-21T08:00:00-00:00 2026-11-21T09:30:00+01:30'],
    [EIGHT, '2026-11-21T09:30:00+0130 2026-11-21T09:00:00+01 2026-11-20T08:01:00-23:59 2026-11-22T07:59:00+2359'],
    [EIGHT + 100_000n, '2026-11-21T08:00:00.1Z 2026-11-21T08:00:00.100Z'],
    [EIGHT + 123_456n, '2026-11-21T08:00:00.123456Z 2026-11-21T08:00:00.1234569Z 2026-11-21T08:00:00.123456999999Z'],
    [FIRST, '0001-01-01T00:00:00Z'],
    [LAST, '9999-12-31T23:59:59.999999Z'],
  ])('is %s as %s', (microseconds, texts) => {
    for (const text of texts.split(' '))
      expect([text, parseInstant(text), hasOffset(text)]).toEqual([text, microseconds, true]);
  });

  it('is UTC without an offset, and no other text; and a date is no other text', () => {
    const local = '2026-11-21T08:00:00';
    expect([parseInstant(local), hasOffset(local), hasOffset('now')]).toEqual([EIGHT, false, false]);
    expect(wordsOf(NO_TIMES).filter((text) => parseInstant(text) !== undefined)).toEqual([]);
    expect(wordsOf(NO_DAYS).filter(isDay)).toEqual([]);
    expect(['2026-11-21', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'].every(isDay)).toBe(true);
  });

  it('is answered with a fraction only if it has one, and comes back unchanged from an answer and from a row, which sorts as it', () => {
    const texts = ['2026-11-21T08:00:00+00:00', '2026-11-21T08:00:00.000001+00:00', '2026-11-21T08:00:00.500000+00:00'];
    expect([EIGHT, EIGHT + 1n, EIGHT + 500_000n].map((one) => formatInstant(instantFrom(one)))).toEqual(texts);
    fc.assert(
      fc.property(instants, instants, (one, other) => {
        expect([formatInstant(one), sortableInstant(one)].map(parseInstant)).toEqual([one, one]);
        const [left, right] = [sortableInstant(one), sortableInstant(other)];
        expect([left.length, left < right, left === right]).toEqual([27, one < other, one === other]);
      }),
    );
  });

  it('is in the years 0001 to 9999, and of the clock a whole millisecond', () => {
    expect([FIRST - 1n, FIRST, LAST, LAST + 1n].map(isInstant)).toEqual([false, true, true, false]);
    expect(() => instantFrom(LAST + 1n)).toThrow(RangeError);
    expect(instantFromMilliseconds(1_795_248_000_123.7)).toBe(EIGHT + 123_000n);
  });
});

it('the day and the minute of an instant are those of the clock', () => {
  fc.assert(
    fc.property(instants, (instant) => {
      const [, date, hours, minutes] = /^(.{10})T(..):(..):/.exec(formatInstant(instant)) ?? [];
      const day = dayOf(instant);
      expect([day, minuteOfDay(instant)]).toEqual([date, Number(hours) * 60 + Number(minutes)]);
      expect(startOfDay(day) <= instant && instant <= endOfDay(day)).toBe(true);
      expect(endOfDay(day) - startOfDay(day) + 1n).toBe(DAY);
    }),
  );
});

const LENGTHS = [1n, 5n, 10n, 30n, 60n, 180n, 360n, 1_440n].map((minutes) => minutes * MINUTE);
const periods = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(nearBoundaries, nearBoundaries) },
  fc.constantFrom<[Instant, Instant]>([FIRST, FIRST], [LAST, LAST], [instantFrom(-1n), instantFrom(0n)]),
);

// That the pieces of a period cover it exactly is played in the world of counting.
it.each(STEPS.map((step, index) => [step, LENGTHS[index] ?? 0n] as const))(
  'steps of %s cover a period exactly, in order, each within one of UTC and so one piece of one day',
  (step, length) => {
    const ordered = periods.map(([one, other]) =>
      one <= other ? { start: one, end: other } : { start: other, end: one },
    );
    const few = ordered.filter((period) => countSteps(period, step) <= 1_500);
    fc.assert(
      fc.property(few, (period) => {
        const steps = stepsOf(period, step);
        expect(steps).toHaveLength(countSteps(period, step));
        expect([steps.at(0)?.start, steps.at(-1)?.end]).toEqual([period.start, period.end]);
        expect(steps.slice(1).map(({ start }) => start - 1n)).toEqual(steps.slice(0, -1).map(({ end }) => end));
        expect(steps.slice(1).filter(({ start }) => start % length !== 0n)).toEqual([]);
        expect(steps.filter((one) => one.end - one.start >= length || piecesOf(one).length !== 1)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  },
);
