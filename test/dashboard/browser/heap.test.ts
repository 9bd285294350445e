import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';

import { frame, NOON } from './activity.ts';
import { setStage } from './stage.ts';

const CAMERAS = Array.from({ length: 1_300 }, (_, camera) => `mountain-top-${String(camera).padStart(4, '0')}`);
const CATEGORIES = Array.from({ length: 60 }, (_, category) => `category-${category}`);
const MINUTE = 60_000;

let sent = 0;
const sends = (camera: string | undefined, at: number) => {
  sent += 1;
  const detections = Object.fromEntries(CATEGORIES.map((category, index) => [category, (sent + index) % 7]));
  return frame(camera ?? '', at, { detections, reviewed: sent % 5 === 0 });
};

const stage = setStage([
  ...CAMERAS.map((camera) => sends(camera, NOON - 60 * MINUTE)),
  ...CAMERAS.slice(100).map((camera) => sends(camera, NOON - 10 * MINUTE)),
]);

const heapOf = async (page: Page): Promise<number> => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
};

it('heap', async () => {
  const { page, nextRound } = await stage.open('?tz=utc');
  await nextRound(20 * MINUTE);
  console.log('start', await heapOf(page));
  for (let count = 0; count < 110; count += 1) {
    const t = performance.now();
    await stage.service.record([sends(CAMERAS[count], NOON - MINUTE)]);
    const t2 = performance.now();
    await nextRound(2 * MINUTE);
    if (count % 10 === 0) console.log(count, (await heapOf(page)).toFixed(1), Math.round(t2 - t), Math.round(performance.now() - t2));
  }
});
