import { expect, it } from 'vitest';

import { frame, NOON } from './activity.ts';
import { CAMERAS, letEverythingChange } from './largest.ts';
import { heapOf, measured } from './measured.ts';
import { setStage, sharedBrowser } from './stage.ts';

const MINUTE = 60_000;
/** So many rounds are laid out and painted, and measured; odd. */
const SHOWN = 7;
/** So many there are in all. The bounds of what is held are for them together. */
const ROUNDS = 40;

let sent = 0;
const sends = (camera: string | undefined, at: number) => {
  sent += 1;
  return frame(camera ?? '', at, { detections: { smoke: sent % 3 }, reviewed: sent % 5 === 0 });
};

/** The largest network that there is: each camera sends in two hours of the day, and those after the hundredth until now. */
const stage = setStage([
  ...[2, 1].flatMap((hours) => CAMERAS.map((camera) => sends(camera, NOON - hours * 60 * MINUTE))),
  ...CAMERAS.slice(100).map((camera) => sends(camera, NOON - 10 * MINUTE)),
]);

it('comes in one answer, and page and service compute little until the first figures are there', async () => {
  // Nothing is in a cache, and no clock of the test's is in the page.
  const context = await (await sharedBrowser()).newContext();
  const page = await context.newPage();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  const { measure, unit } = await measured(page);
  const before = process.cpuUsage();
  await page.goto(`${stage.service.url}/api/dashboard?date=2026-11-21&tz=utc`);
  await page.locator('[data-fact="total_events"]').getByText('3,800').waitFor();
  const { cost } = await measure();
  const { user, system } = process.cpuUsage(before);
  expect(asked.filter((path) => !/^\/api\/(analytics|notifications)/.test(path))).toEqual(['/api/dashboard']);
  await page.getByText(/^Updated \d+ /).waitFor();
  // About 12; 50 is a second on a usual machine.
  expect((cost + (user + system) / 1_000) / (await unit())).toBeLessThan(50);
  await context.close();
});

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

it(`holds no more after ${ROUNDS} rounds with 1,300 cameras and 60 categories, and its rounds compute little`, async () => {
  letEverythingChange(stage.service);
  const { page, nextRound } = await stage.open('?tz=utc');
  const { measure, unit } = await measured(page);
  await nextRound(2 * MINUTE);
  // What could be collected would hide what is added.
  await page.requestGC();
  const before = await measure();
  const costs: number[] = [];
  for (let count = 0; count < SHOWN; count += 1) {
    const { cost } = await measure();
    await nextRound(2 * MINUTE);
    costs.push((await measure()).cost - cost);
  }
  // What is drawn stays in the document. Whether it is laid out and painted makes no difference to what is held, and takes most of the time.
  await page.evaluate("document.body.style.display = 'none'");
  for (let count = SHOWN; count < ROUNDS; count += 1) await nextRound(2 * MINUTE);
  await page.evaluate("document.body.style.display = ''");
  const held = await heapOf(page);

  expect(await page.locator('.categories tbody tr').count()).toBe(60);
  // It grew by 3 MB a round; it is 6.5 MB.
  expect(held).toBeLessThan(15);
  await page.requestGC();
  const after = await measure();
  expect(after.nodes - before.nodes).toBeLessThan(700);
  expect(after.listeners - before.listeners).toBeLessThan(18);
  // All tasks of a round together, and what looking on costs: about 2.
  const median = costs.toSorted((one, other) => one - other)[(SHOWN - 1) / 2] ?? Number.NaN;
  expect(median / (await unit()), costs.map(Math.round).join(' ')).toBeLessThan(8);
});
