import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  formatInstant,
  hasOffset,
  instantFrom,
  instantFromMilliseconds,
  isInstant,
  parseInstant,
  sortableInstant,
} from '../../../src/analytics/model/instant.ts';
import { FIRST, instants, instantsAtBoundaries, LAST } from '../arbitraries.ts';

const EIGHT = 1_795_248_000_000_000n; // 2026-11-21T08:00:00Z

const two = (value: number): string => String(value).padStart(2, '0');

/** Other spellings of a time, and times that do not exist. */
const NO_TIMES: readonly string[] = [
  ...'now 2026-11-21 2026-11-21T08:00Z 20261121T080000Z 2026-11-21T08:00:00,5Z 2026-11-21T08:00:00.Z 1795248000'.split(
    ' ',
  ),
  ...'2026-11-21T08:00:00.1234567890123Z 2026-11-21T24:00:00Z 2026-11-21T23:60:00Z 2026-11-21T23:59:60Z'.split(' '),
  ...'2026-02-29T00:00:00Z 2100-02-29T00:00:00Z 2026-04-31T00:00:00Z 2026-13-01T00:00:00Z 2026-00-01T00:00:00Z'.split(
    ' ',
  ),
  ...'2026-01-00T00:00:00Z 0000-12-31T23:59:59Z 0001-01-01T00:00:00+00:01 9999-12-31T23:59:59-00:01'.split(' '),
  ...'10000-01-01T00:00:00Z +002026-11-21T08:00:00Z -2026-11-21T08:00:00Z 2026-11-21T08:00:00+1'.split(' '),
  ...'2026-11-21T08:00:00+100 2026-11-21T08:00:00+0160 2026-11-21T08:00:00+24:00 2026-11-21T08:00:00+01:60'.split(' '),
  ...'２０２６-11-21T08:00:00Z 2026-W47-6T08:00:00Z'.split(' '),
  '',
  '2026-11-21 08:00:00Z',
  '2026-11-21T08:00:00 Z',
  ' 2026-11-21T08:00:00Z',
  '2026-11-21T08:00:00Z\n',
];

describe('a time in ISO 8601', () => {
  it.each([
    [EIGHT, '2026-11-21T08:00:00 2026-11-21T08:00:00Z 2026-11-21t08:00:00z 2026-11-21T08:00:00-00:00'],
    [EIGHT, '2026-11-21T09:30:00+01:30 2026-11-21T09:30:00+0130 2026-11-21T09:00:00+01 2026-11-20T22:00:00-10:00'],
    [EIGHT + 100_000n, '2026-11-21T08:00:00.1Z 2026-11-21T08:00:00.100Z'],
    [EIGHT + 123_456n, '2026-11-21T08:00:00.123456Z 2026-11-21T08:00:00.1234569Z 2026-11-21T08:00:00.123456999999Z'],
    [1_709_164_800_000_000n, '2024-02-29T00:00:00Z'],
    [-1n, '1969-12-31T23:59:59.999999Z'],
    [FIRST, '0001-01-01T00:00:00Z'],
    [LAST, '9999-12-31T23:59:59.999999Z'],
  ])('is %s as %s', (microseconds, texts) => {
    for (const text of texts.split(' ')) expect([text, parseInstant(text)]).toEqual([text, microseconds]);
  });

  it('is no other text', () => {
    expect(NO_TIMES.filter((text) => parseInstant(text) !== undefined)).toEqual([]);
  });

  it('is the instant of its date, time and offset', () => {
    const parts = fc.record({
      at: fc.date({ min: new Date('0002-01-01Z'), max: new Date('9998-12-31Z'), noInvalidDate: true }),
      micros: fc.nat(999),
      sign: fc.constantFrom(1, -1),
      hours: fc.nat(23),
      minutes: fc.nat(59),
    });
    fc.assert(
      fc.property(parts, ({ at, micros, sign, hours, minutes }) => {
        const local = at.toISOString().replace('Z', String(micros).padStart(3, '0'));
        const text = `${local}${sign === 1 ? '+' : '-'}${two(hours)}:${two(minutes)}`;
        const utc = BigInt(at.getTime() - sign * (hours * 60 + minutes) * 60_000) * 1_000n + BigInt(micros);
        expect([parseInstant(text), hasOffset(text), hasOffset(local)]).toEqual([utc, true, false]);
      }),
    );
    expect(['2026-11-21T08:00:00Z', '2026-11-21t08:00:00z', 'now'].map(hasOffset)).toEqual([true, true, false]);
  });
});

describe('an instant', () => {
  it('is answered with a fraction only if it has one', () => {
    expect([EIGHT, EIGHT + 1n, EIGHT + 500_000n, -1n, FIRST].map((one) => formatInstant(instantFrom(one)))).toEqual([
      '2026-11-21T08:00:00+00:00',
      '2026-11-21T08:00:00.000001+00:00',
      '2026-11-21T08:00:00.500000+00:00',
      '1969-12-31T23:59:59.999999+00:00',
      '0001-01-01T00:00:00+00:00',
    ]);
  });

  it('is read back unchanged from an answer and from a row, and sorts in rows as it sorts in time', () => {
    const any = fc.oneof(instants, instantsAtBoundaries, fc.constantFrom(FIRST, LAST).map(instantFrom));
    fc.assert(
      fc.property(any, any, (one, other) => {
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
