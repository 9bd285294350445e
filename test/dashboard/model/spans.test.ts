import { expect, it } from 'vitest';

import { apiBase } from '../../../src/dashboard/browser/model/questions.ts';
import {
  daysText,
  isLive,
  movedSpan,
  periodOf,
  spanTitle,
  utcDaysOf,
  zoneOf,
} from '../../../src/dashboard/browser/model/spans.ts';
import { endText, startText, Times } from '../../../src/dashboard/browser/model/times.ts';
import type { Span } from '../../../src/dashboard/browser/model/view.ts';

const NOW = Date.parse('2026-11-21T16:40:30Z');
const california = new Times('local', 'America/Los_Angeles');
const utc = new Times('utc', 'America/Los_Angeles');

const TODAY: Span = { kind: 'today' };
const LAST_HOUR: Span = { kind: 'last', length: '1h' };
const SEVEN_DAYS: Span = { kind: 'last', length: '7d' };
const day = (date: string): Span => ({ kind: 'day', date });

/** From one time to the last microsecond before another: `between('11-21T08:00', '11-22T08:00')`, UTC. */
const between = (from: string, before: string) => ({
  start: startText(Date.parse(`2026-${from}Z`)),
  end: endText(Date.parse(`2026-${before}Z`)),
});
const range = (from: string, before: string): Span => ({ kind: 'range', ...between(from, before) });

it.each<[Span, string, Times, ReturnType<typeof between>]>([
  // The local day until its midnight; in autumn a day has 25 hours.
  [TODAY, '11-22T07:59:59', california, between('11-21T08:00', '11-22T08:00')],
  [TODAY, '11-22T08:00', california, between('11-22T08:00', '11-23T08:00')],
  [day('2026-11-01'), '11-21T16:40', california, between('11-01T07:00', '11-02T08:00')],
  [TODAY, '11-21T16:40', utc, between('11-21T00:00', '11-22T00:00')],
  // Seven days move on at midnight, too.
  [SEVEN_DAYS, '11-22T08:00', california, between('11-16T08:00', '11-23T08:00')],
  [{ kind: 'last', length: '30d' }, '11-21T16:40', utc, between('10-23T00:00', '11-22T00:00')],
  // The ends of the last hours move once a minute.
  [LAST_HOUR, '11-21T16:40:59', california, between('11-21T15:40', '11-21T16:40')],
  [{ kind: 'last', length: '6h' }, '11-21T16:40', utc, between('11-21T10:40', '11-21T16:40')],
  [{ kind: 'last', length: '24h' }, '11-21T16:40', utc, between('11-20T16:40', '11-21T16:40')],
])('%o at %s covers its period', (span, now, times, period) => {
  expect(periodOf(span, Date.parse(`2026-${now}Z`), times)).toEqual(period);
});

it.each<[string, Span, Span]>([
  ['a day', day('2026-11-02'), day('2026-11-01')],
  ['today', TODAY, day('2026-11-20')],
  ['seven local days', range('11-02T08:00', '11-09T08:00'), range('10-26T07:00', '11-02T08:00')],
  ['an hour', range('11-10T08:00', '11-10T09:00'), range('11-10T07:00', '11-10T08:00')],
  [
    'an hour with closed ends',
    { kind: 'range', start: '2026-11-10T08:00:00Z', end: '2026-11-10T09:00:00Z' },
    { kind: 'range', start: '2026-11-10T07:00:00Z', end: '2026-11-10T08:00:00Z' },
  ],
])('earlier and later move %s by its own length, and back', (_, span, earlier) => {
  expect(movedSpan(span, -1, NOW, california)).toEqual(earlier);
  expect(movedSpan(earlier, 1, NOW, california)).toEqual(span);
});

it('earlier and later lead from the last hour to the hour before, and not beyond now', () => {
  expect(movedSpan(LAST_HOUR, -1, NOW, utc)).toEqual(range('11-21T14:40', '11-21T15:40'));
  const first: Span = { kind: 'range', start: '1000-01-01T00:00:00Z', end: '1000-01-01T00:59:59.999999Z' };
  expect(movedSpan(first, -1, NOW, utc)).toBeUndefined();
  const latest = [TODAY, LAST_HOUR, SEVEN_DAYS, range('11-21T16:40', '11-21T17:40')];
  expect(latest.map((span) => movedSpan(span, 1, NOW, california))).toEqual(latest.map(() => undefined));
});

it.each<[string, Span, Times, string, number, string]>([
  ['a UTC day', day('2026-11-20'), utc, '2026-11-20', 1, 'UTC day 20 Nov'],
  ['a local day', day('2026-11-19'), california, '2026-11-20', 2, 'UTC days 19 Nov – 20 Nov'],
  ['a local day that has begun', TODAY, california, '2026-11-21', 1, 'UTC day 21 Nov'],
  ['seven UTC days', SEVEN_DAYS, utc, '2026-11-21', 7, 'UTC days 15 Nov – 21 Nov'],
  ['days to come', range('11-25T06:00', '11-26T06:00'), utc, '2026-11-25', 1, 'UTC day 25 Nov'],
  ['a quarter', range('08-01T00:00', '11-01T00:00'), utc, '2026-10-31', 31, 'UTC days 1 Oct – 31 Oct'],
])('the cameras of %s are counted by UTC day', (_, span, times, last, days, text) => {
  expect(utcDaysOf(periodOf(span, NOW, times), NOW)).toEqual({ last, days, text });
});

it('figures can grow while their period ends now, or ended less than a minute ago', () => {
  const growing = [TODAY, LAST_HOUR, day('2026-11-21'), range('11-20T00:00', '11-21T16:39:30')];
  const over = [day('2026-11-20'), range('11-20T00:00', '11-21T16:39:29')];
  expect([...growing, ...over].filter((span) => isLive(span, NOW, california))).toEqual(growing);
});

it.each(['1000-01-01', '9998-12-31'])(
  'the first and the last day of an address have a title, here and in UTC: %s',
  (date) => {
    const ends = { start: `${date}T00:00:00Z`, end: `${date}T23:59:59.999999Z` };
    const spans: readonly Span[] = [day(date), { kind: 'range', ...ends }];
    for (const times of [california, utc]) {
      for (const span of spans) {
        expect(spanTitle(span, NOW, times)).toMatch(/ (1000|999|9998)/);
        expect(zoneOf(span, NOW, times)).not.toBe('');
        movedSpan(span, -1, NOW, times);
        movedSpan(span, 1, NOW, times);
      }
    }
  },
);

it('a file is named after the days of its period', () => {
  const names = [day('2026-11-20'), range('11-20T20:00', '11-21T10:00')].map((span) =>
    daysText(periodOf(span, NOW, california), california),
  );
  expect(names).toEqual(['2026-11-20', '2026-11-20 2026-11-21']);
});

it.each<[string, string, Span]>([
  ['Today, Saturday 21 November 2026', 'PST', TODAY],
  ['Last hour', 'PST', LAST_HOUR],
  // The clocks change when it ends.
  ['Sunday 1 November 2026, 00:00 – 01:00', 'PDT', range('11-01T07:00', '11-01T09:00')],
  ['Last 24 hours', 'PST', { kind: 'last', length: '24h' }],
  ['Sunday 1 November 2026', 'PDT/PST', day('2026-11-01')],
  ['Monday 2 November 2026 – Tuesday 3 November 2026', 'PST', range('11-02T08:00', '11-04T08:00')],
  ['Last 7 days, Sunday 15 November 2026 – Saturday 21 November 2026', 'PST', SEVEN_DAYS],
  ['Monday 20 July 2026, 09:36 – 10:36', 'PDT', range('07-20T16:36', '07-20T17:36')],
  ['Monday 2 November 2026, 08:36 – 09:36:20', 'PST', range('11-02T16:36', '11-02T17:36:21')],
  // As it was typed: the second that ends it is in it.
  ['Monday 2 November 2026, 08:36 – 09:36', 'PST', range('11-02T16:36', '11-02T17:36:01')],
  // Both ends of a moment.
  [
    'Monday 2 November 2026, 08:36:05 – 08:36:05',
    'PST',
    { kind: 'range', start: '2026-11-02T16:36:05Z', end: '2026-11-02T16:36:05Z' },
  ],
  ['Monday 2 November 2026, 22:00 – Tuesday 3 November 2026, 02:00', 'PST', range('11-03T06:00', '11-03T10:00')],
])('a span has a title and the zone of its time: %s %s', (title, zone, span) => {
  expect([spanTitle(span, NOW, california), zoneOf(span, NOW, california)]).toEqual([title, zone]);
  expect(zoneOf(span, NOW, utc)).toBe('UTC');
});

it('the page asks the endpoints next to it, also behind a proxy', () => {
  const pages = ['/api/dashboard', '/api/dashboard/', '/behind/a/proxy/dashboard', '/dashboard'];
  expect(pages.map(apiBase)).toEqual(['/api/', '/api/', '/behind/a/proxy/', '/']);
});
