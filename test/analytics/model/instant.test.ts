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
import { instants, instantsAtBoundaries } from '../arbitraries.ts';

const EIGHT = 1_795_248_000_000_000n; // 2026-11-21T08:00:00Z

const two = (value: number): string => String(value).padStart(2, '0');

describe('a time in ISO 8601', () => {
  it.each([
    ['2026-11-21T08:00:00Z', EIGHT],
    ['2026-11-21T08:00:00', EIGHT],
    ['2026-11-21t08:00:00z', EIGHT],
    ['2026-11-21T08:00:00+00:00', EIGHT],
    ['2026-11-21T08:00:00-00:00', EIGHT],
    ['2026-11-21T09:30:00+01:30', EIGHT],
    ['2026-11-20T22:00:00-10:00', EIGHT],
    ['2026-11-21T09:30:00+0130', EIGHT],
    ['2026-11-21T09:00:00+01', EIGHT],
    ['2026-11-21T08:00:00.1Z', EIGHT + 100_000n],
    ['2026-11-21T08:00:00.000001Z', EIGHT + 1n],
    ['2026-11-21T08:00:00.123456Z', EIGHT + 123_456n],
    ['2026-11-21T08:00:00.1234569Z', EIGHT + 123_456n],
    ['2026-11-21T08:00:00.123456999999Z', EIGHT + 123_456n],
    ['2024-02-29T00:00:00Z', 1_709_164_800_000_000n],
    ['1969-12-31T23:59:59.999999Z', -1n],
    ['1970-01-01T00:00:00Z', 0n],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000_000n],
    ['9999-12-31T23:59:59.999999Z', 253_402_300_799_999_999n],
  ])('%s is exact to the microsecond', (text, microseconds) => {
    expect(parseInstant(text)).toBe(microseconds);
  });

  it.each([
    '',
    'now',
    '2026-11-21',
    '2026-11-21T08:00Z',
    '2026-11-21 08:00:00Z',
    '20261121T080000Z',
    '2026-11-21T08:00:00,5Z',
    '2026-11-21T08:00:00.Z',
    '2026-11-21T08:00:00.1234567890123Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T23:60:00Z',
    '2026-11-21T23:59:60Z',
    '2026-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '10000-01-01T00:00:00Z',
    '+002026-11-21T08:00:00Z',
    '-2026-11-21T08:00:00Z',
    '2026-11-21T08:00:00+1',
    '2026-11-21T08:00:00+100',
    '2026-11-21T08:00:00+0160',
    '2026-11-21T08:00:00+24:00',
    '2026-11-21T08:00:00+01:60',
    '2026-11-21T08:00:00 Z',
    ' 2026-11-21T08:00:00Z',
    '2026-11-21T08:00:00Z\n',
    '２０２６-11-21T08:00:00Z',
    '2026-W47-6T08:00:00Z',
    '1795248000',
  ])('%j is none', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  it('is the instant of its date, time and offset', () => {
    const parts = fc.record({
      at: fc.date({ min: new Date('0002-01-01Z'), max: new Date('9998-12-31Z'), noInvalidDate: true }),
      micros: fc.integer({ min: 0, max: 999 }),
      sign: fc.constantFrom(1, -1),
      hours: fc.integer({ min: 0, max: 23 }),
      minutes: fc.integer({ min: 0, max: 59 }),
    });
    fc.assert(
      fc.property(parts, ({ at, micros, sign, hours, minutes }) => {
        const offset = `${sign === 1 ? '+' : '-'}${two(hours)}:${two(minutes)}`;
        const text = at.toISOString().replace('Z', `${String(micros).padStart(3, '0')}${offset}`);
        const utc = BigInt(at.getTime() - sign * (hours * 60 + minutes) * 60_000) * 1_000n + BigInt(micros);
        expect(parseInstant(text)).toBe(utc);
      }),
    );
  });

  it.each([
    ['2026-11-21T08:00:00Z', true],
    ['2026-11-21T08:00:00z', true],
    ['2026-11-21T08:00:00.5-07:00', true],
    ['2026-11-21T08:00:00', false],
    ['2026-11-21T08:00:00.5', false],
    ['now', false],
  ])('%s says its offset: %s', (text, says) => {
    expect(hasOffset(text)).toBe(says);
  });
});

describe('an instant', () => {
  it.each([
    [EIGHT, '2026-11-21T08:00:00+00:00'],
    [EIGHT + 1n, '2026-11-21T08:00:00.000001+00:00'],
    [EIGHT - 1n, '2026-11-21T07:59:59.999999+00:00'],
    [EIGHT + 500_000n, '2026-11-21T08:00:00.500000+00:00'],
    [-1n, '1969-12-31T23:59:59.999999+00:00'],
    [-62_135_596_800_000_000n, '0001-01-01T00:00:00+00:00'],
    [253_402_300_799_999_999n, '9999-12-31T23:59:59.999999+00:00'],
  ])('%s is answered as %s', (microseconds, text) => {
    expect(formatInstant(instantFrom(microseconds))).toBe(text);
  });

  it('is read back unchanged from an answer and from a row', () => {
    fc.assert(
      fc.property(fc.oneof(instants, instantsAtBoundaries), (instant) => {
        expect(parseInstant(formatInstant(instant))).toBe(instant);
        expect(parseInstant(sortableInstant(instant))).toBe(instant);
        expect(hasOffset(formatInstant(instant))).toBe(true);
      }),
    );
  });

  it('sorts in rows as it sorts in time', () => {
    const neighbours = instants.chain((instant) =>
      fc.tuple(
        fc.constant(instant),
        fc.oneof(instants, fc.constantFrom(instant, instantFrom(instant - (instant > 0n ? 1n : 0n)))),
      ),
    );
    fc.assert(
      fc.property(neighbours, ([one, other]) => {
        const [left, right] = [sortableInstant(one), sortableInstant(other)];
        expect([left.length, right.length]).toEqual([27, 27]);
        expect(left < right).toBe(one < other);
        expect(left === right).toBe(one === other);
      }),
    );
  });

  it('is in the years 0001 to 9999', () => {
    expect([-62_135_596_800_000_000n, 253_402_300_799_999_999n].every(isInstant)).toBe(true);
    expect([-62_135_596_800_000_001n, 253_402_300_800_000_000n].some(isInstant)).toBe(false);
    expect(() => instantFrom(253_402_300_800_000_000n)).toThrow(RangeError);
  });

  it('comes from the clock in whole milliseconds', () => {
    expect(instantFromMilliseconds(1_795_248_000_123)).toBe(EIGHT + 123_000n);
    expect(instantFromMilliseconds(1_795_248_000_123.7)).toBe(EIGHT + 123_000n);
  });
});
