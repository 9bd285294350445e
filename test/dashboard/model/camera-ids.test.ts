import { expect, it } from 'vitest';

import { nearestIds, silentCameras } from '../../../src/dashboard/browser/model/camera-ids.ts';

it('silent are the cameras that were active before and are not now', () => {
  expect(silentCameras(['a', 'b', 'c'], ['b', 'new'])).toEqual(['a', 'c']);
});

it('the nearest names are those that contain what was written, and those with a few signs changed', () => {
  const ids = ['ridge-04', 'ridge-05', 'Ridge-40', 'bear-creek', 'hawk-hill'];

  expect(nearestIds('rigde-04', ids)[0]).toBe('ridge-04');
  expect(nearestIds('BEAR', ids)).toEqual(['bear-creek']);
  expect(nearestIds('zzz', ids)).toEqual([]);
  expect(
    nearestIds(
      'x'.repeat(128),
      Array.from({ length: 1_300 }, (_, index) => `camera-${index}`),
    ),
  ).toEqual([]);
});
