import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isCalendarDay, shiftDay } from '../../../src/dashboard/browser/model/calendar-day.ts';
import { isLive, lastDayOf, neighbourDay } from '../../../src/dashboard/browser/model/view-steps.ts';

const NOW = Date.parse('2026-11-21T16:40:00Z');

const day = fc
  .integer({
    min: Date.parse('2000-01-01T00:00:00Z') / 86_400_000,
    max: Date.parse('2026-11-20T00:00:00Z') / 86_400_000,
  })
  .map((number) => new Date(number * 86_400_000).toISOString().slice(0, 10));

describe('earlier and later', () => {
  it('lead from any day in the past to its neighbour and back', () => {
    fc.assert(
      fc.property(day, (date) => {
        const later = neighbourDay({ kind: 'day', date }, 1, NOW);
        if (later === undefined) throw new Error('a day in the past has a later one');

        expect(lastDayOf(later, NOW)).toBe(shiftDay(date, 1));
        expect(neighbourDay(later, -1, NOW)).toEqual({ kind: 'day', date });
      }),
    );
  });

  it('lead from yesterday to the moving today, and not beyond it', () => {
    expect(neighbourDay({ kind: 'day', date: '2026-11-20' }, 1, NOW)).toEqual({ kind: 'today' });
    expect(neighbourDay({ kind: 'today' }, 1, NOW)).toBeUndefined();
    expect(neighbourDay({ kind: 'window' }, 1, NOW)).toBeUndefined();
  });

  it('lead from a range to the days beside it', () => {
    const range = { kind: 'range', start: '2026-11-10T08:00:00Z', end: '2026-11-12T09:00:00Z' } as const;

    expect(neighbourDay(range, -1, NOW)).toEqual({ kind: 'day', date: '2026-11-09' });
    expect(neighbourDay(range, 1, NOW)).toEqual({ kind: 'day', date: '2026-11-13' });
  });
});

it('knows which days exist', () => {
  expect(['2024-02-29', '2026-12-31', '0001-01-01'].filter(isCalendarDay)).toHaveLength(3);
  expect(
    ['2026-02-29', '2026-13-01', '2026-00-01', '26-01-01', '2026-1-1', '0000-01-01', ''].filter(isCalendarDay),
  ).toEqual([]);
});

it('asks often for what can still grow', () => {
  expect(isLive({ kind: 'today' }, NOW)).toBe(true);
  expect(isLive({ kind: 'window' }, NOW)).toBe(true);
  expect(isLive({ kind: 'day', date: '2026-11-21' }, NOW)).toBe(true);
  expect(isLive({ kind: 'day', date: '2026-11-20' }, NOW)).toBe(false);
  expect(isLive({ kind: 'range', start: '2026-11-20T00:00:00Z', end: '2026-11-21T17:00:00Z' }, NOW)).toBe(true);
  expect(isLive({ kind: 'range', start: '2026-11-20T00:00:00Z', end: '2026-11-21T16:00:00Z' }, NOW)).toBe(false);
});
