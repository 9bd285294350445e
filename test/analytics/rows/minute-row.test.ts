import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ByteReader } from '../../../src/analytics/rows/byte-stream.ts';
import {
  addMoments,
  momentProperties,
  momentsFrom,
  momentsOf,
  momentsWrite,
  NO_MOMENTS,
  type Moment,
  type Moments,
} from '../../../src/analytics/rows/minute-row.ts';
import { WriteConflict } from '../../../src/analytics/rows/table.ts';
import { readTally } from '../../../src/analytics/rows/tally-bytes.ts';
import { sameTally, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { ONE_FRAME as one, tallies } from '../arbitraries.ts';

const MINUTE = 495;
const LAST = 59_999_999;

/** Microseconds into a minute, that like to be the same, or on the edge of a second. */
const ats = fc.oneof(
  fc.constantFrom(0, 1, 999_999, 1_000_000, 1_000_001, LAST),
  fc.integer({ min: 0, max: 5 }),
  fc.integer({ min: 0, max: LAST }),
);

const differences: fc.Arbitrary<Moment> = fc.record({
  at: ats,
  place: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 31_999 })),
  tally: tallies,
});

const frame = (at: number, place = 7): Moment => ({ at, place, tally: one });

/** A part of a minute as it is read: where, whose, and what. */
const read = (moments: Moments, from: number, to: number, categories: readonly string[]): readonly Moment[] =>
  (momentsOf(moments, from, to) ?? []).map(({ at, place, tally }) => {
    const named = readTally(new ByteReader(tally), categories);
    if (named === undefined) throw new RangeError('a category has no name');
    return { at, place, tally: named };
  });

const within = <Item extends { at: number }>(items: readonly Item[], from: number, to: number): readonly Item[] =>
  items.filter(({ at }) => from <= at && at <= to);

describe('the moments of a minute', () => {
  it('are what was added to them, at each microsecond and of each camera; in memory and in the row', () => {
    const batches = fc.array(fc.tuple(fc.array(differences, { minLength: 1, maxLength: 6 }), fc.boolean()), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(batches, ats, ats, (given, one_, other) => {
        const [from, to] = [Math.min(one_, other), Math.max(one_, other)];
        const categories: string[] = [];
        const properties: Record<string, unknown> = {};
        let moments = NO_MOMENTS;
        for (const [batch, rereads] of given) {
          const more = new Set(batch.flatMap(({ tally }) => [...tally.categories.keys()]));
          for (const name of more) if (!categories.includes(name)) categories.push(name);
          moments = addMoments(moments, batch, categories);
          Object.assign(properties, momentsWrite(MINUTE, 'e', moments, batch).properties);
          if (rereads) moments = momentsFrom(properties);
        }
        const added = within(
          given.flatMap(([batch]) => batch),
          from,
          to,
        );
        const select = new Set(momentProperties(from, to));
        const part = Object.fromEntries(Object.entries(properties).filter(([name]) => select.has(name)));
        for (const found of [read(moments, from, to, categories), read(momentsFrom(part), from, to, categories)]) {
          const whose = found.map(({ at, place }) => [at, place] as const);
          expect(whose).toEqual(whose.toSorted(([a, b], [c, d]) => a - c || b - d));
          expect(new Set(whose.map(String))).toEqual(new Set(added.map(({ at, place }) => String([at, place]))));
          for (const { at, place, tally } of found) {
            const own = added.filter((change) => change.at === at && change.place === place);
            expect(sameTally(tally, sumOf(own.map((change) => change.tally)))).toBe(true);
          }
        }
      }),
    );
  });

  it('take about ten bytes a frame', () => {
    const frames = Array.from({ length: 210 }, (_, index) => frame(index * 4_761, index * 6));
    expect(addMoments(NO_MOMENTS, frames, ['smoke']).get(0)?.length).toBeLessThan(2_700);
  });

  it('of a crowded second are not kept, then or ever after, and the other seconds are', () => {
    const crowd = Array.from({ length: 3_000 }, (_, index) => frame(2_000_000 + index));
    const before = addMoments(NO_MOMENTS, [frame(1_999_999), ...crowd, frame(3_000_000)], ['smoke']);
    const after = addMoments(before, [frame(2_000_001), frame(1_999_999)], ['smoke']);
    for (const moments of [before, after, momentsFrom(momentsWrite(MINUTE, undefined, after, crowd).properties)]) {
      for (const [from, to] of [
        [2_000_000, 2_000_000],
        [0, LAST],
        [2_999_999, 3_000_000],
      ] as const) {
        expect(momentsOf(moments, from, to)).toBeUndefined();
      }
    }
    expect(read(after, 0, 1_999_999, ['smoke'])).toMatchObject([{ at: 1_999_999, tally: { events: 2 } }]);
    expect(read(after, 3_000_000, LAST, ['smoke'])).toEqual([frame(3_000_000)]);
  });

  it('are not changed on the ground of a list of categories that is older: somebody else wrote in between', () => {
    const fog: Tally = { ...one, categories: new Map([['fog', { detections: 1, reviewed: 0, annotations: 0 }]]) };
    const moments = addMoments(NO_MOMENTS, [{ at: 5, place: 0, tally: fog }], ['smoke', 'fog']);
    expect(() => addMoments(moments, [frame(5, 0)], ['smoke'])).toThrow(WriteConflict);
  });

  it('are inserted where there is no row, else merged at the version that was read, the seconds that changed only', () => {
    const moments = addMoments(NO_MOMENTS, [frame(5), frame(7_000_000)], ['smoke']);
    expect(momentsWrite(MINUTE, undefined, moments, [frame(5)])).toMatchObject({
      kind: 'insert',
      rowKey: 'minute|0815',
    });
    const write = momentsWrite(MINUTE, 'W/"1"', moments, [frame(7_000_000)]);
    expect(write).toMatchObject({ kind: 'merge', etag: 'W/"1"' });
    expect(Object.keys(write.properties)).toEqual(['s07']);
  });

  it('that are damaged are refused and not half read', () => {
    const { properties } = momentsWrite(MINUTE, undefined, addMoments(NO_MOMENTS, [frame(5)], ['smoke']), [frame(5)]);
    expect(() => momentsFrom({ ...properties, s00: 'AAA=' })).toThrow(TypeError);
    const bytes = momentsFrom(properties).get(0) ?? new Uint8Array();
    const cut = momentsFrom({ s00: bytes.subarray(0, -1) });
    expect(() => momentsOf(cut, 0, LAST)).toThrow(TypeError);
    const [twice, elsewhere] = [Uint8Array.of(...bytes, 0, ...bytes.subarray(1)), Uint8Array.of(1)];
    expect(() => momentsOf(momentsFrom({ s00: twice }), 0, LAST)).toThrow(TypeError);
    expect(() => momentsOf(momentsFrom({ s00: elsewhere }), 0, LAST)).toThrow(TypeError);
    const late = addMoments(NO_MOMENTS, [frame(999_999), frame(1_000_001)], ['smoke']);
    const beyond = Uint8Array.of(...(late.get(0) ?? []), ...(late.get(1) ?? []));
    expect(() => momentsOf(momentsFrom({ s00: beyond }), 0, LAST)).toThrow(TypeError);
  });
});
