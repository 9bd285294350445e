import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  addToCamera,
  CAMERA_DAY_PROPERTIES,
  cameraRowFrom,
  cameraProperties,
  cameraWrite,
  emptyCameraRow,
  minutesOf,
  type CameraDifference,
  type CameraRow,
} from '../../../src/analytics/rows/camera-row.ts';
import { EMPTY_TALLY, plus, sameTally, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { DamagedRow, DecodeError } from '../../../src/storage/errors.ts';
import type { Properties } from '../../../src/storage/row.ts';
import { ONE_FRAME as one, tallies } from '../arbitraries.ts';
import { storedRow } from './stored-row.ts';

const INDEX = 12;

/** What a difference to one minute of the day changes. */
const ofMinute = (minute: number, tally: Tally): CameraDifference => ({
  day: tally,
  hours: new Map([[Math.floor(minute / 60), tally]]),
  minutes: new Map([[minute, tally]]),
});

const rowFrom = (properties: Properties): CameraRow => cameraRowFrom(storedRow('camera|ridge-04', properties));

/** Tallies added to minutes of the day: often the same minute again, often the next one, sometimes any. */
const changes = fc.array(
  fc.record({
    minute: fc.oneof(fc.integer({ min: 480, max: 483 }), fc.integer({ min: 0, max: 1_439 })),
    difference: tallies,
  }),
  { minLength: 1, maxLength: 12 },
);

const select = (properties: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name)));

/** What storage holds after merges, decoded again after each of them or not. */
const applied = (
  given: readonly { readonly minute: number; readonly difference: Tally }[],
  rereads: readonly boolean[],
): { day: CameraRow; properties: Record<string, unknown> } => {
  const properties: Record<string, unknown> = {};
  let day: CameraRow = emptyCameraRow(INDEX);
  for (const [index, { minute, difference }] of given.entries()) {
    day = addToCamera(day, ofMinute(minute, difference));
    Object.assign(properties, cameraWrite('ridge-04', 'e', day, [Math.floor(minute / 60)]).properties);
    if (rereads[index] === true) day = rowFrom(properties);
  }
  return { day, properties };
};

describe("a camera's day", () => {
  const given = fc.tuple(changes, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }));

  it('has what was added to it, as a day, an hour and a minute, in memory and in its row', () => {
    fc.assert(
      fc.property(given, ([added, rereads]) => {
        const result = applied(added, rereads);
        for (const day of [result.day, rowFrom(result.properties)]) {
          expect(day.index).toBe(INDEX);
          expect(sameTally(day.tally, sumOf(added.map(({ difference }) => difference)))).toBe(true);
          for (let hour = 0; hour < 24; hour += 1) {
            const ofHour = added.filter(({ minute }) => Math.floor(minute / 60) === hour);
            expect(
              sameTally(day.hours.get(hour)?.tally ?? EMPTY_TALLY, sumOf(ofHour.map(({ difference }) => difference))),
            ).toBe(true);
            const minutes = minutesOf(day, hour);
            expect([...minutes.keys()].sort((a, b) => a - b)).toEqual(
              [...new Set(ofHour.map(({ minute }) => minute % 60))].sort((a, b) => a - b),
            );
            for (const [minute, tally] of minutes) {
              const own = ofHour.filter((change) => change.minute % 60 === minute);
              expect(sameTally(tally, sumOf(own.map(({ difference }) => difference)))).toBe(true);
            }
          }
        }
      }),
    );
  });

  it('can be read in part: the day, some hours, the minutes of some hours', () => {
    const { properties } = applied(
      [480, 481, 540, 600].map((minute) => ({ minute, difference: one })),
      [],
    );
    const dayOnly = rowFrom(select(properties, CAMERA_DAY_PROPERTIES));
    expect([dayOnly.tally.events, dayOnly.hours.size]).toEqual([4, 0]);
    const part = rowFrom(select(properties, cameraProperties([9], [8])));
    expect(part.hours.get(9)?.tally).toEqual(one);
    expect(minutesOf(part, 8)).toEqual(
      new Map([
        [0, one],
        [1, one],
      ]),
    );
    expect([minutesOf(part, 9).size, part.hours.has(10)]).toEqual([0, false]);
  });

  it('does not change when something is added to a copy', () => {
    const before = addToCamera(emptyCameraRow(INDEX), ofMinute(480, one));
    const written = (): readonly unknown[] =>
      Object.values(cameraWrite('ridge-04', 'e', before, [7, 8]).properties).map((value) =>
        value instanceof Uint8Array ? Array.from(value) : value,
      );
    const then = written();
    addToCamera(before, ofMinute(480, one));
    addToCamera(before, ofMinute(479, one));
    expect(written()).toEqual(then);
  });

  it('keeps minutes apart when a category is added later', () => {
    const later: Tally = { ...one, categories: new Map([['fog', { detections: 5, reviewed: 1, annotations: 200 }]]) };
    const { day } = applied(
      [
        { minute: 480, difference: one },
        { minute: 481, difference: later },
        { minute: 480, difference: later },
      ],
      [true, false, true],
    );
    expect(minutesOf(day, 8)).toEqual(
      new Map([
        [0, plus(one, later)],
        [1, later],
      ]),
    );
  });

  it('is inserted where it is not stored yet, else merged at the version that was read, with the changed hours only', () => {
    const day = addToCamera(addToCamera(emptyCameraRow(INDEX), ofMinute(480, one)), ofMinute(540, one));
    expect(cameraWrite('a/b', undefined, day, [8, 9])).toMatchObject({ kind: 'insert', rowKey: 'camera|a／b' });
    const write = cameraWrite('a/b', 'W/"1"', day, [9]);
    expect(write).toMatchObject({ kind: 'merge', etag: 'W/"1"' });
    expect(Object.keys(write.properties).sort()).toEqual(['day', 'h09', 'm09', 'place']);
  });

  it.each<[string, Record<string, unknown>]>([
    ['no tally', {}],
    ['a tally that is no text', { day: 5 }],
    ['minutes that are no bytes', { m08: 'AAA=' }],
    ['a place that is no number', { place: '12' }],
    ['a tally that is no JSON', { h08: '{' }],
  ])('that is damaged is refused as a whole: %s', (_damage, damage) => {
    const { properties } = applied([{ minute: 480, difference: one }], []);
    const row = { ...(Object.keys(damage).length === 0 ? {} : properties), ...damage };
    expect(() => rowFrom(row)).toThrow(DamagedRow);
  });

  it('with minutes that have a category the day lacks is refused', () => {
    const { properties } = applied([{ minute: 480, difference: one }], []);
    const day = rowFrom({ ...properties, day: '{"events":1,"reviewed":0,"annotated":0,"categories":{}}' });
    expect(() => minutesOf(day, 8)).toThrow(DecodeError);
  });
});
