import { readFile } from 'node:fs/promises';

import type { Locator } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';

import {
  activitySchema,
  type CameraCounts,
  camerasSchema,
  seriesSchema,
} from '../../../src/dashboard/browser/model/answers.ts';
import {
  CATEGORY_MAPS,
  countOf,
  MAP_NAMES,
  orderedCategories,
} from '../../../src/dashboard/browser/model/categories.ts';
import { cellsOf, grouped, type Reader } from './reader.ts';
import { openWithKey, setBrowserStage } from './stage.ts';
import { startTarget, TODAY, YESTERDAY } from './target.ts';

let reader: Reader;

const stage = setBrowserStage(async () => startTarget());

const open = async (search: string): Promise<void> => {
  reader = await openWithKey(stage, search);
};

afterEach(() => reader.leave());

const ask = async <Answer>(path: string, schema: z.ZodMiniType<Answer>): Promise<Answer> =>
  z.parse(schema, await stage.target.ask(path));

const periodEnds = async (): Promise<readonly (string | null)[]> =>
  Promise.all((await reader.page.locator('.period time').all()).map((time) => time.getAttribute('datetime')));

const search = (): string => new URL(reader.page.url()).search;

const UTC_DAY = { ts_utc_start: `${YESTERDAY}T00:00:00Z`, ts_utc_end: `${YESTERDAY}T23:59:59.999999Z` };

/** Every fact on the page is what the endpoint answers. */
const expectFigures = async (path: string): Promise<void> => {
  const answer = await ask(path, activitySchema);
  const { page } = reader;
  await expect.poll(() => reader.figure('total_events').innerText()).toBe(grouped(answer.total_events));
  await reader.settled();

  for (const fact of ['active_cameras', 'reviewed_total_events', 'annotated_total_events'] as const) {
    expect(await reader.figure(fact).innerText()).toBe(grouped(answer[fact]));
  }
  expect(await cellsOf(page.getByRole('table', { name: 'By category' }))).toEqual(
    orderedCategories([answer]).map((category) =>
      [category].concat(CATEGORY_MAPS.map((map) => grouped(countOf(answer[map], category)))),
    ),
  );
  expect(await periodEnds()).toEqual([answer.ts_utc_start, answer.ts_utc_end]);
  await page.locator('.ids summary').click();
  await expect.poll(() => page.locator('.ids li').allTextContents()).toEqual(answer.active_camera_ids);
};

describe('the figures', () => {
  beforeEach(() => open('?tz=utc'));

  it('are today’s at first, all ten', async () => {
    await expectFigures(`analytics/day?date=${TODAY}`);

    expect(await reader.page.getByRole('heading', { name: /^Today, / }).count()).toBe(1);
    expect(search()).toBe('?tz=utc');
  });

  it('are those of an earlier day, and of the later one again', async () => {
    await reader.page.getByRole('link', { name: 'Earlier day' }).click();
    await expectFigures(`analytics/day?date=${YESTERDAY}`);

    expect(search()).toBe(`?date=${YESTERDAY}&tz=utc`);
    await reader.page.getByRole('link', { name: 'Later day' }).click();
    await reader.page.getByRole('heading', { name: /^Today, / }).waitFor();

    expect(search()).toBe('?tz=utc');
    expect(await reader.page.getByRole('link', { name: 'Later day' }).getAttribute('aria-disabled')).toBe('true');
  });

  it('are those of a range, to the second', async () => {
    await reader.page.getByText('Range…').click();
    await reader.page.getByLabel('From (UTC)').fill(`${YESTERDAY} 10:00`);
    await reader.page.getByLabel('to (UTC)', { exact: true }).fill(`${YESTERDAY} 15:29:59`);
    await reader.page.getByRole('button', { name: 'Show range' }).click();
    const range = `ts_utc_start=${YESTERDAY}T10:00:00Z&ts_utc_end=${YESTERDAY}T15:29:59.999999Z`;
    await expectFigures(`analytics?${range}`);

    expect(search()).toBe(`?${range}&tz=utc`);
  });

  it('are empty for a day on which nothing happened, and say so', async () => {
    await reader.page.getByLabel('Day (UTC)').fill('2020-02-20');
    await reader.page.getByText('No camera sent a frame in this time.').waitFor();
    await reader.page.getByText('No camera sent a frame on this day.').waitFor();

    expect(await reader.figure('total_events').innerText()).toBe('0');
    await expect.poll(() => reader.page.getByText('Nothing in this time.').count()).toBe(5);
  });

  it('say what is counted, and give shares only of what is a part of the frames', async () => {
    const { page } = reader;
    const heads = await page.getByRole('table', { name: 'By category' }).getByRole('columnheader').allInnerTexts();

    expect(heads).toEqual(['Category', 'AI detections', 'Confirmed in reviewed frames', 'Annotations']);
    expect(await page.locator('.tile dt').allInnerTexts()).toEqual([
      'Camera frames',
      'Active cameras',
      'Silent now',
      'Reviewed frames',
      'Annotated frames',
    ]);
    expect(await page.getByText(/of frames$/).count()).toBe(1);
    await page.getByText('Detections and annotations are marks').waitFor();
  });
});

describe('the local day', () => {
  it('is a range that the service counts exactly, and says so', async () => {
    await open(`?date=${YESTERDAY}`);
    const dayLater = new Date(Date.parse(YESTERDAY) + 86_400_000).toISOString().slice(0, 10);
    // The offset of Los Angeles may change within this day.
    const [start, end] = await periodEnds();

    expect([start?.slice(0, 10), end?.slice(0, 10)]).toEqual([YESTERDAY, dayLater]);
    await expectFigures(
      `analytics?${new URLSearchParams({ ts_utc_start: start ?? '', ts_utc_end: end ?? '' }).toString()}`,
    );
    await reader.page.getByText('Cameras are counted by UTC day').waitFor();
  });
});

describe('the plots', () => {
  it('have tables with what the series says, also to download', async () => {
    await open(`?date=${YESTERDAY}&tz=utc`);
    const { steps } = await ask(
      `analytics/series?${new URLSearchParams({ ...UTC_DAY, step: 'hour' }).toString()}`,
      seriesSchema,
    );
    for (const fact of CATEGORY_MAPS) {
      const figure = reader.page
        .getByRole('figure')
        .filter({ has: reader.page.getByRole('heading', { name: MAP_NAMES[fact], exact: true }) });
      await figure.getByText('Table').click();
      await figure.getByRole('row').first().waitFor();
      const rows = await cellsOf(figure.getByRole('table'));
      const counts = steps.map((step) => orderedCategories(steps).map((category) => countOf(step[fact], category)));

      expect(rows.map(([, ...cells]) => cells)).toEqual(counts.map((cells) => cells.map(grouped)));
      expect(rows[0]?.[0]).toMatch(/ 00:00–01:00 UTC$/);
      expect(await figure.locator('tbody time').first().getAttribute('title')).toMatch(/ \d\d:00–\d\d:00 P[SD]T$/);
      expect(await figure.getByRole('img').getAttribute('aria-label')).toContain(
        `${MAP_NAMES[fact]} per hour, 24 steps. In all:`,
      );
      const [heads = '', ...lines] = await downloaded(figure.getByRole('button', { name: /^Download CSV/ }));
      expect(heads).toBe(`Time,${orderedCategories(steps).join(',')}`);
      expect(lines).toEqual(
        counts.map((cells, hour) => `${YESTERDAY}T${String(hour).padStart(2, '0')}:00:00.000Z,${cells.join(',')}`),
      );
    }
  });
});

/** The lines of the file that a button gives. */
const downloaded = async (button: Locator): Promise<readonly string[]> => {
  const [download] = await Promise.all([reader.page.waitForEvent('download'), button.click()]);
  const text = await readFile(await download.path(), 'utf8');
  return text.trimEnd().split('\r\n');
};

const countsOf = (camera: CameraCounts, categories: readonly string[]): readonly number[] => [
  camera.total_events,
  camera.reviewed_total_events,
  camera.annotated_total_events,
  ...categories.map((category) => countOf(camera.counts_per_category, category)),
];

const table = (): Locator => reader.page.getByRole('table', { name: /^Cameras/ });

describe('the cameras', () => {
  it('are ordered by fire at first, by a column whose head is clicked, and agree with the figures', async () => {
    await open(`?date=${YESTERDAY}&tz=utc`);
    for (const [order, head] of [
      ['fire', undefined],
      ['total_events', 'Frames'],
      ['smoke', 'smoke'],
    ] as const) {
      if (head !== undefined) await table().getByRole('link', { name: head, exact: true }).click();
      const answer = await ask(`analytics/cameras?date=${YESTERDAY}&order_by=${order}&limit=15`, camerasSchema);
      const categories = orderedCategories(answer.cameras);
      await expect
        .poll(() => cellsOf(table()))
        .toEqual(answer.cameras.map((camera) => [camera.camera_id].concat(countsOf(camera, categories).map(grouped))));
      expect(await table().locator('th[aria-sort]').innerText()).toMatch(new RegExp(`^${head ?? 'fire'}`));
    }
    await reader.page.getByRole('button', { name: 'Show all' }).click();
    await expect.poll(() => table().locator('tbody tr').count()).toBe(20);
    const frames = (await cellsOf(table())).map(([, count = '']) => Number(count.replaceAll(',', '')));
    expect(grouped(frames.reduce((sum, count) => sum + count, 0))).toBe(
      await reader.figure('total_events').innerText(),
    );
  });

  it('of several whole UTC days agree with the figures above them, and are a file with raw numbers', async () => {
    await open(`?ts_utc_start=${YESTERDAY}T00:00:00Z&ts_utc_end=${TODAY}T23:59:59.999999Z&tz=utc`);
    const { page } = reader;
    await page.getByRole('button', { name: 'Show all' }).click();
    await expect.poll(() => table().locator('tbody tr').count()).toBe(27);
    const [heads = '', ...lines] = await downloaded(page.getByRole('button', { name: /^Download CSV: Cameras/ }));
    const frames = lines.map((line) => Number(line.match(/,(\d+),\d+,\d+,\d+,\d+,\d+,\d+,\d+$/)?.[1]));

    expect(heads).toMatch(/^Camera,Frames,Reviewed,Annotated,Detections of fire,/);
    expect(grouped(frames.reduce((sum, count) => sum + count, 0))).toBe(
      await reader.figure('total_events').innerText(),
    );
    expect(await page.getByText('Cameras are counted by UTC day').count()).toBe(0);
    expect(await page.locator('#cameras-title').innerText()).toMatch(/UTC days \d+ \w+ – \d+ \w+/);
  });

  it('can be filtered, among all there are, and scroll in themselves with their heads in sight', async () => {
    await open(`?date=${YESTERDAY}&tz=utc`);
    const { page } = reader;
    await page.getByRole('button', { name: 'Show all' }).click();
    await expect.poll(() => table().locator('tbody tr').count()).toBe(20);
    const region = page.getByRole('region', { name: /^Cameras .*, table$/ });
    await region.evaluate((element) => element.scrollTo(0, 10_000));
    const [top, headTop] = [await region.boundingBox(), await table().locator('thead th').first().boundingBox()];

    expect(Math.abs((headTop?.y ?? 0) - (top?.y ?? Infinity))).toBeLessThan(4);
    await page.getByLabel('Filter').pressSequentially('CREEK');
    await expect.poll(() => cellsOf(table()).then((rows) => rows.map(([id]) => id))).toEqual(['bear-creek']);
  });

  it('are shown alone by a click or by their name, and all again by another click', async () => {
    await open(`?date=${YESTERDAY}&tz=utc`);
    const { page } = reader;
    const id = await table().locator('tbody th a').first().innerText();
    await table().getByRole('link', { name: id, exact: true }).click();
    await expectFigures(`analytics/day?date=${YESTERDAY}&camera_id=${id}`);

    expect(search()).toBe(`?date=${YESTERDAY}&camera_id=${id}&tz=utc`);
    await table().getByRole('link', { name: id, exact: true }).click();
    await expect.poll(() => reader.figure('active_cameras').innerText()).toBe('20');
    await page.getByLabel('Camera', { exact: true }).fill('bear-creek');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('heading', { level: 2, name: 'bear-creek' }).waitFor();
    expect(search()).toBe(`?date=${YESTERDAY}&camera_id=bear-creek&tz=utc`);
  });
});
