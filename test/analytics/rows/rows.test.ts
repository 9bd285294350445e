import { expect, it } from 'vitest';

import type { Tally } from '../../../src/analytics/model/tally.ts';
import { addToCamera, cameraWrite, emptyCameraRow } from '../../../src/analytics/rows/camera-row.ts';
import { addToBucket, bucketsWrite, NO_BUCKETS } from '../../../src/analytics/rows/hour-rows.ts';
import { addSamples, minuteRowWrite, NO_SAMPLES } from '../../../src/analytics/rows/minute-row.ts';
import { ONE_FRAME } from '../arbitraries.ts';

const FOG: Tally = { ...ONE_FRAME, categories: new Map([['fog', { detections: 5, reviewed: 1, annotations: 200 }]]) };
const SAMPLE = { microsecond: 7_000_005, cameraIndex: 3, tally: ONE_FRAME };
const changeOfCamera = (minute: number) => ({
  day: ONE_FRAME,
  hours: new Map([[Math.floor(minute / 60), ONE_FRAME]]),
  minutes: new Map([[minute, ONE_FRAME]]),
});

it('a counter row writes only what has changed', () => {
  const buckets = [8, 9].reduce((row, hour) => addToBucket(row, hour, ONE_FRAME, [3], ['smoke']) ?? row, NO_BUCKETS);
  expect(Object.keys(bucketsWrite('hours', 'e', buckets, [8]).properties).sort()).toEqual(['a08', 't08']);
  const minute = addSamples(NO_SAMPLES, [SAMPLE, { ...SAMPLE, microsecond: 9_000_000 }], ['smoke']) ?? NO_SAMPLES;
  expect(Object.keys(minuteRowWrite('k', 'e', minute, [SAMPLE]).properties)).toEqual(['s07']);
  const camera = [487, 540].reduce((row, at) => addToCamera(row, changeOfCamera(at)), emptyCameraRow(12));
  expect(Object.keys(cameraWrite('c', 'e', camera, [8]).properties).sort()).toEqual(['day', 'h08', 'm08', 'place']);
});

it('a counter row is not changed with a list of categories that is older than it: another process wrote in between', () => {
  const names = ['smoke', 'fog'];
  const buckets = addToBucket(NO_BUCKETS, 8, FOG, [3], names) ?? NO_BUCKETS;
  const minute = addSamples(NO_SAMPLES, [{ ...SAMPLE, tally: FOG }], names) ?? NO_SAMPLES;
  expect(addToBucket(buckets, 8, ONE_FRAME, [3], ['smoke'])).toBeUndefined();
  expect(addSamples(minute, [SAMPLE], ['smoke'])).toBeUndefined();
});
