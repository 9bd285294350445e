import { readFile } from 'node:fs/promises';

import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';

import {
  activitySchema,
  type CameraCounts,
  camerasSchema,
  seriesSchema,
} from '../../../src/dashboard/browser/model/answers.ts';
import { CATEGORY_MAPS, countOf, orderedCategories } from '../../../src/dashboard/browser/model/categories.ts';
import { demoDays, HOSTILE_IDS, hostileFrames, TODAY, YESTERDAY } from './activity.ts';
import { cellsOf, type Reader, setStage } from './stage.ts';

const stage = setStage([...demoDays(), ...hostileFrames()]);

/** As the page writes a number for a reader in the United States. */
const grouped = (count: number): string => count.toLocaleString('en-US');

const rangeOf = (start: string, end: string): string => `ts_utc_start=${start}&ts_utc_end=${end}`;
const dayOf = (date: string): string => rangeOf(`${date}T00:00:00Z`, `${date}T23:59:59.999999Z`);

/** Every fact on the page is what the endpoint answers. */
const expectFigures = async ({ page, figure, settled }: Reader, query: string): Promise<void> => {
  await settled();
  const answer = z.parse(activitySchema, await stage.service.answer(`analytics?${query}`));
  for (const fact of ['total_events', 'active_cameras', 'reviewed_total_events', 'annotated_total_events'] as const) {
    expect(await figure(fact).innerText()).toBe(grouped(answer[fact]));
  }
  expect(await cellsOf(page.getByRole('table', { name: 'By category' }))).toEqual(
    orderedCategories([answer]).map((category) =>
      [category].concat(CATEGORY_MAPS.map((map) => grouped(countOf(answer[map], category)))),
    ),
  );
  const ends = await page
    .locator('.period time')
    .evaluateAll((all) => all.map((time) => time.getAttribute('datetime')));
  expect(ends).toEqual([answer.ts_utc_start, answer.ts_utc_end]);
  const ids = page.locator('.ids');
  if ((await ids.getAttribute('open')) === null) await ids.locator('summary').click();
  await expect.poll(() => ids.locator('li').allTextContents()).toEqual(answer.active_camera_ids);
};

/** The lines of the file that a button gives. */
const downloaded = async ({ page }: Reader, button: Locator): Promise<readonly string[]> => {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  const text = await readFile(await download.path(), 'utf8');
  // Without it, spreadsheets take UTF-8 for something else.
  expect(text.startsWith('\uFEFF')).toBe(true);
  expect(download.suggestedFilename()).toMatch(/\d{4}-\d\d-\d\d\.csv$/);
  return text.slice(1).trimEnd().split('\r\n');
};

describe('the figures', () => {
  it('are all ten of today, of an earlier day, and of a range to the second', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    await expectFigures(reader, dayOf(TODAY));
    expect(await page.getByRole('link', { name: 'Later day' }).getAttribute('aria-disabled')).toBe('true');
    // Shares only of what is a part of the frames.
    expect(await page.getByText(/of frames$/).count()).toBe(1);

    await reader.follow('Earlier day');
    await expectFigures(reader, dayOf(YESTERDAY));
    await page.getByText('Range…').click();
    await page.getByLabel('From (UTC)').fill(`${YESTERDAY} 10:00`);
    await page.getByLabel('to (UTC)', { exact: true }).fill(`${YESTERDAY} 15:29:59`);
    await reader.press('Show range');
    await expectFigures(reader, rangeOf(`${YESTERDAY}T10:00:00Z`, `${YESTERDAY}T15:29:59.999999Z`));
  });

  it('of a local day are those of a range that the service counts exactly; that cameras are not is said', async () => {
    const reader = await stage.open(`?date=${YESTERDAY}`);
    await expectFigures(reader, rangeOf(`${YESTERDAY}T08:00:00Z`, `${TODAY}T07:59:59.999999Z`));
    expect(await reader.page.getByText('Cameras are counted by UTC day').count()).toBe(1);
  });
});

it('a plot has a table with what the series says, also to download', async () => {
  const reader = await stage.open(`?date=${YESTERDAY}&tz=utc`);
  const answer = await stage.service.answer(`analytics/series?${dayOf(YESTERDAY)}&step=hour`);
  const { steps } = z.parse(seriesSchema, answer);
  const categories = orderedCategories(steps);
  const counts = steps.map((step) => categories.map((category) => countOf(step.counts_per_category, category)));
  const figure = reader.page.getByRole('figure').filter({ hasText: 'AI detections' });
  await figure.getByText('Table').click();
  await figure.getByRole('row').first().waitFor();
  const rows = await cellsOf(figure.getByRole('table'));

  expect(rows.map(([, ...cells]) => cells)).toEqual(counts.map((cells) => cells.map(grouped)));
  expect(rows[0]?.[0]).toBe('20 Nov 00:00–01:00 UTC');
  expect(await figure.locator('tbody time').first().getAttribute('title')).toBe('19 Nov 16:00–17:00 PST');
  expect(await figure.getByRole('img').getAttribute('aria-label')).toContain(
    'AI detections per hour, 24 steps. In all:',
  );
  expect(await downloaded(reader, figure.getByRole('button', { name: /^Download CSV/ }))).toEqual([
    `Time,${categories.join(',')}`,
    ...counts.map((cells, hour) => `${YESTERDAY}T${String(hour).padStart(2, '0')}:00:00.000Z,${cells.join(',')}`),
  ]);
});

const countsOf = (camera: CameraCounts, categories: readonly string[]): readonly number[] => [
  camera.total_events,
  camera.reviewed_total_events,
  camera.annotated_total_events,
  ...categories.map((category) => countOf(camera.counts_per_category, category)),
];

const camerasOf = ({ page }: Reader): Locator => page.getByRole('table', { name: /^Cameras/ });

describe('the cameras', () => {
  it('are ordered by fire at first, by a column whose head is clicked; one is shown alone, and all again', async () => {
    const reader = await stage.open(`?date=${YESTERDAY}&tz=utc`);
    const table = camerasOf(reader);
    for (const [order, head] of [
      ['fire', undefined],
      ['total_events', 'Frames'],
      ['smoke', 'smoke'],
    ] as const) {
      if (head !== undefined) await table.getByRole('link', { name: head, exact: true }).click();
      await reader.settled();
      const path = `analytics/cameras?date=${YESTERDAY}&order_by=${order}&limit=15`;
      const { cameras } = z.parse(camerasSchema, await stage.service.answer(path));
      const categories = orderedCategories(cameras);
      expect(await cellsOf(table)).toEqual(
        cameras.map((camera) => [camera.camera_id].concat(countsOf(camera, categories).map(grouped))),
      );
      expect(await table.locator('th[aria-sort]').innerText()).toMatch(new RegExp(`^${head ?? 'fire'}`));
    }
    const first = table.locator('tbody th a').first();
    const id = await first.innerText();
    await first.click();
    await expectFigures(reader, `${dayOf(YESTERDAY)}&camera_id=${id}`);
    expect(await reader.search()).toBe(`?date=${YESTERDAY}&camera_id=${id}&order_by=smoke&tz=utc`);
    await table.getByRole('link', { name: id, exact: true }).click();
    await reader.settled();
    expect(await reader.count('active_cameras')).toBe(20);
  });

  it('of several UTC days agree with the figures, are found by name, and are a file with raw numbers', async () => {
    const reader = await stage.open(`?${rangeOf(`${YESTERDAY}T00:00:00Z`, `${TODAY}T23:59:59.999999Z`)}&tz=utc`);
    const { page } = reader;
    await reader.press('Show all');
    const [heads = '', ...lines] = await downloaded(
      reader,
      page.getByRole('button', { name: /^Download CSV: Cameras/ }),
    );
    expect(heads).toMatch(/^Camera,Frames,Reviewed,Annotated,Detections of fire,/);
    const counts = lines.map((line) => Number(line.match(/,(\d+)(?:,\d+)+$/)?.[1]));
    const frames = (await cellsOf(camerasOf(reader))).map(([, count = '']) => Number(count.replaceAll(',', '')));
    expect(counts).toHaveLength(20 + HOSTILE_IDS.length);
    expect(frames).toHaveLength(counts.length);
    expect(await reader.count('total_events')).toBe(frames.reduce((sum, count) => sum + count, 0));
    expect(await page.getByText('Cameras are counted by UTC day').count()).toBe(0);
    expect(await page.locator('#cameras-title').innerText()).toBe('Cameras UTC days 20 Nov – 21 Nov');

    // It scrolls in itself, its heads in sight.
    const region = page.getByRole('region', { name: /^Cameras .*, table$/ });
    await region.evaluate((element) => element.scrollTo(0, 10_000));
    const [top, head] = [await region.boundingBox(), await camerasOf(reader).locator('thead th').first().boundingBox()];
    expect(Math.abs((head?.y ?? 0) - (top?.y ?? Infinity))).toBeLessThan(4);
    await page.getByLabel('Filter').pressSequentially('CREEK');
    await expect.poll(() => cellsOf(camerasOf(reader)).then((rows) => rows.map(([id]) => id))).toEqual(['bear-creek']);
  });

  it('whose ids are markup, very long, or written from right to left stay text, and fit into 360 pixels', async () => {
    const viewport = { width: 360, height: 740 };
    const reader = await stage.open(`?date=${TODAY}&order_by=lightning&tz=utc`, { viewport });
    const { page } = reader;
    expect((await cellsOf(camerasOf(reader))).slice(0, HOSTILE_IDS.length).map(([id]) => id)).toEqual(
      [...HOSTILE_IDS].sort(),
    );
    for (const id of HOSTILE_IDS) {
      await camerasOf(reader).locator('bdi').getByText(id, { exact: true }).click();
      await reader.settled();
      expect(await reader.count('total_events')).toBe(1);
      expect(await page.locator('#shown bdi').textContent()).toBe(id);
      expect(new URLSearchParams(await reader.search()).get('camera_id')).toBe(id);
      expect(await page.getByLabel('Camera', { exact: true }).inputValue()).toBe(id);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    }
  });
});
