import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Facets } from '../../../src/analytics/model/camera-event.ts';
import { EMPTY_TALLY, plus, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { indexesIn } from '../../../src/analytics/rows/bitset.ts';
import {
  addToCamera,
  cameraRowFrom,
  cameraWrite,
  emptyCameraRow,
  minutesOf,
  type CameraRow,
} from '../../../src/analytics/rows/camera-row.ts';
import { eventRowFrom, eventWrite, instantOf } from '../../../src/analytics/rows/event-row.ts';
import {
  addToBucket,
  bucketsFrom,
  bucketsWrite,
  bucketTally,
  NO_BUCKETS,
  type HoursRow,
} from '../../../src/analytics/rows/hour-rows.ts';
import {
  addSamples,
  minuteRowFrom,
  minuteRowWrite,
  NO_SAMPLES,
  overflowedSecondsOf,
  samplesOf,
  type MinuteRow,
} from '../../../src/analytics/rows/minute-row.ts';
import { ByteReader, readTally } from '../../../src/analytics/rows/tally-bytes.ts';
import type { StoredRow, StoringWrite } from '../../../src/storage/row.ts';
import { categories as categoryNames, counted, differences, instants, ONE_FRAME, tallies } from '../arbitraries.ts';

/** What is added to the counter rows: a tally of one camera, at a minute of the day and a microsecond of the minute. */
interface Change {
  readonly minute: number;
  readonly microsecond: number;
  readonly cameraIndex: number;
  readonly tally: Tally;
}

/** One kind of counter row. */
interface Kind<Row> {
  readonly empty: Row;
  /** undefined: the categories are too old. */
  readonly add: (row: Row, change: Change, categories: readonly string[]) => Row | undefined;
  /** Writes what a change to the row may have changed. */
  readonly write: (row: Row, change: Change) => StoringWrite;
  readonly from: (row: StoredRow) => Row;
  /** The places in the row that a change is added to. */
  readonly places: (change: Change) => readonly string[];
  /** All places in the row, in their order, and what is there; undefined: that cannot be decoded. */
  readonly found: (row: Row, categories: readonly string[]) => readonly (readonly [string, Tally | undefined])[];
}

const hourOf = ({ minute }: Change): number => Math.floor(minute / 60);

const bucketsOf = (numberOf: (change: Change) => number): Kind<HoursRow> => ({
  empty: NO_BUCKETS,
  add: (row, change, categories) => addToBucket(row, numberOf(change), change.tally, [change.cameraIndex], categories),
  write: (row, change) => bucketsWrite('hour|08', 'e', row, [numberOf(change)]),
  from: bucketsFrom,
  places: (change) => [`${numberOf(change)}`],
  found: (row, categories) =>
    Array.from(row, ([number, bucket]) => [`${number}`, bucketTally(bucket, categories)] as const),
});

const MINUTE: Kind<MinuteRow> = {
  empty: NO_SAMPLES,
  add: (row, change, categories) => addSamples(row, [change], categories),
  write: (row, change) => minuteRowWrite('minute|0815|00', 'e', row, [change]),
  from: minuteRowFrom,
  places: ({ microsecond, cameraIndex }) => [`${microsecond} ${cameraIndex}`],
  found: (row, categories) =>
    samplesOf(row, 0, 59_999_999).map(
      ({ microsecond, cameraIndex, tally }) =>
        [`${microsecond} ${cameraIndex}`, readTally(new ByteReader(tally), categories)] as const,
    ),
};

const CAMERA: Kind<CameraRow> = {
  empty: emptyCameraRow(12),
  add: (row, change) =>
    addToCamera(row, {
      day: change.tally,
      hours: new Map([[hourOf(change), change.tally]]),
      minutes: new Map([[change.minute, change.tally]]),
    }),
  write: (row, change) => cameraWrite('ridge-04', 'e', row, [hourOf(change)]),
  from: cameraRowFrom,
  places: (change) => ['day', `hour ${hourOf(change)}`, `minute ${change.minute}`],
  found: (row) => [
    [row.index === 12 ? 'day' : 'another camera', row.tally],
    ...Array.from(row.hours, ([hour, { tally }]) => [`hour ${hour}`, tally] as const),
    ...Array.from(row.hours.keys(), (hour) =>
      Array.from(minutesOf(row, hour), ([minute, tally]) => [`minute ${hour * 60 + minute}`, tally] as const),
    ).flat(),
  ],
};

/** Often the same place again, often a neighbour, sometimes any. */
const changes: fc.Arbitrary<Change> = fc.record({
  minute: fc.oneof(fc.integer({ min: 478, max: 481 }), fc.nat(1_439)),
  microsecond: fc.oneof(fc.nat(2), fc.integer({ min: 999_999, max: 1_000_001 }), fc.nat(59_999_999)),
  cameraIndex: fc.oneof(fc.nat(2), fc.nat(31_999)),
  tally: fc.oneof(tallies, differences),
});

const stored = (write: StoringWrite, properties = write.properties): StoredRow => ({
  partitionKey: '2026-11-21_00',
  rowKey: write.rowKey,
  etag: 'e',
  properties,
});

/** A property: a row has the sum of what was added at each place, in memory and as what storage holds after merges. */
const sums = <Row>(kind: Kind<Row>): void =>
  fc.assert(
    fc.property(fc.array(fc.tuple(changes, fc.boolean()), { minLength: 1, maxLength: 12 }), (given) => {
      const categories = new Set<string>();
      const properties: Record<string, unknown> = {};
      let row = kind.empty;
      let last: StoredRow | undefined;
      for (const [change, rereads] of given) {
        for (const name of change.tally.categories.keys()) categories.add(name);
        const before = structuredClone(kind.found(row, [...categories]));
        const after = kind.add(row, change, [...categories]);
        if (after === undefined) throw new Error('the categories are older than the row');
        expect(kind.found(row, [...categories]), 'the row before').toEqual(before);
        const write = kind.write(after, change);
        Object.assign(properties, write.properties);
        last = { ...stored(write), properties };
        row = rereads ? kind.from(last) : after;
      }
      const all = given.map(([change]) => change);
      for (const read of [row, ...(last ? [kind.from(last)] : [])]) {
        const found = kind.found(read, [...categories]);
        expect(new Set(found.map(([place]) => place))).toEqual(new Set(all.flatMap(kind.places)));
        for (const [place, tally] of found) {
          const expected = sumOf(all.filter((one) => kind.places(one).includes(place)).map((one) => one.tally));
          expect(tally && counted(tally), place).toEqual(counted(expected));
        }
      }
    }),
  );

describe('a counter row has what was added to it', () => {
  it.each([
    ['the hours of a day', () => sums(bucketsOf(hourOf))],
    ['the minutes of an hour', () => sums(bucketsOf(({ minute }) => minute % 60))],
    ['the samples of half a minute', () => sums(MINUTE)],
    ["a camera's day, hours and minutes", () => sums(CAMERA)],
  ])('as %s', (_, check) => {
    expect(check).not.toThrow();
  });

  it('with the cameras of each bucket', () => {
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 8 }), (given) => {
        const row = given.reduce<HoursRow>(
          (before, { tally, cameraIndex }) =>
            addToBucket(before, 7, { ...tally, categories: new Map() }, [cameraIndex], []) ?? before,
          NO_BUCKETS,
        );
        const bucket = bucketsFrom(stored(bucketsWrite('hours', undefined, row, [7]))).get(7);
        const cameras = new Set(given.map(({ cameraIndex }) => cameraIndex));
        expect(new Set(bucket && indexesIn(bucket.active))).toEqual(cameras);
      }),
    );
  });
});

describe('a counter row', () => {
  const change: Change = { minute: 487, microsecond: 7_000_005, cameraIndex: 3, tally: ONE_FRAME };
  const other: Change = { ...change, minute: 540, microsecond: 9_000_000 };
  const keysOf = <Row>(kind: Kind<Row>): readonly string[] => {
    const row = [change, other].reduce<Row>((before, one) => kind.add(before, one, ['smoke']) ?? before, kind.empty);
    return Object.keys(kind.write(row, change).properties).sort();
  };

  it('writes only what has changed', () => {
    expect(keysOf(bucketsOf(hourOf))).toEqual(['a08', 't08']);
    expect(keysOf(MINUTE)).toEqual(['s07']);
    expect(keysOf(CAMERA)).toEqual(['day', 'h08', 'm08', 'place']);
  });

  it('is not changed with a list of categories that is older than it: another process wrote in between', () => {
    const fog: Tally = { ...ONE_FRAME, categories: new Map([['fog', { detections: 1, reviewed: 0, annotations: 0 }]]) };
    const stale = <Row>(kind: Kind<Row>): Row | undefined =>
      kind.add(kind.add(kind.empty, { ...change, tally: fog }, ['smoke', 'fog']) ?? kind.empty, change, ['smoke']);
    expect([stale(bucketsOf(hourOf)), stale(MINUTE)]).toEqual([undefined, undefined]);
  });

  it('keeps the minutes of a camera apart if a category is added later', () => {
    const later: Tally = {
      ...EMPTY_TALLY,
      categories: new Map([['fog', { detections: 5, reviewed: 1, annotations: 200 }]]),
    };
    const row = [ONE_FRAME, later].reduce(
      (before, tally) => CAMERA.add(before, { ...change, tally }, []) ?? before,
      CAMERA.empty,
    );
    expect(minutesOf(row, 8)).toEqual(new Map([[7, plus(ONE_FRAME, later)]]));
  });

  it('drops the samples of a second that has overflowed for good, and keeps those of other seconds', () => {
    const crowd = Array.from({ length: 3_600 }, (_, index) => ({ ...change, microsecond: 2_000_000 + index }));
    const beside = Array.from([1_999_999, 3_000_000], (microsecond) => ({ ...change, microsecond }));
    const full = addSamples(NO_SAMPLES, [...beside, ...crowd], ['smoke']) ?? NO_SAMPLES;
    const after = addSamples(full, [...beside, ...crowd.slice(0, 1)], ['smoke']) ?? NO_SAMPLES;
    for (const row of [after, minuteRowFrom(stored(minuteRowWrite('k', undefined, after, [...beside, ...crowd])))]) {
      expect(overflowedSecondsOf(row)).toEqual([2]);
      expect(() => samplesOf(row, 2_999_999, 3_000_000)).toThrow(RangeError);
      const left = samplesOf(row, 0, 59_999_999, new Set([2]));
      expect(left.map(({ microsecond, tally }) => [microsecond, readTally(new ByteReader(tally), ['smoke'])])).toEqual(
        beside.map(({ microsecond, tally }) => [microsecond, plus(tally, tally)]),
      );
    }
  });
});

const counts = fc
  .uniqueArray(fc.tuple(categoryNames, fc.nat(10_000)), { selector: ([name]) => name, maxLength: 64 })
  .map((entries): ReadonlyMap<string, number> => new Map(entries));
const facet = <Value>(values: fc.Arbitrary<Value>) =>
  fc.record({ value: values, time: instants }, { noNullPrototype: true });
const facets: fc.Arbitrary<Facets> = fc.record(
  { detections: facet(counts), reviewed: facet(fc.boolean()), annotations: facet(counts) },
  { requiredKeys: [], noNullPrototype: true },
);

it('the row of an event is read back as it was written, to the microsecond', () => {
  fc.assert(
    fc.property(instants, facets, (ts, known) => {
      const row = stored(eventWrite('key', undefined, { ts, facets: known }));
      expect(eventRowFrom(row)).toEqual({ ts, facets: known });
      expect(instantOf(row)).toBe(ts);
    }),
  );
});
