import type { Page } from 'playwright-core';
import { z } from 'zod';

const metricsSchema = z.object({ metrics: z.array(z.object({ name: z.string(), value: z.number() })) });

/** Work of about 20 ms on a usual machine. */
const FIXED_WORK = `{
  const cameras = Array.from({ length: 1_300 }, (_, index) => ({ camera_id: 'mountain-top-' + index, total_events: index }));
  for (let count = 0; count < 50; count += 1) JSON.parse(JSON.stringify(cameras));
}`;

/** `measure`: milliseconds of the processor that the page's thread has used. `unit`: the same, for a fixed piece of work. */
export const measured = async (page: Page) => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const measure = async (): Promise<number> => {
    const { metrics } = metricsSchema.parse(await devtools.send('Performance.getMetrics'));
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
  };
  const unit = async (): Promise<number> => {
    const before = await measure();
    await page.evaluate(FIXED_WORK);
    return (await measure()) - before;
  };
  return { measure, unit };
};

const traceSchema = z.object({
  traceEvents: z.array(
    z.object({ name: z.string(), pid: z.number(), tid: z.number(), tdur: z.number().optional(), args: z.unknown() }),
  ),
});
const threadName = z.object({ name: z.literal('CrRendererMain') });

/** In the page: waits for the next paint. The clock of a test stops animation frames, but not observers. */
const PAINTED = `new Promise((resolve) => {
  const observer = new IntersectionObserver(() => {
    observer.disconnect();
    resolve();
  });
  observer.observe(document.body);
})`;

/** The longest task of the pages' threads while something is done, in milliseconds of the processor. */
export const longestTask = async (page: Page, done: () => Promise<void>): Promise<number> => {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser');
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline', '__metadata'] });
  await done();
  await page.evaluate(PAINTED);
  const { traceEvents } = traceSchema.parse(JSON.parse((await browser.stopTracing()).toString()));
  const threadOf = ({ pid, tid }: (typeof traceEvents)[number]): string => `${pid} ${tid}`;
  const threads = new Set(
    traceEvents.filter(({ name, args }) => name === 'thread_name' && threadName.safeParse(args).success).map(threadOf),
  );
  // The browser's name of a task with its microtasks. "ThreadControllerImpl::RunTask" ends before them.
  const tasks = traceEvents.filter((event) => event.name === 'RunTask' && threads.has(threadOf(event)));
  if (tasks.length === 0) throw new Error('the trace has no task');
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
};

const heapSchema = z.object({ usedSize: z.number() });

/** The heap of the page's scripts after garbage collection, in megabytes. */
export const heapOf = async (page: Page): Promise<number> => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = heapSchema.parse(await devtools.send('Runtime.getHeapUsage'));
  await devtools.detach();
  return usedSize / 1e6;
};
