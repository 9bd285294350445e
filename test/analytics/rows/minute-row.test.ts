import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  addSamples,
  minuteRowFrom,
  minuteRowWrite,
  NO_SAMPLES,
  sampleRows,
  samplesOf,
  type MinuteRow,
  type Sample,
} from '../../../src/analytics/rows/minute-row.ts';
import { ByteReader, readTally } from '../../../src/analytics/rows/tally-bytes.ts';
import { DamagedRow, DecodeError } from '../../../src/storage/errors.ts';
import type { Properties } from '../../../src/storage/row.ts';
import { sameTally, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { differences as signed, ONE_FRAME as one, tallies } from '../arbitraries.ts';
import { storedRow } from './stored-row.ts';

const MINUTE = 495;
const KEY = 'minute|0815|00';
const LAST = 59_999_999;

/** Microseconds of a minute, often equal, or at the edge of a second. */
const microseconds = fc.oneof(
  fc.constantFrom(0, 1, 999_999, 1_000_000, 1_000_001, LAST),
  fc.integer({ min: 0, max: 5 }),
  fc.integer({ min: 0, max: LAST }),
);

const differences: fc.Arbitrary<Sample> = fc.record({
  microsecond: microseconds,
  cameraIndex: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 31_999 })),
  tally: fc.oneof(tallies, signed),
});

const frame = (microsecond: number, cameraIndex = 7): Sample => ({ microsecond, cameraIndex, tally: one });

const rowFrom = (properties: Properties): MinuteRow => minuteRowFrom(storedRow(KEY, properties));

/** A row with differences added, of categories that are new enough. */
const added = (...args: Parameters<typeof addSamples>): MinuteRow => {
  const row = addSamples(...args);
  if (row === undefined) throw new Error('the categories are older than the row');
  return row;
};

/** The samples of a part of a minute, with their tallies decoded. */
const read = (row: MinuteRow, from: number, to: number, categories: readonly string[]): readonly Sample[] =>
  (samplesOf(row, from, to) ?? []).map(({ microsecond, cameraIndex, tally }) => {
    const named = readTally(new ByteReader(tally), categories);
    if (named === undefined) throw new RangeError('a category has no name');
    return { microsecond, cameraIndex, tally: named };
  });

const within = (samples: readonly Sample[], from: number, to: number): readonly Sample[] =>
  samples.filter(({ microsecond }) => from <= microsecond && microsecond <= to);

describe('the samples of a minute', () => {
  it('have what was added to them at each microsecond for each camera, in memory and in the row', () => {
    const batches = fc.array(fc.tuple(fc.array(differences, { minLength: 1, maxLength: 6 }), fc.boolean()), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(batches, microseconds, microseconds, (given, one_, other) => {
        const [from, to] = [Math.min(one_, other), Math.max(one_, other)];
        const categories: string[] = [];
        const properties: Record<string, unknown> = {};
        let row = NO_SAMPLES;
        for (const [batch, rereads] of given) {
          const more = new Set(batch.flatMap(({ tally }) => [...tally.categories.keys()]));
          for (const name of more) if (!categories.includes(name)) categories.push(name);
          row = added(row, batch, categories);
          Object.assign(properties, minuteRowWrite(KEY, 'e', row, batch).properties);
          if (rereads) row = rowFrom(properties);
        }
        const expected = within(
          given.flatMap(([batch]) => batch),
          from,
          to,
        );
        const select = new Set([...sampleRows(MINUTE, from, to).values()].flat());
        const part = Object.fromEntries(Object.entries(properties).filter(([name]) => select.has(name)));
        for (const found of [read(row, from, to, categories), read(rowFrom(part), from, to, categories)]) {
          const keys = found.map(({ microsecond, cameraIndex }) => [microsecond, cameraIndex] as const);
          expect(keys).toEqual(keys.toSorted(([a, b], [c, d]) => a - c || b - d));
          expect(new Set(keys.map(String))).toEqual(
            new Set(expected.map(({ microsecond, cameraIndex }) => String([microsecond, cameraIndex]))),
          );
          for (const { microsecond, cameraIndex, tally } of found) {
            const own = expected.filter(
              (change) => change.microsecond === microsecond && change.cameraIndex === cameraIndex,
            );
            expect(sameTally(tally, sumOf(own.map((change) => change.tally)))).toBe(true);
          }
        }
      }),
    );
  });

  it('are in two rows, one for each half of the minute', () => {
    expect(sampleRows(MINUTE, 28_500_000, 30_000_000)).toEqual(
      new Map([
        ['minute|0815|00', ['s28', 's29']],
        ['minute|0815|30', ['s30']],
      ]),
    );
    expect([...sampleRows(MINUTE, 0, LAST).values()].flat()).toHaveLength(60);
  });

  it('take seven bytes a frame', () => {
    const frames = Array.from({ length: 210 }, (_, index) => frame(index * 4_761, index * 6));
    expect(added(NO_SAMPLES, frames, ['smoke']).get(0)?.length).toBeLessThan(7 * 210);
  });

  it('of a second that has overflowed are dropped for good, and those of other seconds are kept', () => {
    const crowd = Array.from({ length: 3_600 }, (_, index) => frame(2_000_000 + index));
    const before = added(NO_SAMPLES, [frame(1_999_999), ...crowd, frame(3_000_000)], ['smoke']);
    const after = added(before, [frame(2_000_001), frame(1_999_999)], ['smoke']);
    for (const row of [before, after, rowFrom(minuteRowWrite(KEY, undefined, after, crowd).properties)]) {
      for (const [from, to] of [
        [2_000_000, 2_000_000],
        [0, LAST],
        [2_999_999, 3_000_000],
      ] as const) {
        expect(samplesOf(row, from, to)).toBeUndefined();
      }
    }
    expect(read(after, 0, 1_999_999, ['smoke'])).toMatchObject([{ microsecond: 1_999_999, tally: { events: 2 } }]);
    expect(read(after, 3_000_000, LAST, ['smoke'])).toEqual([frame(3_000_000)]);
  });

  it('are not changed with a list of categories that is older than they are: another process wrote in between', () => {
    const fog: Tally = { ...one, categories: new Map([['fog', { detections: 1, reviewed: 0, annotations: 0 }]]) };
    const row = added(NO_SAMPLES, [{ microsecond: 5, cameraIndex: 0, tally: fog }], ['smoke', 'fog']);
    expect(addSamples(row, [frame(5, 0)], ['smoke'])).toBeUndefined();
  });

  it('are inserted where the row is not stored yet, else merged at the version that was read, the changed seconds only', () => {
    const row = added(NO_SAMPLES, [frame(5), frame(7_000_000)], ['smoke']);
    expect(minuteRowWrite(KEY, undefined, row, [frame(5)])).toMatchObject({
      kind: 'insert',
      rowKey: KEY,
    });
    const write = minuteRowWrite(KEY, 'W/"1"', row, [frame(7_000_000)]);
    expect(write).toMatchObject({ kind: 'merge', etag: 'W/"1"' });
    expect(Object.keys(write.properties)).toEqual(['s07']);
  });

  it('that are damaged are refused as a whole', () => {
    const { properties } = minuteRowWrite(KEY, undefined, added(NO_SAMPLES, [frame(5)], ['smoke']), [frame(5)]);
    expect(() => rowFrom({ ...properties, s00: 'AAA=' })).toThrow(DamagedRow);
    const bytes = rowFrom(properties).get(0) ?? new Uint8Array();
    const cut = rowFrom({ s00: bytes.subarray(0, -1) });
    expect(() => samplesOf(cut, 0, LAST)).toThrow(DecodeError);
    const [twice, elsewhere] = [Uint8Array.of(...bytes, 0, ...bytes.subarray(1)), Uint8Array.of(1)];
    expect(() => samplesOf(rowFrom({ s00: twice }), 0, LAST)).toThrow(DecodeError);
    expect(() => samplesOf(rowFrom({ s00: elsewhere }), 0, LAST)).toThrow(DecodeError);
    const late = added(NO_SAMPLES, [frame(999_999), frame(1_000_001)], ['smoke']);
    const beyond = Uint8Array.of(...(late.get(0) ?? []), ...(late.get(1) ?? []));
    expect(() => samplesOf(rowFrom({ s00: beyond }), 0, LAST)).toThrow(DecodeError);
  });
});
