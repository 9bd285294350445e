import type { CDPSession, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { z } from 'zod';

import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import { openPage } from './reader.ts';
import { setBrowserStage } from './stage.ts';
import { NOON, startService } from './target.ts';

const CAMERAS = 1_300;
let frames = 0;

const frame = (camera: number, at: number) => {
  frames += 1;
  return {
    event_id: `open-${frames}`,
    camera_id: `mountain-top-${String(camera).padStart(4, '0')}`,
    ts_utc: new Date(at).toISOString(),
    detections: { smoke: frames % 3 },
    reviewed: frames % 5 === 0,
    annotations: {},
  };
};

/** The real service, compressed answers and all, with the largest network that there is. */
const stage = setBrowserStage(async () => {
  const target = await startService(undefined, { days: [], settings: () => ({ PHONE: 'off' }) });
  const all = Array.from({ length: CAMERAS }, (_, camera) => camera);
  // Each sends now, and did in every hour of the day; those after the hundredth go on doing so.
  await target.record(
    [8, 9, 10, 11].flatMap((hour) => all.map((camera) => frame(camera, NOON - (12 - hour) * 3_600_000))),
  );
  await target.record(all.slice(100).map((camera) => frame(camera, NOON - 600_000)));
  return target;
});

const LONG_TASKS = `
  window.longTasks = [];
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: 'longtask' });
`;

const metricsSchema = z.object({ metrics: z.array(z.object({ name: z.string(), value: z.number() })) });

/** How many nodes and listeners the page has, after everything that nobody holds is gone. */
const heldBy = async (devtools: CDPSession): Promise<{ nodes: number; listeners: number }> => {
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = metricsSchema.parse(await devtools.send('Performance.getMetrics'));
  const of = (wanted: string): number => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { nodes: of('Nodes'), listeners: of('JSEventListeners') };
};

/** Time passes, and the round that it brings is over: its last answer is shown. */
const round = async (page: Page, milliseconds: number = PACE.live): Promise<void> => {
  await page.clock.fastForward(milliseconds);
  await page.getByText(/^Updated 0 s/).waitFor();
};

it('a page of 1,300 cameras costs at most 10 KB a round over the wire while counts change, and 304s while none does', async () => {
  const reader = await openPage(stage.browser, { url: stage.target.url, search: '?tz=utc', expectedErrors: /503 \(/ });
  const { page } = reader;
  await reader.settled();
  expect(await reader.figure('silent_cameras').innerText()).toBe('100');
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  let bytes = 0;
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.clock.pauseAt(NOON + 61_000);
  await page.getByText(/^Updated 0 s/).waitFor();
  await round(page);
  const costs: number[] = [];
  // More than a minute: the ids of the cameras that send are asked for again.
  for (let count = 0; count < 7; count += 1) {
    await stage.target.record([frame(count, NOON - 60_000), frame(200 + count, NOON - 60_000)]);
    bytes = 0;
    await round(page);
    costs.push(bytes);
  }
  expect(Math.max(...costs), costs.join(' ')).toBeLessThanOrEqual(10_240);
  expect(Math.min(...costs)).toBeGreaterThan(500);
  bytes = 0;
  await round(page);
  expect(bytes).toBeLessThan(2_500);
  await reader.leave();
});

it('a page left open for an hour holds no more than before, and its rounds are no long tasks', async () => {
  const reader = await openPage(stage.browser, { url: stage.target.url, search: '?tz=utc', expectedErrors: /503 \(/ });
  const { page } = reader;
  await reader.settled();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const minutes = async (rounds: number): Promise<void> => {
    for (let count = 0; count < rounds; count += 1) {
      if (count % 4 === 0) await stage.target.record([frame(count, NOON - 60_000)]);
      await round(page, 60_000);
    }
  };
  // From here on every camera is silent: the list of them is as long as it will be.
  await page.clock.pauseAt(NOON + 20 * 60_000);
  await page.getByText(/^Updated 0 s/).waitFor();
  await minutes(4);
  const before = await heldBy(devtools);
  await page.evaluate(LONG_TASKS);
  await minutes(60);
  const after = await heldBy(devtools);
  const longTasks = z.array(z.number()).parse(await page.evaluate('longTasks'));

  expect(after.nodes - before.nodes).toBeLessThan(100);
  expect(after.listeners - before.listeners).toBeLessThan(20);
  // What else the machine does makes a task long now and then: as a rule, a round has none.
  expect(longTasks.filter((duration) => duration > 50).length, longTasks.join(' ')).toBeLessThan(60 / 4);
  await reader.leave();
});
