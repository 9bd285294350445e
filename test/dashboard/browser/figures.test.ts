import type { Locator } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';

import { activitySchema, camerasSchema, seriesSchema } from '../../../src/dashboard/browser/asking/answer-schemas.ts';
import type { CameraCounts } from '../../../src/dashboard/browser/model/answers.ts';
import { categoryRows, countOf, orderedCategories } from '../../../src/dashboard/browser/model/category-rows.ts';
import { cellsOf, grouped, type Reader } from './reader.ts';
import { openWithKey, setBrowserStage } from './stage.ts';
import { startTarget, TODAY, YESTERDAY } from './target.ts';

let reader: Reader;

const stage = setBrowserStage(async () => startTarget());

const open = async (search = ''): Promise<void> => {
  reader = await openWithKey(stage, search);
};

afterEach(() => reader.leave());

const ask = async <Answer>(path: string, schema: z.ZodMiniType<Answer>): Promise<Answer> =>
  z.parse(schema, await stage.target.ask(path));

const periodEnds = async (): Promise<readonly (string | null)[]> =>
  Promise.all((await reader.page.locator('.period time').all()).map((time) => time.getAttribute('datetime')));

/** Every fact on the page is what the endpoint answers. */
const expectFigures = async (path: string): Promise<void> => {
  const answer = await ask(path, activitySchema);
  const { page } = reader;
  await expect.poll(() => reader.figure('total_events').innerText()).toBe(grouped(answer.total_events));
  await reader.settled();

  expect(await reader.figure('active_cameras').innerText()).toBe(grouped(answer.active_cameras));
  expect(await reader.figure('reviewed_total_events').innerText()).toBe(grouped(answer.reviewed_total_events));
  expect(await reader.figure('annotated_total_events').innerText()).toBe(grouped(answer.annotated_total_events));
  expect(await cellsOf(page.getByRole('table', { name: 'By category' }))).toEqual(
    categoryRows(answer).map(({ category, detections, reviewed, annotations }) => [
      category,
      grouped(detections),
      grouped(reviewed),
      grouped(annotations),
    ]),
  );
  expect(await periodEnds()).toEqual([answer.ts_utc_start, answer.ts_utc_end]);
  await page.locator('.ids summary').click();
  await expect.poll(() => page.locator('.ids li').allTextContents()).toEqual(answer.active_camera_ids);
};

describe('the figures', () => {
  beforeEach(() => open());

  it('are today’s at first, all ten', async () => {
    await expectFigures(`analytics/day?date=${TODAY}`);

    expect(await reader.page.getByRole('heading', { name: /^Today, / }).count()).toBe(1);
    expect(new URL(reader.page.url()).search).toBe('');
  });

  it('are those of an earlier day, and of the later one again', async () => {
    await reader.page.getByRole('link', { name: 'Earlier day' }).click();
    await expectFigures(`analytics/day?date=${YESTERDAY}`);

    expect(new URL(reader.page.url()).search).toBe(`?date=${YESTERDAY}`);
    await reader.page.getByRole('link', { name: 'Later day' }).click();
    await reader.page.getByRole('heading', { name: /^Today, / }).waitFor();

    expect(new URL(reader.page.url()).search).toBe('');
    expect(await reader.page.getByRole('link', { name: 'Later day' }).getAttribute('aria-disabled')).toBe('true');
  });

  it('are those of a day that is chosen', async () => {
    await reader.page.getByLabel('Day (UTC)').fill(YESTERDAY);
    await expectFigures(`analytics/day?date=${YESTERDAY}`);

    expect(new URL(reader.page.url()).search).toBe(`?date=${YESTERDAY}`);
  });

  it('are those of a range, to the second', async () => {
    await reader.page.getByText('Range…').click();
    await reader.page.getByLabel('From (UTC)').fill(`${YESTERDAY}T10:00:00`);
    await reader.page.getByLabel('to (UTC)', { exact: true }).fill(`${YESTERDAY}T15:29:59`);
    await reader.page.getByRole('button', { name: 'Show range' }).click();
    const range = `ts_utc_start=${YESTERDAY}T10:00:00Z&ts_utc_end=${YESTERDAY}T15:29:59.999999Z`;
    await expectFigures(`analytics?${range}`);

    expect(new URL(reader.page.url()).search).toBe(`?${range}`);
  });

  it('are those of the sliding window', async () => {
    await reader.page.getByRole('link', { name: 'Sliding window' }).click();
    await reader.page.getByRole('heading', { name: 'Sliding window' }).waitFor();
    await reader.settled();
    const [start, end] = await periodEnds();
    // Its ends have moved on meanwhile: what it showed is compared with the same ends.
    const answer = await ask(
      `analytics?${new URLSearchParams({ ts_utc_start: start ?? '', ts_utc_end: end ?? '' }).toString()}`,
      activitySchema,
    );

    expect(await reader.figure('total_events').innerText()).toBe(grouped(answer.total_events));
    expect(Date.parse(end ?? '') - Date.parse(start ?? '')).toBe(86_400_000);
    expect(await reader.page.getByRole('link', { name: 'Sliding window' }).getAttribute('aria-current')).toBe('true');
  });

  it('are empty for a day on which nothing happened, and say so', async () => {
    await reader.page.getByLabel('Day (UTC)').fill('2020-02-20');
    await reader.page.getByText('No camera sent a frame in this time.').waitFor();
    await reader.page.getByText('No camera sent a frame on this day.').waitFor();

    expect(await reader.figure('total_events').innerText()).toBe('0');
    expect(await reader.page.getByText('Nothing in this time.').count()).toBe(4);
  });
});

describe('the plots', () => {
  const PLOTS = [
    ['AI detections', 'counts_per_category'],
    ['Reviews', 'reviewed_counts_per_category'],
    ['Annotations', 'annotated_counts_per_category'],
  ] as const;

  it.each(PLOTS)('of %s have a table with what the series says', async (title, fact) => {
    await open(`?date=${YESTERDAY}`);
    const ends = { ts_utc_start: `${YESTERDAY}T00:00:00Z`, ts_utc_end: `${YESTERDAY}T23:59:59.999999Z` };
    const { steps } = await ask(
      `analytics/series?${new URLSearchParams({ ...ends, step: 'hour' }).toString()}`,
      seriesSchema,
    );
    const figure = reader.page.getByRole('figure').filter({ has: reader.page.getByRole('heading', { name: title }) });
    await figure.getByText('Table').click();
    await figure.getByRole('row').first().waitFor();
    const rows = await cellsOf(figure.getByRole('table'));

    expect(rows).toHaveLength(24);
    // The first two cells are the time, in UTC and in the reader's own zone.
    expect(rows.map(([, , ...counts]) => counts)).toEqual(
      steps.map((step) => orderedCategories(steps).map((category) => grouped(countOf(step[fact], category)))),
    );
    expect(rows[0]?.[0]).toMatch(/ 00:00–01:00$/);
    expect(rows[0]?.[1]).toMatch(/ 16:00–17:00$/);
    expect(await figure.getByRole('img').getAttribute('aria-label')).toContain(`${title} per hour, 24 steps. In all:`);
  });

  it('show the counts of the step under the pointer, in all of them', async () => {
    await open(`?date=${YESTERDAY}`);
    const { page } = reader;
    const before = await page.locator('.legend').allInnerTexts();
    const box = await page.locator('.canvas .u-over').first().boundingBox();
    if (box === null) throw new Error('the plot has no size');
    await page.mouse.move(box.x + (box.width * 15.5) / 24, box.y + 20);
    await page
      .getByText(/15:00–16:00 UTC \(.*07:00–08:00 your time\)/)
      .first()
      .waitFor();

    expect(await page.locator('.pointed').allInnerTexts()).toEqual(
      Array.from({ length: 4 }, () => expect.stringContaining('15:00–16:00 UTC')),
    );
    expect(await page.locator('.legend').allInnerTexts()).not.toEqual(before);
  });

  it('show a part alone that is marked', async () => {
    await open(`?date=${YESTERDAY}`);
    const { page } = reader;
    const box = await page.locator('.canvas .u-over').first().boundingBox();
    if (box === null) throw new Error('the plot has no size');
    await page.mouse.move(box.x + (box.width * 10.5) / 24, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + (box.width * 12.5) / 24, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/ts_utc_start/);

    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      ts_utc_start: `${YESTERDAY}T10:00:00Z`,
      ts_utc_end: `${YESTERDAY}T12:59:59.999999Z`,
    });
    await page.getByText('per minute, UTC').first().waitFor();
  });
});

const cameraRow = (camera: CameraCounts, categories: readonly string[]): readonly string[] =>
  [camera.camera_id].concat(
    [
      camera.total_events,
      camera.reviewed_total_events,
      camera.annotated_total_events,
      ...categories.map((category) => countOf(camera.counts_per_category, category)),
    ].map(grouped),
  );

const table = (): Locator => reader.page.getByRole('table', { name: /^Busiest cameras/ });

describe('the busiest cameras', () => {
  it.each(['total_events', 'reviewed_total_events', 'smoke'])('are ordered by %s', async (order) => {
    await open(`?date=${YESTERDAY}`);
    await reader.page.getByLabel('Order by').selectOption(order);
    const answer = await ask(`analytics/cameras?date=${YESTERDAY}&order_by=${order}&limit=15`, camerasSchema);
    const categories = orderedCategories(answer.cameras);
    await expect.poll(() => cellsOf(table())).toEqual(answer.cameras.map((camera) => cameraRow(camera, categories)));

    expect(await table().getByRole('columnheader').locator('xpath=self::*[@aria-sort]').count()).toBe(1);
  });

  it('are all there on demand', async () => {
    await open(`?date=${YESTERDAY}`);
    await reader.page.getByRole('button', { name: 'Show all' }).click();
    await expect.poll(() => table().locator('tbody tr').count()).toBe(20);
  });

  it('are shown alone by a click, and all again by another', async () => {
    await open(`?date=${YESTERDAY}`);
    const id = await table().locator('tbody th a').first().innerText();
    await table().getByRole('link', { name: id }).click();
    await expectFigures(`analytics/day?date=${YESTERDAY}&camera_id=${id}`);

    expect(new URL(reader.page.url()).search).toBe(`?date=${YESTERDAY}&camera_id=${id}`);
    expect(await reader.figure('active_cameras').innerText()).toBe('1');
    await table().getByRole('link', { name: id }).click();
    await expect.poll(() => reader.figure('active_cameras').innerText()).toBe('20');
  });

  it('can be typed', async () => {
    await open(`?date=${YESTERDAY}`);
    await reader.page.getByLabel('Camera', { exact: true }).fill('bear-creek');
    await reader.page.getByRole('button', { name: 'Show', exact: true }).click();
    await expectFigures(`analytics/day?date=${YESTERDAY}&camera_id=bear-creek`);

    expect(await reader.page.getByRole('heading', { level: 2, name: 'bear-creek' }).count()).toBe(1);
  });
});
