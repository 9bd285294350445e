import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  addToHour,
  EMPTY_HOUR,
  HOUR_PROPERTIES,
  hourWrite,
  minuteProperties,
  minuteTally,
  shardHourFrom,
  type ShardHour,
} from '../../src/analytics/hour-row.ts';
import { WriteConflict } from '../../src/analytics/table.ts';
import { bitsOf } from '../../src/analytics/tally-bytes.ts';
import { EMPTY_TALLY, sameTally, sumOf, type Tally } from '../../src/analytics/tally.ts';
import { tallies } from './arbitraries.ts';

const changes = fc.array(
  fc.record({
    minute: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 59 })),
    place: fc.integer({ min: 0, max: 25_000 }),
    difference: tallies,
  }),
  { minLength: 1, maxLength: 10 },
);

const one: Tally = {
  events: 1,
  reviewed: 0,
  annotated: 0,
  categories: new Map([['smoke', { detections: 2, reviewed: 0, annotations: 0 }]]),
};

const sorted = (places: Iterable<number>): readonly number[] => [...new Set(places)].sort((a, b) => a - b);

describe("a shard's hour", () => {
  it('is what was added to it: as an hour, a minute, and whose; in memory and in its row', () => {
    fc.assert(
      fc.property(changes, fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), (added, rereads) => {
        const categories: string[] = [];
        const properties: Record<string, unknown> = {};
        let hour: ShardHour = EMPTY_HOUR;
        for (const [index, { minute, place, difference }] of added.entries()) {
          for (const name of difference.categories.keys()) if (!categories.includes(name)) categories.push(name);
          hour = addToHour(hour, minute, difference, [place], categories);
          Object.assign(properties, hourWrite(8, 'e', hour, [minute]).properties);
          if (rereads[index] === true) hour = shardHourFrom(properties);
        }
        for (const read of [hour, shardHourFrom(properties)]) {
          expect(sameTally(read.tally, sumOf(added.map(({ difference }) => difference)))).toBe(true);
          expect(bitsOf(read.active)).toEqual(sorted(added.map(({ place }) => place)));
          expect(sorted(read.minutes.keys())).toEqual(sorted(added.map(({ minute }) => minute)));
          for (const [minute, state] of read.minutes) {
            const ofMinute = added.filter((change) => change.minute === minute);
            const tally = minuteTally(state, categories);
            expect(sameTally(tally ?? EMPTY_TALLY, sumOf(ofMinute.map(({ difference }) => difference)))).toBe(true);
            expect(bitsOf(state.active)).toEqual(sorted(ofMinute.map(({ place }) => place)));
          }
        }
      }),
    );
  });

  it('can be read in part: the hour, or some minutes', () => {
    const hour = addToHour(addToHour(EMPTY_HOUR, 0, one, [3], ['smoke']), 7, one, [12], ['smoke']);
    const { properties } = hourWrite(8, undefined, hour, [0, 7]);
    const select = (names: readonly string[]) =>
      shardHourFrom(Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name))));
    expect([select(HOUR_PROPERTIES).tally.events, select(HOUR_PROPERTIES).minutes.size]).toEqual([2, 0]);
    const minutes = select(minuteProperties([7, 8])).minutes;
    expect([...minutes.keys()]).toEqual([7]);
    expect(minuteTally(minutes.get(7), ['smoke'])).toEqual(one);
  });

  it('is not changed on the ground of a list of categories that is older than it: somebody else wrote in between', () => {
    const hour = addToHour(
      EMPTY_HOUR,
      0,
      { ...one, categories: new Map([['fog', { detections: 1, reviewed: 0, annotations: 0 }]]) },
      [0],
      ['smoke', 'fog'],
    );
    expect(() => addToHour(hour, 0, one, [0], ['smoke'])).toThrow(WriteConflict);
    expect(minuteTally(hour.minutes.get(0), ['smoke'])).toBeUndefined();
  });

  it('is inserted where there is no row, else merged at the version that was read, with the minutes that changed only', () => {
    const hour = addToHour(addToHour(EMPTY_HOUR, 0, one, [3], ['smoke']), 7, one, [12], ['smoke']);
    expect(hourWrite(8, undefined, hour, [0, 7])).toMatchObject({ kind: 'insert', rowKey: 'hour|08' });
    const write = hourWrite(8, 'W/"1"', hour, [7]);
    expect(write).toMatchObject({ kind: 'merge', etag: 'W/"1"' });
    expect(Object.keys(write.properties).sort()).toEqual(['a07', 'active', 'hour', 'm07']);
  });

  it('of which nothing was sent is empty', () => {
    expect(shardHourFrom({})).toEqual(EMPTY_HOUR);
    expect(minuteTally(undefined, [])).toEqual(EMPTY_TALLY);
  });

  it.each([{ m00: 'AAA=' }, { active: 5 }, { hour: 5 }])(
    'that is damaged is refused and not half read: %j',
    (damage) => {
      const { properties } = hourWrite(8, undefined, addToHour(EMPTY_HOUR, 0, one, [0], ['smoke']), [0]);
      expect(() => shardHourFrom({ ...properties, ...damage })).toThrow(TypeError);
    },
  );
});
