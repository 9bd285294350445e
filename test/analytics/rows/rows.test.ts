import { expect, it } from 'vitest';

import { NO_COUNT, type Tally } from '../../../src/analytics/model/tally.ts';
import { addToBucket, bucketValues, NO_BUCKETS } from '../../../src/analytics/rows/buckets.ts';
import { addToCamera, cameraWrite, EMPTY_CAMERA } from '../../../src/analytics/rows/camera-row.ts';
import { addSamples, minuteRowWrite, NO_SAMPLES } from '../../../src/analytics/rows/minute-row.ts';
import {
  EMPTY_STRIPE,
  hasSameCounts,
  type StripeRow,
  stripeRowFrom,
  stripeWrite,
  withCameras,
} from '../../../src/analytics/rows/stripe-row.ts';
import { ONE_FRAME } from '../arbitraries.ts';
import { all, MemoryStorage, SHARD } from '../counting.ts';

const FOG: Tally = { ...ONE_FRAME, categories: new Map([['fog', { ...NO_COUNT, detections: 5, annotations: 200 }]]) };
const SAMPLE = { microsecond: 7_000_005, cameraIndex: 3, tally: ONE_FRAME };
const someHours = [8, 9].reduce((row, hour) => addToBucket(row, hour, ONE_FRAME, [3], ['smoke']) ?? row, NO_BUCKETS);

it('a counter row writes only what has changed', () => {
  expect(Object.keys(bucketValues(someHours, [8])).sort()).toEqual(['active_08', 'tally_08']);
  const minute = addSamples(NO_SAMPLES, [SAMPLE, { ...SAMPLE, microsecond: 9_000_000 }], ['smoke']) ?? NO_SAMPLES;
  expect(Object.keys(minuteRowWrite('k', 'e', minute, [SAMPLE]).properties)).toEqual(['second_07']);
  const camera = [487, 540].reduce((row, at) => addToCamera(row, [[at, ONE_FRAME]]), EMPTY_CAMERA);
  const written = Object.keys(cameraWrite('c', 'e', camera, [8]).properties);
  expect(written.sort()).toEqual(['day', 'hour_08', 'minutes_08']);
});

it('a counter row is not changed with a list of categories that is older than it: another process wrote in between', () => {
  const names = ['smoke', 'fog'];
  const buckets = addToBucket(NO_BUCKETS, 8, FOG, [3], names) ?? NO_BUCKETS;
  const minute = addSamples(NO_SAMPLES, [{ ...SAMPLE, tally: FOG }], names) ?? NO_SAMPLES;
  expect(addToBucket(buckets, 8, ONE_FRAME, [3], ['smoke'])).toBeUndefined();
  expect(addSamples(minute, [SAMPLE], ['smoke'])).toBeUndefined();
});

it("a stripe's row is read as it was written, and only the hours and the texts of its list that changed are written again", async () => {
  const { table } = new MemoryStorage().process();
  const named = all(900).map((index) => String(index).padStart(128, 'x'));
  const stored = async () => {
    const row = await table.get(SHARD, 'day');
    return row && { row, value: stripeRowFrom(row) };
  };
  const write = async (after: StripeRow): Promise<readonly string[]> => {
    const before = await stored();
    const own = stripeWrite(0, before?.row.etag, before?.value, after, [8]);
    await table.transact(SHARD, [own]);
    return Object.keys(own.properties);
  };
  const first = { ...EMPTY_STRIPE, tally: FOG, hours: someHours, cameras: withCameras(EMPTY_STRIPE.cameras, named) };
  expect(await write(first)).toEqual([
    'stripes',
    'day',
    'tally_08',
    'active_08',
    'cameras',
    'cameras_1',
    'cameras_2',
    'cameras_3',
  ]);
  const [eight] = [...someHours];
  const found = await stored();
  expect(found?.value).toMatchObject({ stripes: 1, mark: 0, tally: FOG, cameras: { ids: named } });
  expect([...(found?.value.hours ?? [])]).toEqual([eight]);
  const more = { ...first, cameras: withCameras(first.cameras, ['one-more']) };
  expect(await write(more)).toEqual(['day', 'tally_08', 'active_08', 'cameras_3']);
  const now = await stored();
  expect(now?.value.cameras.indexes.get('one-more')).toBe(900);
  // Another writer's commit is told from the mark of a seal.
  const only = { ...more, hours: new Map(eight && [eight]) };
  for (const [properties, isSame] of [
    [{ mark: 3, stripes: 2 }, true],
    [{ cameras: 'other' }, false],
  ] as const) {
    await table.transact(SHARD, [{ kind: 'merge', rowKey: 'day', etag: '*', properties }]);
    const after = await stored();
    expect(after && hasSameCounts(after.row, only)).toBe(isSame);
  }
});
