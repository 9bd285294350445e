import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { startOfDay } from '../../../src/analytics/model/day.ts';
import { instantFrom, parseInstant } from '../../../src/analytics/model/instant.ts';
import { piecesOf, type DayPiece, type Period } from '../../../src/analytics/model/period.ts';
import { periods } from '../arbitraries.ts';

const MINUTE = 60_000_000n;
const HOUR = 3_600_000_000n;
const DAY = 86_400_000_000n;

const at = (text: string) => instantFrom(parseInstant(text) ?? -(2n ** 70n));

interface Span {
  readonly start: bigint;
  readonly end: bigint;
}

const span = (start: bigint, length: bigint): Span => ({ start, end: start + length - 1n });

const spansOf = (piece: DayPiece): readonly Span[] => {
  const midnight = startOfDay(piece.day);
  if (piece.whole) return [span(midnight, DAY)];
  return [
    ...piece.hours.map((hour) => span(midnight + BigInt(hour) * HOUR, HOUR)),
    ...piece.minutes.map((minute) => span(midnight + BigInt(minute) * MINUTE, MINUTE)),
    ...piece.partialMinutes,
  ];
};

const isWithin = ({ start, end }: Span, period: Period): boolean => period.start <= start && end <= period.end;

describe('the pieces of a period', () => {
  it('are disjoint and cover exactly the period, to the microsecond', () => {
    fc.assert(
      fc.property(periods, (period) => {
        const spans = piecesOf(period)
          .flatMap(spansOf)
          .sort((left, right) => (left.start < right.start ? -1 : 1));
        expect(spans.at(0)?.start).toBe(period.start);
        expect(spans.at(-1)?.end).toBe(period.end);
        for (const [index, { start }] of spans.slice(1).entries()) expect(start).toBe((spans[index]?.end ?? 0n) + 1n);
      }),
      { numRuns: 500 },
    );
  });

  it('are whole days, hours and minutes where these are inside the period', () => {
    fc.assert(
      fc.property(periods, (period) => {
        for (const piece of piecesOf(period)) {
          const midnight = startOfDay(piece.day);
          expect(piece.whole).toBe(isWithin(span(midnight, DAY), period));
          if (piece.whole) continue;
          const wholeHours = Array.from({ length: 24 }, (_, hour) => hour).filter((hour) =>
            isWithin(span(midnight + BigInt(hour) * HOUR, HOUR), period),
          );
          const wholeMinutes = Array.from({ length: 1_440 }, (_, minute) => minute)
            .filter((minute) => !wholeHours.includes(Math.floor(minute / 60)))
            .filter((minute) => isWithin(span(midnight + BigInt(minute) * MINUTE, MINUTE), period));
          expect(piece.hours).toEqual(wholeHours);
          expect(piece.minutes).toEqual(wholeMinutes);
        }
      }),
    );
  });

  it('have two partial minutes at most', () => {
    fc.assert(
      fc.property(periods, (period) => {
        const minutes = piecesOf(period).flatMap((piece) =>
          piece.whole ? [] : piece.partialMinutes.map((minute) => ({ ...minute, midnight: startOfDay(piece.day) })),
        );
        expect(minutes.length).toBeLessThanOrEqual(2);
        for (const { minute, start, end, midnight } of minutes) {
          expect((start - midnight) / MINUTE).toBe(BigInt(minute));
          expect((end - midnight) / MINUTE).toBe(BigInt(minute));
          expect(end - start).toBeLessThan(MINUTE - 1n);
        }
      }),
    );
  });

  it('of one microsecond are one partial minute of that microsecond', () => {
    const noon = at('2026-11-21T12:00:00Z');
    expect(piecesOf({ start: noon, end: noon })).toEqual([
      {
        day: '2026-11-21',
        whole: false,
        hours: [],
        minutes: [],
        partialMinutes: [{ minute: 720, start: noon, end: noon }],
      },
    ]);
  });

  it('of a day are the whole day; of a microsecond less they are hours, minutes and a partial minute', () => {
    const [start, end] = [at('2024-02-29T00:00:00Z'), at('2024-02-29T23:59:59.999999Z')];
    expect(piecesOf({ start, end })).toEqual([{ day: '2024-02-29', whole: true }]);
    expect(piecesOf({ start, end: instantFrom(end - 1n) })).toEqual([
      {
        day: '2024-02-29',
        whole: false,
        hours: Array.from({ length: 23 }, (_, hour) => hour),
        minutes: Array.from({ length: 59 }, (_, minute) => 23 * 60 + minute),
        partialMinutes: [{ minute: 1_439, start: at('2024-02-29T23:59:00Z'), end: end - 1n }],
      },
    ]);
  });

  it('of 366 days from and to the middle of a day are 365 whole days and two parts of days', () => {
    const start = at('2025-11-21T08:00:00.000001Z');
    const pieces = piecesOf({ start, end: instantFrom(start + 366n * DAY) });
    expect(pieces).toHaveLength(367);
    expect(pieces.filter((piece) => piece.whole)).toHaveLength(365);
    expect(pieces.at(0)).toMatchObject({ day: '2025-11-21', whole: false });
    expect(pieces.at(-1)).toMatchObject({
      day: '2026-11-22',
      whole: false,
      hours: [0, 1, 2, 3, 4, 5, 6, 7],
      minutes: [],
    });
  });

  it('include the first and the last instant that exist', () => {
    const first = at('0001-01-01T00:00:00Z');
    const last = at('9999-12-31T23:59:59.999999Z');
    expect(piecesOf({ start: first, end: instantFrom(first + DAY - 1n) })).toEqual([
      { day: '0001-01-01', whole: true },
    ]);
    expect(piecesOf({ start: instantFrom(last - DAY + 1n), end: last })).toEqual([{ day: '9999-12-31', whole: true }]);
  });
});
