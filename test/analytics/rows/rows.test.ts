import { expect, it } from 'vitest';

import type { Tally } from '../../../src/analytics/model/tally.ts';
import { addToCamera, cameraWrite, emptyCameraRow } from '../../../src/analytics/rows/camera-row.ts';
import { addToBucket, bucketsWrite, NO_BUCKETS } from '../../../src/analytics/rows/hour-rows.ts';
import { addSamples, minuteRowWrite, NO_SAMPLES } from '../../../src/analytics/rows/minute-row.ts';
import {
  EMPTY_CAMERA_LIST,
  EMPTY_TOTAL,
  readTotal,
  totalWrites,
  withCameras,
  type StoredTotal,
} from '../../../src/analytics/rows/total-row.ts';
import { ANY_VERSION } from '../../../src/storage/row.ts';
import { ONE_FRAME } from '../arbitraries.ts';
import { all, MemoryStorage, SHARD } from '../counting.ts';

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

const named = (count: number): readonly string[] => all(count).map((index) => String(index).padStart(128, 'x'));

/** What is written of a total to which cameras are added. */
const writesOf = (stored: StoredTotal | undefined, cameraIds: readonly string[]) => {
  const cameras = withCameras(stored?.cameras ?? EMPTY_CAMERA_LIST, cameraIds);
  return totalWrites(stored, { ...EMPTY_TOTAL, tally: ONE_FRAME, cameras }, (key) =>
    key === 'total' ? stored?.etag : stored?.lists[Number(key.slice(-4)) - 1]?.etag,
  );
};

it("a shard's total is read with the cameras that it had, and only the texts of its list that changed are written again", async () => {
  const { table } = new MemoryStorage().process();
  expect(await readTotal(table, SHARD)).toBeUndefined();
  for (const [commit, count] of [1_300, 2_000, 6_000].entries()) {
    const writes = writesOf(await readTotal(table, SHARD), named(count));
    await table.transact(
      SHARD,
      Array.from(writes, (write) => ({ ...write, properties: { ...write.properties, n: commit } })),
    );
    const stored = await readTotal(table, SHARD);
    expect(stored).toMatchObject({ commit, stripes: 1, tally: ONE_FRAME, cameras: { ids: named(count) } });
    expect([...(stored?.cameras.indexes ?? [])]).toEqual(named(count).map((id, index) => [id, index]));
  }
  const changed = writesOf(await readTotal(table, SHARD), ['one-more']);
  expect(changed.map(({ rowKey, properties }) => [rowKey, Object.keys(properties)])).toEqual([
    ['total', ['day', 'active_cameras']],
    ['cameras|0002', ['cameras_10']],
  ]);
  // The list has grown since the total was read.
  const earlier = { active_cameras: 3_999 };
  await table.transact(SHARD, [{ kind: 'merge', rowKey: 'total', etag: ANY_VERSION, properties: earlier }]);
  const { ids, indexes } = (await readTotal(table, SHARD))?.cameras ?? EMPTY_CAMERA_LIST;
  expect(ids).toEqual(named(3_999));
  expect(indexes.size).toBe(3_999);
});
