import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  activityQuestion,
  apiBase,
  camerasQuestion,
  seriesQuestion,
  storyQuestion,
} from '../../../src/dashboard/browser/model/questions.ts';
import {
  dayAround,
  daysUntilToday,
  isLive,
  movedSpan,
  periodOf,
  sensibleStep,
  silencePeriods,
  spanTitle,
  utcDaysOf,
} from '../../../src/dashboard/browser/model/spans.ts';
import { endText, startText, Times } from '../../../src/dashboard/browser/model/times.ts';
import type { Span } from '../../../src/dashboard/browser/model/view.ts';

const NOW = Date.parse('2026-11-21T16:40:30Z');
const california = new Times('local', 'America/Los_Angeles');
const utc = new Times('utc', 'America/Los_Angeles');
const range = (start: string, end: string): Span => ({ kind: 'range', start, end });

describe('what a span covers', () => {
  it('is the local day, or the UTC day', () => {
    expect(periodOf({ kind: 'today' }, NOW, california)).toEqual({
      start: '2026-11-21T08:00:00Z',
      end: '2026-11-22T07:59:59.999999Z',
    });
    expect(periodOf({ kind: 'day', date: '2026-11-01' }, NOW, california)).toEqual({
      start: '2026-11-01T07:00:00Z',
      end: '2026-11-02T07:59:59.999999Z',
    });
    expect(periodOf({ kind: 'today' }, NOW, utc)).toEqual({
      start: '2026-11-21T00:00:00Z',
      end: '2026-11-21T23:59:59.999999Z',
    });
  });

  it('goes on with the day at its midnight', () => {
    const midnight = Date.parse('2026-11-22T08:00:00Z');

    expect(periodOf({ kind: 'today' }, midnight - 1, california).start).toBe('2026-11-21T08:00:00Z');
    expect(periodOf({ kind: 'today' }, midnight, california).start).toBe('2026-11-22T08:00:00Z');
  });

  it('of the last hours has ends that move once a minute', () => {
    const last = { kind: 'last', hours: 6 } as const;

    expect(periodOf(last, NOW, california)).toEqual({
      start: '2026-11-21T10:40:00Z',
      end: '2026-11-21T16:39:59.999999Z',
    });
    expect(periodOf(last, NOW + 29_000, utc)).toEqual(periodOf(last, NOW, utc));
  });

  it('of silence are 15 minutes until now, and the 24 hours in which whoever fell silent has sent', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (now) => {
        const { recent, before } = silencePeriods(now);

        expect(Date.parse(recent.end) - Date.parse(recent.start)).toBe(15 * 60_000 - 1);
        expect(now - Date.parse(recent.end)).toBeLessThanOrEqual(60_000);
        // No gap between the two: a camera is in one of them, or silent for longer.
        expect(Date.parse(before.end) + 1).toBeGreaterThanOrEqual(Date.parse(recent.start));
        expect(Date.parse(before.start)).toBeLessThanOrEqual(now - 86_400_000);
      }),
    );
  });
});

describe('earlier and later', () => {
  it.each<[string, Span, Span]>([
    ['a day', { kind: 'day', date: '2026-11-02' }, { kind: 'day', date: '2026-11-01' }],
    ['today', { kind: 'today' }, { kind: 'day', date: '2026-11-20' }],
    [
      'seven local days',
      range('2026-11-02T08:00:00Z', '2026-11-09T07:59:59.999999Z'),
      range('2026-10-26T07:00:00Z', '2026-11-02T07:59:59.999999Z'),
    ],
    [
      'an hour',
      range('2026-11-10T08:00:00Z', '2026-11-10T08:59:59.999999Z'),
      range('2026-11-10T07:00:00Z', '2026-11-10T07:59:59.999999Z'),
    ],
    [
      'an hour with closed ends',
      range('2026-11-10T08:00:00Z', '2026-11-10T09:00:00Z'),
      range('2026-11-10T07:00:00Z', '2026-11-10T08:00:00Z'),
    ],
  ])('move %s by its own length, and back', (_, span, earlier) => {
    expect(movedSpan(span, -1, NOW, california)).toEqual(earlier);
    expect(movedSpan(earlier, 1, NOW, california)).toEqual(span);
  });

  it('lead from the last hour to the one before, and not beyond now', () => {
    expect(movedSpan({ kind: 'last', hours: 1 }, -1, NOW, utc)).toEqual(
      range('2026-11-21T14:40:00Z', '2026-11-21T15:39:59.999999Z'),
    );
    expect(movedSpan({ kind: 'last', hours: 1 }, 1, NOW, utc)).toEqual(
      range('2026-11-21T16:40:00Z', '2026-11-21T17:39:59.999999Z'),
    );
    expect(movedSpan({ kind: 'today' }, 1, NOW, california)).toBeUndefined();
    expect(movedSpan(daysUntilToday(7, NOW, california), 1, NOW, california)).toBeUndefined();
  });

  it('have a way back from a part of a day to the whole', () => {
    expect(dayAround(range('2026-11-20T10:00:00Z', '2026-11-20T12:59:59.999999Z'), NOW, california)).toEqual({
      kind: 'day',
      date: '2026-11-20',
    });
    expect(dayAround(range('2026-11-21T10:00:00Z', '2026-11-22T07:59:59.999999Z'), NOW, california)).toEqual({
      kind: 'today',
    });
    expect(dayAround(range('2026-11-20T08:00:00Z', '2026-11-21T07:59:59.999999Z'), NOW, california)).toBeUndefined();
    expect(dayAround(range('2026-11-20T07:00:00Z', '2026-11-20T12:00:00Z'), NOW, california)).toBeUndefined();
  });
});

describe('the UTC days of the cameras', () => {
  it.each<[string, Span, Times, ReturnType<typeof utcDaysOf>]>([
    [
      'a UTC day',
      { kind: 'day', date: '2026-11-20' },
      utc,
      { last: '2026-11-20', days: 1, isExact: true, text: 'UTC day 20 Nov' },
    ],
    [
      'a local day',
      { kind: 'day', date: '2026-11-19' },
      california,
      { last: '2026-11-20', days: 2, isExact: false, text: 'UTC days 19 Nov – 20 Nov' },
    ],
    [
      'a local day that has begun',
      { kind: 'today' },
      california,
      { last: '2026-11-21', days: 1, isExact: false, text: 'UTC day 21 Nov' },
    ],
    [
      'seven UTC days',
      daysUntilToday(7, NOW, utc),
      utc,
      { last: '2026-11-21', days: 7, isExact: true, text: 'UTC days 15 Nov – 21 Nov' },
    ],
    [
      'a year',
      range('2025-11-21T00:00:00Z', '2026-11-20T23:59:59.999999Z'),
      utc,
      { last: '2026-11-20', days: 31, isExact: false, text: 'UTC days 21 Oct – 20 Nov' },
    ],
  ])('of %s', (_, span, times, expected) => {
    expect(utcDaysOf(periodOf(span, NOW, times), NOW)).toEqual(expected);
  });
});

const live = (span: Span): boolean => isLive(span, NOW, california);
const titleOf = (span: Span): string => spanTitle(span, NOW, california);
const parameters = (question: string) => Object.fromEntries(new URLSearchParams(question.split('?')[1]));

it('asks often for what can still grow', () => {
  expect(
    [{ kind: 'today' } as const, { kind: 'last', hours: 1 } as const, { kind: 'day', date: '2026-11-21' } as const].map(
      live,
    ),
  ).toEqual([true, true, true]);
  expect(live({ kind: 'day', date: '2026-11-20' })).toBe(false);
  expect(live(range('2026-11-20T00:00:00Z', '2026-11-21T17:00:00Z'))).toBe(true);
  expect(live(range('2026-11-20T00:00:00Z', '2026-11-21T16:00:00Z'))).toBe(false);
});

it('is told in words', () => {
  expect(titleOf({ kind: 'today' })).toBe('Today, Saturday 21 November 2026');
  expect(titleOf({ kind: 'last', hours: 1 })).toBe('Last hour');
  expect(titleOf({ kind: 'last', hours: 24 })).toBe('Last 24 hours');
  expect(titleOf(range('2026-11-02T08:00:00Z', '2026-11-04T07:59:59.999999Z'))).toBe(
    'Monday 2 November 2026 – Tuesday 3 November 2026',
  );
  expect(titleOf(range('2026-11-02T10:00:00Z', '2026-11-02T11:00:00Z'))).toBe(
    '2026-11-02 02:00:00 PST – 2026-11-02 03:00:00 PST',
  );
});

describe('the step of a series', () => {
  const DAY = 86_400_000;
  const from = fc.integer({
    min: Date.parse('2000-01-01T00:00:00Z') / 1_000,
    max: Date.parse('2026-11-21T00:00:00Z') / 1_000,
  });

  it('never makes more steps than can be read, for any range that the service takes', () => {
    fc.assert(
      fc.property(from, fc.integer({ min: 1, max: (366 * DAY) / 1_000 }), (start, length) => {
        const period = { start: startText(start * 1_000), end: endText((start + length) * 1_000) };
        const steps = { minute: 60, hour: 3_600, day: 86_400 }[sensibleStep(period)];

        expect(Math.floor((start + length - 1) / steps) - Math.floor(start / steps) + 1).toBeLessThanOrEqual(400);
      }),
    );
  });

  it.each([
    ['minute', 6 * 3_600_000],
    ['hour', DAY],
    ['hour', 7 * DAY],
    ['day', 30 * DAY],
  ])('is a %s for %i milliseconds', (step, length) => {
    const start = Date.parse('2026-11-01T00:00:00Z');

    expect(sensibleStep({ start: startText(start), end: endText(start + length) })).toBe(step);
  });
});

describe('what the page asks', () => {
  const period = { start: '2026-11-21T00:00:00Z', end: '2026-11-21T23:59:59.999999Z' };

  it('is about a period and a camera, without the ids that nobody looks at', () => {
    const ends = { ts_utc_start: period.start, ts_utc_end: period.end, camera_id: 'a&b' };

    expect(parameters(activityQuestion(period, 'a&b', { withIds: false }))).toEqual({
      ...ends,
      active_camera_ids: 'false',
    });
    expect(parameters(activityQuestion(period, 'a&b', { withIds: true }))).toEqual(ends);
    expect(parameters(seriesQuestion(period, 'a&b'))).toEqual({ ...ends, step: 'hour' });
    expect(camerasQuestion(utcDaysOf(period, NOW), 'smoke', 15)).toBe(
      'analytics/cameras?date=2026-11-21&days=1&order_by=smoke&limit=15',
    );
    expect(storyQuestion('a/../b?c#d')).toBe('notifications/a%2F..%2Fb%3Fc%23d');
  });

  it.each([
    ['/api/dashboard', '/api/'],
    ['/api/dashboard/', '/api/'],
    ['/behind/a/proxy/dashboard', '/behind/a/proxy/'],
    ['/dashboard', '/'],
  ])('goes, from a page at %s, to paths below %s', (pathname, base) => {
    expect(apiBase(pathname)).toBe(base);
  });
});
