import { describe, expect, it } from 'vitest';

import { plus, type Tally } from '../../../src/analytics/model/tally.ts';
import { addToCamera, cameraWrite, emptyCameraRow } from '../../../src/analytics/rows/camera-row.ts';
import { addToBucket, bucketsWrite, NO_BUCKETS } from '../../../src/analytics/rows/hour-rows.ts';
import {
  addSamples,
  minuteRowFrom,
  minuteRowWrite,
  NO_SAMPLES,
  overflowedSecondsOf,
  samplesOf,
} from '../../../src/analytics/rows/minute-row.ts';
import { ByteReader, readTally } from '../../../src/analytics/rows/tally-bytes.ts';
import type { StoredRow, StoringWrite } from '../../../src/storage/row.ts';
import { ONE_FRAME } from '../arbitraries.ts';

const stored = ({ rowKey, properties }: StoringWrite): StoredRow => ({
  partitionKey: '2026-11-21_00',
  rowKey,
  etag: 'e',
  properties,
});

const FOG: Tally = { ...ONE_FRAME, categories: new Map([['fog', { detections: 5, reviewed: 1, annotations: 200 }]]) };
const SAMPLE = { microsecond: 7_000_005, cameraIndex: 3, tally: ONE_FRAME };
const changeOfCamera = (minute: number, tally: Tally) => ({
  day: tally,
  hours: new Map([[Math.floor(minute / 60), tally]]),
  minutes: new Map([[minute, tally]]),
});

describe('a counter row', () => {
  it('writes only what has changed', () => {
    const buckets = [8, 9].reduce((row, hour) => addToBucket(row, hour, ONE_FRAME, [3], ['smoke']) ?? row, NO_BUCKETS);
    expect(Object.keys(bucketsWrite('hours', 'e', buckets, [8]).properties).sort()).toEqual(['a08', 't08']);
    const minute = addSamples(NO_SAMPLES, [SAMPLE, { ...SAMPLE, microsecond: 9_000_000 }], ['smoke']) ?? NO_SAMPLES;
    expect(Object.keys(minuteRowWrite('k', 'e', minute, [SAMPLE]).properties)).toEqual(['s07']);
    const camera = [487, 540].reduce((row, at) => addToCamera(row, changeOfCamera(at, ONE_FRAME)), emptyCameraRow(12));
    expect(Object.keys(cameraWrite('c', 'e', camera, [8]).properties).sort()).toEqual(['day', 'h08', 'm08', 'place']);
  });

  it('is not changed with a list of categories that is older than it: another process wrote in between', () => {
    const names = ['smoke', 'fog'];
    const buckets = addToBucket(NO_BUCKETS, 8, FOG, [3], names) ?? NO_BUCKETS;
    const minute = addSamples(NO_SAMPLES, [{ ...SAMPLE, tally: FOG }], names) ?? NO_SAMPLES;
    expect(addToBucket(buckets, 8, ONE_FRAME, [3], ['smoke'])).toBeUndefined();
    expect(addSamples(minute, [SAMPLE], ['smoke'])).toBeUndefined();
  });

  it('drops the samples of a second that has overflowed for good, and keeps those of other seconds', () => {
    const crowd = Array.from({ length: 3_600 }, (_, index) => ({ ...SAMPLE, microsecond: 2_000_000 + index }));
    const beside = Array.from([1_999_999, 3_000_000], (microsecond) => ({ ...SAMPLE, microsecond }));
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
