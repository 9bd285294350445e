import { expect, it } from 'vitest';

import { NOON } from '../answers.ts';
import { CAMERAS, frame } from './activity.ts';
import { heapOf, longestTask, measured } from './measured.ts';
import { setStage, sharedBrowser } from './stage.ts';

const MINUTE = 60_000;
/** A shift of eight hours. */
const ROUNDS = 8 * 60;
/** The browser paints and measures one of this many rounds: painting takes most of the time. */
const SHOWN = 20;

const tenths = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(' ');

let sent = 0;
const sends = (camera: string | undefined, at: number) => {
  sent += 1;
  return frame(camera ?? '', at, { detections: { smoke: sent % 3 }, reviewed: sent % 5 === 0 });
};

/** All cameras of the largest network send in two hours of the day, and most of them until now. */
const stage = setStage([
  ...[2, 1].flatMap((hours) => CAMERAS.map((camera) => sends(camera, NOON - hours * 60 * MINUTE))),
  ...CAMERAS.slice(100).map((camera) => sends(camera, NOON - 10 * MINUTE)),
]);

it('the page is one answer, and page and service compute little until the first figures', async () => {
  // An empty cache, and no clock of a test.
  const context = await (await sharedBrowser()).newContext();
  const page = await context.newPage();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  const { measure, unit } = await measured(page);
  const before = process.cpuUsage();
  await page.goto(`${stage.service.url}/api/dashboard?date=2026-11-21&tz=utc`);
  await page.locator('[data-fact="total_events"]').getByText('3,800').waitFor();
  const cost = await measure();
  const { user, system } = process.cpuUsage(before);
  expect(asked.filter((path) => !/^\/api\/(analytics|notifications)/.test(path))).toEqual(['/api/dashboard']);
  await page.getByText(/^Updated \d+ /).waitFor();
  // About 12; 50 is a second on a usual machine.
  expect((cost + (user + system) / 1_000) / (await unit())).toBeLessThan(50);
  await context.close();
});

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

it('eight hours of 1,300 cameras and 60 categories: under 10 MB, no task over 50 ms', async () => {
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
  const [longest, heaps]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const isShown = round % SHOWN === 0;
    if (round % SHOWN < 2) await page.evaluate(`document.body.style.display = '${isShown ? '' : 'none'}'`);
    if (isShown) longest.push(await longestTask(page, async () => nextRound(MINUTE)));
    else await nextRound(MINUTE);
    if (round % 60 === 59) heaps.push(await heapOf(page));
  }
  console.log(`Heap after each hour: ${tenths(heaps)} MB; longest task of the measured rounds: ${tenths(longest)} ms`);
  expect(await page.locator('.categories tbody tr').count()).toBe(60);
  expect(Math.max(...heaps)).toBeLessThan(10);
  // Milliseconds of the processor. No relation to other work: a slow page would slow that work as well.
  expect(longest.slice(1).filter((each) => each > 50)).toEqual([]);
});
