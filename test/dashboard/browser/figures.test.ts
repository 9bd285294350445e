import { readFile } from 'node:fs/promises';

import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';

import { accuracyText, notConfirmed, totalOf } from '../../../src/dashboard/browser/model/accuracy.ts';
import {
  accuracySchema,
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
  const rows = await cellsOf(page.getByRole('table', { name: 'By category' }));
  expect(rows.map((cells) => cells.slice(0, 4))).toEqual(
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
  it('are all ten of today, of an earlier day, of a range to the second, and of a local day', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    await expectFigures(reader, dayOf(TODAY));
    expect(await page.getByRole('link', { name: 'Later day' }).getAttribute('aria-disabled')).toBe('true');
    // Shares only of what is a part of the frames.
    expect(await page.getByText(/of frames$/).count()).toBe(1);

    await reader.follow('Earlier day');
    await expectFigures(reader, dayOf(YESTERDAY));
    await page.getByText('Range…').click();
    await page.getByLabel('From (UTC)').fill(`${YESTERDAY}T10:00`);
    await page.getByLabel('to (UTC)', { exact: true }).fill(`${YESTERDAY}T15:29:59`);
    await reader.press('Show range');
    await expectFigures(reader, rangeOf(`${YESTERDAY}T10:00:00Z`, `${YESTERDAY}T15:29:59.999999Z`));

    // A local day is a range that the service counts exactly; its cameras are those of UTC days, and that is said.
    await reader.follow('Earlier');
    await page.goto(`${stage.service.url}/api/dashboard?date=${YESTERDAY}&tz=local`);
    await expectFigures(reader, rangeOf(`${YESTERDAY}T08:00:00Z`, `${TODAY}T07:59:59.999999Z`));
    expect(await page.getByText('Cameras are counted by UTC day').count()).toBe(1);
  });

  it('say how often the AI was right, category by category', async () => {
    const { page } = await stage.open(`?date=${YESTERDAY}&tz=utc`);
    const answer = await stage.service.answer(`analytics/accuracy?date=${YESTERDAY}`);
    const { categories } = z.parse(accuracySchema, answer);
    const { flagged = 0, confirmed = 0 } = categories['smoke'] ?? {};
    expect(flagged).toBeGreaterThan(confirmed);
    expect(confirmed).toBeGreaterThan(0);
    const rows = await cellsOf(page.getByRole('table', { name: 'By category' }));
    expect(Object.fromEntries(rows.map((cells) => [cells[0], cells.at(-1)]))).toEqual(
      Object.fromEntries(Object.entries(categories).map(([name, of]) => [name, accuracyText(of)])),
    );
  });
});

it('a plot has a table with what the series says, also to download', async () => {
  const reader = await stage.open(`?date=${YESTERDAY}&tz=utc`);
  const path = `analytics/series?${dayOf(YESTERDAY)}&step=30_minutes`;
  const answer: unknown = await (await fetch(`${stage.service.url}/api/${path}`)).json();
  const { steps } = z.parse(seriesSchema, answer);
  const categories = orderedCategories(steps);
  const figure = reader.page.getByRole('figure').filter({ hasText: 'AI detections' });
  await figure.getByText('Table').click();
  await figure.getByRole('row').first().waitFor();
  const rows = await cellsOf(figure.getByRole('table'));

  expect(rows.map(([, ...cells]) => cells)).toEqual(
    steps.map((step) => categories.map((category) => grouped(countOf(step.counts_per_category, category)))),
  );
  expect(rows[0]?.[0]).toBe('20 Nov 00:00–00:30 UTC');
  expect(await figure.locator('tbody time').first().getAttribute('title')).toBe('19 Nov 16:00–16:30 PST');
  expect(await figure.getByRole('img').getAttribute('aria-label')).toContain(
    'AI detections per 30 minutes, 48 steps. In all:',
  );
  // The service's own file: every fact of every step.
  const [heads = '', ...lines] = await downloaded(reader, figure.getByRole('button', { name: /^Download CSV/ }));
  expect(heads).toMatch(/^ts_utc_start,ts_utc_end,active_cameras,total_events,/);
  expect(lines[0]).toMatch(/^2026-11-20T00:00:00\+00:00,/);
});

const countsOf = (camera: CameraCounts, categories: readonly string[]): readonly number[] => [
  camera.total_events,
  camera.reviewed_total_events,
  camera.annotated_total_events,
  ...categories.map((category) => countOf(camera.counts_per_category, category)),
  totalOf(camera.flagged),
  totalOf(camera.confirmed),
  totalOf(camera.missed),
  notConfirmed(camera),
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
      const path = `analytics/cameras?date=${YESTERDAY}&order_by=${order}&accuracy=true&limit=15`;
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
