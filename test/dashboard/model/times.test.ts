import * as fc from 'fast-check';
import { expect, it, vi } from 'vitest';

import {
  agoText,
  endText,
  inText,
  isCalendarDay,
  lengthText,
  shiftDay,
  startText,
  Times,
} from '../../../src/dashboard/browser/model/times.ts';
import { NOON } from '../answers.ts';

const california = new Times('local', 'America/Los_Angeles');
const utc = new Times('utc', 'America/Los_Angeles');

it('a time names its zone, and has the other zone for its title', () => {
  const at = Date.parse('2026-11-21T23:59:59Z');
  const [local, universal] = ['21 Nov 15:59:59 PST', '21 Nov 23:59:59 UTC'];
  expect(california.moment(at)).toEqual({ text: local, other: universal });
  expect(utc.moment(at)).toEqual({ text: universal, other: local });
  const summer = Date.parse('2026-07-21T08:00:02.5Z');
  expect(california.clock(summer)).toEqual({ text: '01:00:02 PDT', other: '08:00:02 UTC' });
});

it('a reader in UTC has no other zone, under any of its names', () => {
  const times = ['UTC', 'Etc/UTC', 'GMT', 'Etc/Zulu', 'Etc/UCT', 'Etc/Universal', 'Etc/Greenwich'].map((zone) =>
    new Times('local', zone).moment(0),
  );
  expect(new Set(times.map((time) => JSON.stringify(time)))).toEqual(new Set(['{"text":"1 Jan 00:00:00 UTC"}']));
});

it.each([
  [-5, '0 s'],
  [59.9, '59 s'],
  [60, '1 min'],
  [3_599, '59 min'],
  [3_600, '1 h'],
  [48 * 3_600 - 1, '47 h'],
  [48 * 3_600, '2 days'],
])('%s seconds are %s', (seconds, text) => {
  expect(lengthText(seconds * 1_000)).toBe(text);
});

it('a time is some seconds ago or ahead, or now; the end of a period is its last microsecond', () => {
  expect([agoText(40_000), inText(40_000), inText(1_000), inText(999)]).toEqual([
    '40 s ago',
    'in 40 s',
    'in 1 s',
    'now',
  ]);
  expect([startText(NOON), endText(NOON)]).toEqual(['2026-11-21T12:00:00Z', '2026-11-21T11:59:59.999999Z']);
});

it('a reader whose browser names a zone that it does not know is in UTC', () => {
  const unknown = { ...new Intl.DateTimeFormat('en').resolvedOptions(), timeZone: 'Etc/Unknown' };
  vi.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions').mockReturnValue(unknown);
  expect(new Times('local').readerZone).toBe('UTC');
});

it('a step names its zone; a step of a day is a UTC day in every zone', () => {
  const start = Date.parse('2026-11-21T23:00:00Z');
  expect(california.step(start, 'hour')).toEqual({ text: '21 Nov 15:00–16:00 PST', other: '21 Nov 23:00–00:00 UTC' });
  expect(california.step(Date.parse('2026-11-21T00:00:00Z'), 'day').text).toBe('21 Nov UTC');
});

it('a day begins when its clocks first show it, even if they change at midnight', () => {
  const zones = 'America/Los_Angeles Asia/Kathmandu Pacific/Auckland America/Santiago Australia/Lord_Howe'.split(' ');
  const anyZone = fc.constantFrom(...zones.map((zone) => new Times('local', zone)));
  fc.assert(
    fc.property(anyZone, fc.integer({ min: 0, max: 20_000 }), (times, days) => {
      const day = shiftDay('1990-01-01', days);
      const start = times.startOfDay(day);
      expect([start - 1_000, start].map((at) => times.dayOf(at))).toEqual([shiftDay(day, -1), day]);
    }),
    { numRuns: 400 },
  );
});

it('a day exists or not', () => {
  const right = ['2024-02-29', '2026-12-31', '1000-01-01'];
  const wrong = ['2026-02-29', '2026-13-01', '2026-00-01', '26-01-01', '2026-1-1', '0202-01-01', '9999-01-01', ''];
  expect([...right, ...wrong].filter(isCalendarDay)).toEqual(right);
});

it.each([
  ['2026-11-21T08:00', 'from', '2026-11-21T16:00:00Z'],
  ['2026-11-21T08:00:05', 'from', '2026-11-21T16:00:05Z'],
  ['2026-11-21T18:30', 'until', '2026-11-22T02:30:00.999999Z'],
  // Twice in autumn: the range holds both. Never in spring: read as before the change.
  ['2026-11-01T01:30', 'from', '2026-11-01T08:30:00Z'],
  ['2026-11-01T01:30', 'until', '2026-11-01T09:30:00.999999Z'],
  ['2026-03-08T02:30', 'from', '2026-03-08T10:30:00Z'],
  ['2026-02-30T08:00', 'from', undefined],
  ['', 'from', undefined],
] as const)('the typed time %s (%s) is %s in California', (text, end, expected) => {
  expect(california.typed(text, end)).toBe(expected);
});

it('a step through which the clocks change names both zones', () => {
  expect(california.step(Date.parse('2026-11-01T08:30:00Z'), '30_minutes').text).toBe('1 Nov 01:30 PDT–01:00 PST');
});
