import { expect, it } from 'vitest';

import { changeText, previousPeriod } from '../../../src/dashboard/browser/model/previous-period.ts';
import { Times } from '../../../src/dashboard/browser/model/times.ts';
import type { Span } from '../../../src/dashboard/browser/model/view.ts';

const NOW = Date.parse('2026-11-21T16:40:30Z');
const california = new Times('local', 'America/Los_Angeles');
const utc = new Times('utc', 'America/Los_Angeles');

it.each<[string, Span, Times, string, string, string]>([
  ['today', { kind: 'today' }, utc, '11-20T00:00:00Z', '11-20T16:39:59.999999Z', 'yesterday until now'],
  ['a day', { kind: 'day', date: '2026-11-19' }, utc, '11-18T00:00:00Z', '11-18T23:59:59.999999Z', 'the day before'],
  // In autumn this local day has 25 hours, and the day after it 24.
  [
    'a day after a long day',
    { kind: 'day', date: '2026-11-02' },
    california,
    '11-01T07:00:00Z',
    '11-02T06:59:59.999999Z',
    'the day before',
  ],
  ['an hour', { kind: 'last', length: '1h' }, utc, '11-21T14:40:00Z', '11-21T15:39:59.999999Z', 'the hour before'],
  [
    'a range that begins now',
    { kind: 'range', start: '2026-11-21T16:40:00Z', end: '2026-11-21T17:40:00Z' },
    utc,
    '11-21T15:40:00Z',
    '11-21T15:40:00.999999Z',
    'the time before',
  ],
  [
    'a range that ended less than a minute ago',
    { kind: 'range', start: '2026-11-21T15:39:45Z', end: '2026-11-21T16:39:44.999999Z' },
    utc,
    '11-21T14:39:45Z',
    '11-21T15:39:44.999999Z',
    'the time before',
  ],
  [
    'a range that has not begun',
    { kind: 'range', start: '2026-11-21T18:00:00Z', end: '2026-11-21T18:59:59.999999Z' },
    utc,
    '11-21T17:00:00Z',
    '11-21T17:00:00.999999Z',
    'the time before',
  ],
  ['hours', { kind: 'last', length: '6h' }, utc, '11-21T04:40:00Z', '11-21T10:39:59.999999Z', 'the 6 hours before'],
  ['days', { kind: 'last', length: '7d' }, utc, '11-08T00:00:00Z', '11-14T16:39:59.999999Z', 'the 7 days before'],
  [
    'a range',
    { kind: 'range', start: '2026-11-10T08:00:00Z', end: '2026-11-10T08:59:59.999999Z' },
    utc,
    '11-10T07:00:00Z',
    '11-10T07:59:59.999999Z',
    'the time before',
  ],
])('%s compares with the part of the period before that is as long', (_, span, times, start, end, words) => {
  expect(previousPeriod(span, NOW, times)).toEqual({ start: `2026-${start}`, end: `2026-${end}`, words });
});

it('today compares with the local day before, also after a day of 25 hours', () => {
  const { start, end } = previousPeriod({ kind: 'today' }, Date.parse('2026-11-02T18:00:00Z'), california);
  expect([start, end]).toEqual(['2026-11-01T07:00:00Z', '2026-11-01T16:59:59.999999Z']);
});

it.each([
  [112, 100, '+12%'],
  [60, 100, '−40%'],
  [1_000, 1_001, '±0%'],
  [299, 100, '+199%'],
  [300, 100, '×3'],
  [350, 100, '×3.5'],
  [994, 100, '×9.9'],
  [1_234, 100, '×12'],
  [5_000, 100, '×50'],
  [0, 7, '−100%'],
  [7, 0, 'new'],
  [0, 0, undefined],
])('%i after %i is %s', (count, before, text) => {
  expect(changeText(count, before)).toBe(text);
});
