import type { Page } from 'playwright-core';
import { z } from 'zod';

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
export const measured = async (page: Page) => {
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

const heapSchema = z.object({ usedSize: z.number() });

/** What the scripts of a page hold after everything that could be collected has been, in megabytes. */
export const heapOf = async (page: Page): Promise<number> => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = heapSchema.parse(await devtools.send('Runtime.getHeapUsage'));
  await devtools.detach();
  return usedSize / 1e6;
};
