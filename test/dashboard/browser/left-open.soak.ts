import { expect, it } from 'vitest';
import { z } from 'zod';

import { NOON } from '../answers.ts';
import { CAMERAS, frame } from './activity.ts';
import { setStage } from './stage.ts';

const MINUTE = 60_000;

const sends = (camera: string | undefined, at: number) => frame(camera ?? '', at, { detections: { smoke: 1 } });

/** All cameras of the largest network send in two hours of the day, and most of them until now. */
const stage = setStage([
  ...[2, 1].flatMap((hours) => CAMERAS.map((camera) => sends(camera, NOON - hours * 60 * MINUTE))),
  ...CAMERAS.slice(100).map((camera) => sends(camera, NOON - 10 * MINUTE)),
]);

it('a round of 1,300 cameras has at most 10 KB while counts change, and 304s while they do not', async () => {
  const { count: figure, nextRound } = await stage.open('?tz=utc');
  expect(await figure('silent_cameras')).toBe(100);
  const bytesOfRound = async (): Promise<number> => {
    const before = stage.service.bytes;
    await nextRound();
    return stage.service.bytes - before;
  };
  const costs: number[] = [];
  // More than a minute: the page also polls the ids of the cameras that send.
  for (let count = 0; count < 7; count += 1) {
    await stage.service.record([sends(CAMERAS[count], NOON - MINUTE), sends(CAMERAS[200 + count], NOON - MINUTE)]);
    costs.push(await bytesOfRound());
  }
  expect(Math.max(...costs), costs.join(' ')).toBeLessThanOrEqual(10_240);
  expect(Math.min(...costs)).toBeGreaterThan(500);
  expect(await bytesOfRound()).toBeLessThan(2_500);
});

it('eight hours of 1,300 cameras and 60 categories leave less than 10 MB in the heap', async () => {
  const { service } = stage;
  service.isInvented = true;
  service.categories = Array.from({ length: 60 }, (_, category) => `category-${category}`);
  service.instead = () => {
    // Every answer differs from the answer before.
    service.frames = (service.frames + 7) % 1_000;
    service.lastSeen = Object.fromEntries(CAMERAS.map((id, index) => [id, (index + service.frames) % 5_000]));
    return undefined;
  };
  const { page, nextRound } = await stage.open('?tz=utc');
  expect(await page.locator('.categories tbody tr').count()).toBe(60);
  // The page draws into the document, and the browser does not paint: painting takes most of the time.
  await page.evaluate("document.body.style.display = 'none'");
  for (let round = 0; round < 8 * 60; round += 1) await nextRound(MINUTE);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = z.object({ usedSize: z.number() }).parse(await devtools.send('Runtime.getHeapUsage'));
  expect(usedSize).toBeLessThan(10e6);
});
