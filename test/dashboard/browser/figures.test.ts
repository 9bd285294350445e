import { readFile } from 'node:fs/promises';

import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import * as z from 'zod/mini';

import {
  accuracySchema,
  activitySchema,
  type CameraCounts,
  camerasSchema,
  seriesSchema,
} from '../../../src/dashboard/browser/model/answers.ts';
import {
  accuracyText,
  CATEGORY_MAPS,
  countOf,
  notConfirmed,
  orderedCategories,
  totalOf,
} from '../../../src/dashboard/browser/model/categories.ts';
import { NOON, TODAY, YESTERDAY } from '../answers.ts';
import { CAMERAS, demoDays, frame, HOSTILE_IDS, hostileFrames } from './activity.ts';
import { cellsOf, type Reader, setStage } from './stage.ts';

const stage = setStage([...demoDays(), ...hostileFrames()]);

const grouped = (count: number): string => count.toLocaleString('en-US');
const rangeOf = (start: string, end: string): string => `ts_utc_start=${start}&ts_utc_end=${end}`;
const dayOf = (date: string): string => rangeOf(`${date}T00:00:00Z`, `${date}T23:59:59.999999Z`);

/** Every fact on the page is the answer of the endpoint. */
const expectFigures = async ({ page, figure, settled }: Reader, query: string): Promise<void> => {
  await settled();
  const answer = z.parse(activitySchema, await stage.service.answer(`analytics?${query}`));
  for (const fact of ['total_events', 'active_cameras', 'reviewed_total_events', 'annotated_total_events'] as const) {
    expect(await figure(fact).innerText()).toBe(grouped(answer[fact]));
  }
  const rows = await cellsOf(page.getByRole('table', { name: 'By category' }));
  expect(rows.map((cells) => cells.slice(0, 4))).toEqual(
    orderedCategories([answer]).map((category) =>
      [category].concat(CATEGORY_MAPS.map((map) => grouped(countOf(answer[map], category)))),
    ),
  );
  const ends = await page
    .locator('.period time')
    .evaluateAll((all) => all.map((each) => each.getAttribute('datetime')));
  expect(ends).toEqual([answer.ts_utc_start, answer.ts_utc_end]);
  const ids = page.locator('.ids');
  if ((await ids.getAttribute('open')) === null) await ids.locator('summary').click();
  await expect.poll(() => ids.locator('li').allTextContents()).toEqual(answer.active_camera_ids);
};

/** The name and the lines of the file of a button. */
const downloaded = async ({ page }: Reader, button: Locator) => {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  const text = await readFile(await download.path(), 'utf8');
  // Without it, spreadsheets do not read UTF-8.
  expect(text.startsWith('\uFEFF')).toBe(true);
  return { name: download.suggestedFilename(), lines: text.slice(1).trimEnd().split('\r\n') };
};

it('the figures are all ten facts of today, an earlier day, a range to the second, and a local day', async () => {
  const reader = await stage.open('?tz=utc');
  const { page } = reader;
  await expectFigures(reader, dayOf(TODAY));
  expect(await page.getByRole('link', { name: 'Later day' }).getAttribute('aria-disabled')).toBe('true');

  await reader.follow('Earlier day');
  await expectFigures(reader, dayOf(YESTERDAY));
  const { categories } = z.parse(accuracySchema, await stage.service.answer(`analytics/accuracy?date=${YESTERDAY}`));
  expect(categories['smoke']?.confirmed).toBeGreaterThan(0);
  const rows = await cellsOf(page.getByRole('table', { name: 'By category' }));
  expect(Object.fromEntries(rows.map((cells) => [cells[0], cells.at(-1)]))).toEqual(
    Object.fromEntries(Object.entries(categories).map(([name, of]) => [name, accuracyText(of)])),
  );

  await page.getByText('Range…').click();
  await page.getByLabel('From (UTC)').fill(`${YESTERDAY}T10:00`);
  await page.getByLabel('to (UTC)', { exact: true }).fill(`${YESTERDAY}T15:29:59`);
  await reader.press('Show range');
  await expectFigures(reader, rangeOf(`${YESTERDAY}T10:00:00Z`, `${YESTERDAY}T15:29:59.999999Z`));
  await page.goto(`${stage.service.url}/api/dashboard?date=${YESTERDAY}&tz=local`);
  await expectFigures(reader, rangeOf(`${YESTERDAY}T08:00:00Z`, `${TODAY}T07:59:59.999999Z`));
  expect(await page.getByText('Cameras are counted by UTC day').count()).toBe(1);
});

it('the table of a plot has the numbers of the series, and its file every fact', async () => {
  const reader = await stage.open(`?date=${YESTERDAY}&tz=utc`);
  const answer = await stage.service.answer(`analytics/series?${dayOf(YESTERDAY)}&step=30_minutes`);
  const { steps } = z.parse(seriesSchema, answer);
  const figure = reader.page.getByRole('figure').filter({ hasText: 'AI detections' });
  await figure.getByText('Table').click();
  await figure.getByRole('row').first().waitFor();
  const rows = await cellsOf(figure.getByRole('table'));
  expect(rows.map(([, ...cells]) => cells)).toEqual(
    steps.map(({ counts_per_category: counts }) =>
      orderedCategories(steps).map((category) => grouped(countOf(counts, category))),
    ),
  );
  const { lines } = await downloaded(reader, figure.getByRole('button', { name: /^Download CSV/ }));
  expect(lines[0]).toMatch(/^ts_utc_start,ts_utc_end,active_cameras,total_events,/);
  expect(lines[1]).toMatch(/^2026-11-20T00:00:00\+00:00,/);
});

const countsOf = (camera: CameraCounts, categories: readonly string[]): readonly number[] => [
  camera.total_events,
  camera.reviewed_total_events,
  camera.annotated_total_events,
  ...categories.map((category) => countOf(camera.counts_per_category, category)),
  ...[camera.flagged, camera.confirmed, camera.missed].map(totalOf),
  notConfirmed(camera),
];

const camerasOf = ({ page }: Reader): Locator => page.getByRole('table', { name: /^Cameras/ });

it('the cameras are sorted by fire, or by the head of a column; the page shows one alone, and all again', async () => {
  const reader = await stage.open(`?date=${YESTERDAY}&tz=utc`);
  const table = camerasOf(reader);
  for (const [order, head] of [
    ['fire', undefined],
    ['total_events', 'Frames'],
    ['smoke', 'smoke'],
  ] as const) {
    if (head !== undefined) await table.getByRole('link', { name: head, exact: true }).click();
    await reader.settled();
    const path = `analytics/cameras?date=${YESTERDAY}&order_by=${order}&accuracy=true&limit=15`;
    const { cameras } = z.parse(camerasSchema, await stage.service.answer(path));
    const categories = orderedCategories(cameras);
    expect(await cellsOf(table)).toEqual(
      cameras.map((camera) => [camera.camera_id].concat(countsOf(camera, categories).map(grouped))),
    );
    expect(await table.locator('th[aria-sort]').innerText()).toMatch(head ?? 'fire');
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

it('ids of cameras that are markup, very long, or right to left stay text, and fit into 360 pixels', async () => {
  const viewport = { width: 360, height: 740 };
  const reader = await stage.open(`?date=${TODAY}&order_by=lightning&tz=utc`, { viewport });
  const { page } = reader;
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

it('of 1,300 cameras all are in the file, 100 on the page on demand, 50 on paper; the service searches', async () => {
  await stage.service.record(CAMERAS.map((id, index) => frame(id, NOON, { detections: { top: 1_300 - index } })));
  const reader = await stage.open('?tz=utc&order_by=top');
  const { page, press, settled } = reader;
  const table = camerasOf(reader);
  const { name, lines } = await downloaded(reader, page.getByRole('button', { name: /^Download CSV: Cameras/ }));
  expect(lines.length).toBeGreaterThan(1_300);
  expect(name).toBe('Cameras-of-the-UTC-day-21-Nov-2026-11-21.csv');
  await settled();
  expect(
    await page
      .locator('.screen')
      .getByText(/^15 of 1,3/)
      .count(),
  ).toBe(1);

  await press('Show 100');
  expect((await cellsOf(table)).map(([id]) => id)).toEqual(CAMERAS.slice(0, 100));
  // The name stays in sight while the table scrolls.
  const region = page.getByRole('region', { name: /^Cameras .*, table$/ });
  await region.evaluate((element) => element.scrollTo(2_000, 0));
  const off = async (): Promise<number> => {
    const [cell, around] = [await table.locator('tbody th').first().boundingBox(), await region.boundingBox()];
    return Math.abs((cell?.x ?? 0) - (around?.x ?? Infinity));
  };
  await expect.poll(off).toBeLessThan(2);
  await page.emulateMedia({ media: 'print' });
  expect(await table.locator('tbody tr:visible').count()).toBe(50);
  expect(
    await page
      .locator('.paper')
      .getByText(/^50 of 1,3/)
      .last()
      .isVisible(),
  ).toBe(true);
  await page.emulateMedia({ media: null });
  await page.getByLabel('Filter').fill('TOP-1299');
  await settled();
  expect((await cellsOf(table)).map(([id]) => id)).toEqual(['mountain-top-1299']);
});
