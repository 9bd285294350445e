import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { dayOf, endOfDay, isDay, MICROSECONDS, minuteOfDay, startOfDay } from '../../../src/analytics/model/day.ts';
import { formatInstant, instantFrom, parseInstant } from '../../../src/analytics/model/instant.ts';
import { instants, instantsAtBoundaries } from '../arbitraries.ts';
import { NO_DAYS } from './no-days.ts';

const at = (text: string) => instantFrom(parseInstant(text) ?? -(2n ** 70n));

describe('a day', () => {
  it.each(['2026-11-21', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31', '2026-12-31', '1969-12-31'])(
    '%s exists',
    (text) => {
      expect(isDay(text)).toBe(true);
    },
  );

  it.each(['', ...NO_DAYS])('%j does not', (text) => {
    expect(isDay(text)).toBe(false);
  });

  it('runs from 00:00:00 to 23:59:59.999999', () => {
    const day = dayOf(at('2026-11-21T12:00:00Z'));
    expect(formatInstant(startOfDay(day))).toBe('2026-11-21T00:00:00+00:00');
    expect(formatInstant(endOfDay(day))).toBe('2026-11-21T23:59:59.999999+00:00');
  });

  it.each([
    ['2026-11-20T23:59:59.999999Z', '2026-11-20'],
    ['2026-11-21T00:00:00Z', '2026-11-21'],
    ['2026-11-21T23:59:59.999999Z', '2026-11-21'],
    ['2026-11-21T23:30:00-01:00', '2026-11-22'],
    ['1969-12-31T23:59:59.999999Z', '1969-12-31'],
    ['1970-01-01T00:00:00Z', '1970-01-01'],
    ['0001-01-01T00:00:00Z', '0001-01-01'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31'],
  ])('%s is in the UTC day %s', (text, day) => {
    expect(dayOf(at(text))).toBe(day);
  });

  it('is that of every instant between its ends and of no other', () => {
    fc.assert(
      fc.property(fc.oneof(instants, instantsAtBoundaries), (instant) => {
        const day = dayOf(instant);
        expect(isDay(day)).toBe(true);
        const [start, end] = [startOfDay(day), endOfDay(day)];
        expect(start <= instant && instant <= end).toBe(true);
        expect(end - start).toBe(MICROSECONDS.day - 1n);
        expect(dayOf(start)).toBe(day);
        expect(dayOf(end)).toBe(day);
      }),
    );
  });
});

describe('the minute of the day', () => {
  it.each([
    ['2026-11-21T00:00:00Z', 0],
    ['2026-11-21T00:00:59.999999Z', 0],
    ['2026-11-21T00:01:00Z', 1],
    ['2026-11-21T08:15:30Z', 495],
    ['2026-11-21T23:59:59.999999Z', 1_439],
    ['1969-12-31T23:59:00Z', 1_439],
  ])('of %s is %i', (text, minute) => {
    expect(minuteOfDay(at(text))).toBe(minute);
  });

  it('is the clock time in minutes', () => {
    fc.assert(
      fc.property(instants, (instant) => {
        const [hours, minutes] = formatInstant(instant).slice(11, 16).split(':').map(Number);
        expect(minuteOfDay(instant)).toBe((hours ?? NaN) * 60 + (minutes ?? NaN));
      }),
    );
  });
});
