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

const traceSchema = z.object({
  traceEvents: z.array(
    z.object({ name: z.string(), pid: z.number(), tid: z.number(), tdur: z.number().optional(), args: z.unknown() }),
  ),
});
const threadOf = ({ pid, tid }: { readonly pid: number; readonly tid: number }): string => `${pid} ${tid}`;
const threadName = z.object({ name: z.literal('CrRendererMain') });

/**
 * The longest task of the pages' threads while something is done: milliseconds of the processor, because on a busy machine a task
 * takes as long as others let it.
 */
export const longestTask = async (page: Page, done: () => Promise<void>): Promise<number> => {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser');
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline', '__metadata'] });
  await done();
  await page.evaluate(PAINTED);
  const { traceEvents } = traceSchema.parse(JSON.parse((await browser.stopTracing()).toString()));
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && threadName.safeParse(args).success)
      .map((event) => threadOf(event)),
  );
  const tasks = traceEvents.filter((event) => event.name === TASK && threads.has(threadOf(event)));
  if (tasks.length === 0) throw new Error('the trace has no task');
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
};

/** In the page: waits until it is painted as it is now. A clock of a test's stops the time of animation frames, but not that of observers. */
const PAINTED = `new Promise((resolve) => {
  const observer = new IntersectionObserver(() => {
    observer.disconnect();
    resolve();
  });
  observer.observe(document.body);
})`;

/** As the browser names a task with its microtasks: what a promise draws counts. "ThreadControllerImpl::RunTask" ends before them. */
const TASK = 'RunTask';

const heapSchema = z.object({ usedSize: z.number() });

/** What the scripts of a page hold after everything that could be collected has been, in megabytes. */
export const heapOf = async (page: Page): Promise<number> => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = heapSchema.parse(await devtools.send('Runtime.getHeapUsage'));
  await devtools.detach();
  return usedSize / 1e6;
};
