import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { z } from 'zod';

import { frame, NOON } from './activity.ts';
import { setStage, sharedBrowser } from './stage.ts';

const CAMERAS = Array.from({ length: 1_300 }, (_, camera) => `mountain-top-${String(camera).padStart(4, '0')}`);
const MINUTE = 60_000;

let sent = 0;
const sends = (camera: string | undefined, at: number) => {
  sent += 1;
  return frame(camera ?? '', at, { detections: { smoke: sent % 3 }, reviewed: sent % 5 === 0 });
};

/** The largest network that there is: each camera sends in four hours of the day, and those after the hundredth until now. */
const stage = setStage([
  ...[4, 3, 2, 1].flatMap((hours) => CAMERAS.map((camera) => sends(camera, NOON - hours * 60 * MINUTE))),
  ...CAMERAS.slice(100).map((camera) => sends(camera, NOON - 10 * MINUTE)),
]);

const metricsSchema = z.object({ metrics: z.array(z.object({ name: z.string(), value: z.number() })) });

/** Work of about 20 ms on a usual machine. */
const FIXED_WORK = `{
  const cameras = Array.from({ length: 1_300 }, (_, index) => ({ camera_id: 'mountain-top-' + index, total_events: index }));
  for (let count = 0; count < 50; count += 1) JSON.parse(JSON.stringify(cameras));
}`;

/**
 * Asks what a page holds, and what its thread has cost so far: in milliseconds of the processor, not of the clock, which also runs
 * while the machine does something else.
 */
const measured = async (page: Page) => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const measure = async () => {
    const { metrics } = metricsSchema.parse(await devtools.send('Performance.getMetrics'));
    const of = (wanted: string): number => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
    return { cost: of('TaskDuration') * 1_000, nodes: of('Nodes'), listeners: of('JSEventListeners') };
  };
  /** What the fixed work costs there. Bounds are multiples of it: a slow machine is no reason to fail. */
  const unit = async (): Promise<number> => {
    const before = await measure();
    await page.evaluate(FIXED_WORK);
    return (await measure()).cost - before.cost;
  };
  return { measure, unit };
};

it('comes in one answer, and page and service compute little until the first figures are there', async () => {
  // Nothing is in a cache, and no clock of the test's is in the page.
  const context = await (await sharedBrowser()).newContext();
  const page = await context.newPage();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  const { measure, unit } = await measured(page);
  const before = process.cpuUsage();
  await page.goto(`${stage.service.url}/api/dashboard?date=2026-11-21&tz=utc`);
  await page.locator('[data-fact="total_events"]').getByText('6,400').waitFor();
  const { cost } = await measure();
  const { user, system } = process.cpuUsage(before);
  expect(asked.filter((path) => !/^\/api\/(analytics|notifications)/.test(path))).toEqual(['/api/dashboard']);
  await page.getByText(/^Updated \d+ /).waitFor();
  // About 12; 50 is a second on a usual machine.
  expect((cost + (user + system) / 1_000) / (await unit())).toBeLessThan(50);
  await context.close();
});

/** An hour, two minutes each. */
const ROUNDS = 30;

it('costs at most 10 KB a round over the wire with 1,300 cameras while counts change, and 304s while none does', async () => {
  const { count: figure, nextRound } = await stage.open('?tz=utc');
  expect(await figure('silent_cameras')).toBe(100);
  const bytesOfRound = async (): Promise<number> => {
    const from = stage.service.asked.length;
    await nextRound();
    return stage.service.asked.slice(from).reduce((sum, { bytes }) => sum + bytes, 0);
  };
  const costs: number[] = [];
  // More than a minute: the ids of the cameras that send are asked for again.
  for (let count = 0; count < 7; count += 1) {
    await stage.service.record([sends(CAMERAS[count], NOON - MINUTE), sends(CAMERAS[200 + count], NOON - MINUTE)]);
    costs.push(await bytesOfRound());
  }
  expect(Math.max(...costs), costs.join(' ')).toBeLessThanOrEqual(10_240);
  expect(Math.min(...costs)).toBeGreaterThan(500);
  expect(await bytesOfRound()).toBeLessThan(2_500);
});

it('holds no more after an hour than before, and its rounds compute little', { timeout: 90_000 }, async () => {
  // From here on every camera is silent: the list of them is as long as it will be.
  const { page, nextRound } = await stage.open('?tz=utc');
  await nextRound(20 * MINUTE);
  const { measure, unit } = await measured(page);
  const rounds = async (most: number): Promise<number[]> => {
    const costs: number[] = [];
    for (let count = 0; count < most; count += 1) {
      if (count % 4 === 0) await stage.service.record([sends(CAMERAS[count], NOON - MINUTE)]);
      const before = await measure();
      await nextRound(2 * MINUTE);
      costs.push((await measure()).cost - before.cost);
    }
    return costs;
  };
  await rounds(4);
  await page.requestGC();
  const before = await measure();
  const costs = await rounds(ROUNDS);
  await page.requestGC();
  const after = await measure();

  expect(after.nodes - before.nodes).toBeLessThan(100);
  expect(after.listeners - before.listeners).toBeLessThan(20);
  // All tasks of a round together, and what looking on costs: about 1.
  const median = costs.toSorted((one, other) => one - other)[ROUNDS / 2] ?? Number.NaN;
  expect(median / (await unit()), costs.map(Math.round).join(' ')).toBeLessThan(5);
});
