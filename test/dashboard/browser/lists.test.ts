import { readFile } from 'node:fs/promises';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { frame, NOON, YESTERDAY } from './activity.ts';
import { CAMERAS } from './largest.ts';
import { cellsOf, setStage } from './stage.ts';

const HOUR = 3_600_000;

const stage = setStage([
  ...CAMERAS.map((camera, index) =>
    frame(camera, NOON - HOUR, { detections: { smoke: index % 9, [`kind-${index % 40}`]: 1 } }),
  ),
  ...CAMERAS.slice(0, 3).map((camera, hour) =>
    frame(camera, Date.parse(YESTERDAY) + (9 + hour) * HOUR, { detections: { smoke: 2 } }),
  ),
]);

/** In the page: scrolls a list to a part of its height, and names the cameras whose rows are in sight then; the index of the first one before them. */
const inSightAt = (part: number): string => `(async () => {
  const region = document.querySelector('.scroll:has(.cameras)');
  const count = Number(region.querySelector('table').getAttribute('aria-rowcount')) - 1;
  region.scrollTo(0, ${part} * (region.scrollHeight - region.clientHeight));
  const headHeight = region.querySelector('thead').offsetHeight;
  const rowHeight = (region.querySelector('table').offsetHeight - headHeight) / count;
  const first = Math.floor(region.scrollTop / rowHeight);
  const last = Math.min(Math.ceil((region.scrollTop + region.clientHeight - headHeight) / rowHeight), count) - 1;
  const row = (index) => region.querySelector('[aria-rowindex="' + (index + 2) + '"] th');
  const indices = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return new Promise((resolve) => {
    const resolveIfThere = () => indices.every(row) && resolve([first, ...indices.map((index) => row(index).textContent.trim())]);
    new MutationObserver(resolveIfThere).observe(region, { subtree: true, childList: true, attributes: true });
    resolveIfThere();
  });
})()`;

const inSight = z.tuple([z.number()], z.string());

describe('1,300 cameras', () => {
  it('are all reached, in a few hundred elements; there is a way back to 15, and all are in the file', async () => {
    const { page, press, settled } = await stage.open('?tz=utc&order_by=smoke');
    const table = page.getByRole('table', { name: /^Cameras/ });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Download CSV: Cameras/ }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
    expect(lines).toHaveLength(1_301);
    expect(download.suggestedFilename()).toBe('Cameras-of-the-UTC-day-21-Nov-2026-11-21.csv');
    await settled();
    expect(await page.getByText('All 1,300 cameras are in the file.').count()).toBe(1);

    await press('Show all');
    expect(await page.getByText('1,300 of 1,300 cameras.').count()).toBe(1);
    expect(await table.getAttribute('aria-rowcount')).toBe('1301');
    expect(await table.locator('td, th').count()).toBeLessThan(6_000);
    const region = page.getByRole('region', { name: /^Cameras .*, table$/ });
    const expected = [...CAMERAS.keys()].toSorted((one, other) => (other % 9) - (one % 9) || one - other);
    for (const part of [0, 0.31, 0.5, 0.87, 1]) {
      const [first, ...names] = inSight.parse(await page.evaluate(inSightAt(part)));
      expect(names.length).toBeGreaterThan(5);
      expect(names).toEqual(expected.slice(first, first + names.length).map((index) => CAMERAS[index]));
      expect(part === 1 ? first + names.length : 1_300).toBe(1_300);
    }
    // The name stays in sight.
    await region.evaluate((element) => element.scrollTo(2_000, 0));
    const off = async (): Promise<number> => {
      const [name, around] = [await table.locator('tbody th').first().boundingBox(), await region.boundingBox()];
      return Math.abs((name?.x ?? 0) - (around?.x ?? Infinity));
    };
    // Where it is said to be may be where it was before that scrolling was painted.
    await expect.poll(off).toBeLessThan(2);

    await press('Show 15');
    expect(await table.locator('tbody tr').count()).toBe(15);

    await page.getByLabel('Filter').fill('11');
    await press('Show all');
    expect(await table.locator('tbody:not([aria-hidden]) tr').count()).toBeLessThan(100);
    await page.emulateMedia({ media: 'print' });
    const found = CAMERAS.filter((id) => id.includes('11')).length;
    expect(found).toBeGreaterThan(100);
    await expect.poll(() => table.locator('tbody tr').count()).toBe(found);
  });

  it('are searched on the service: also those that are not listed are found, with the categories that occur', async () => {
    const { page, settled } = await stage.open('?tz=utc');
    const table = page.getByRole('table', { name: /^Cameras/ });
    await page.getByLabel('Filter').fill('TOP-1299');
    await settled();
    expect((await cellsOf(table)).map(([id]) => id)).toEqual(['mountain-top-1299']);
    expect(await table.locator('thead th').allInnerTexts()).toEqual([
      'Camera',
      'Frames',
      'Reviewed',
      'Annotated',
      'smoke',
      'kind-19',
      'fire',
    ]);
    await page.getByLabel('Filter').fill('nowhere');
    await settled();
    expect(await page.getByText('No camera of this name.').count()).toBe(1);
  });
});

it.each([1_440, 390])('nothing moves beneath a pointer, %i pixels wide', async (width) => {
  const { page } = await stage.open(`?date=${YESTERDAY}&tz=utc`, { viewport: { width, height: 900 } });
  const boxes = async (): Promise<unknown> =>
    page
      .locator('.plot, .bars, .legend li')
      .evaluateAll((all) => all.map((each) => JSON.stringify(each.getBoundingClientRect())));
  const bars = page.locator('.bars').first();
  await bars.scrollIntoViewIfNeeded();
  const before = await boxes();
  const { x = 0, y = 0, width: across = 0 } = (await bars.boundingBox()) ?? {};
  for (const hour of [0.5, 9.5, 11.5, 23.5]) {
    await page.mouse.move(x + (across * hour) / 24, y + 20);
    await expect.poll(() => page.locator('.pointed').first().innerText()).toContain('UTC');
    expect(await boxes()).toEqual(before);
  }
});

it('the clock of a link is the link’s: it changes nothing for the reader who follows it', async () => {
  const { page, settled } = await stage.open('?tz=utc');
  expect(await page.getByLabel('Day (UTC)').count()).toBe(1);
  await page.goto(`${stage.service.url}/api/dashboard`);
  await settled();
  expect(await page.getByLabel('Day (local)').count()).toBe(1);
});

it('seven days move on with the day', async () => {
  const { page, nextRound, search } = await stage.open('?last=7d&tz=utc');
  expect(await page.locator('#shown').innerText()).toMatch(/^Last 7 days, Sunday 15 November 2026 – Saturday 21 /);
  await nextRound(13 * HOUR);
  expect(await page.locator('#shown').innerText()).toMatch(/^Last 7 days, Monday 16 November 2026 – Sunday 22 /);
  expect(await search()).toBe('?last=7d&tz=utc');
});

it('a range reads as it was meant, and bars of a part of an hour look so', async () => {
  const { page } = await stage.open(
    `?ts_utc_start=${YESTERDAY}T09:30:00Z&ts_utc_end=${YESTERDAY}T17:14:59.999999Z&tz=utc`,
  );
  expect(await page.locator('#shown').innerText()).toBe('Friday 20 November 2026, 09:30 – 17:15 UTC');
  expect(await page.locator('.plot').first().locator('.partial').count()).toBe(2);
});

it('text of twice the size fits into 390 pixels', async () => {
  const { page } = await stage.open('?tz=utc', { viewport: { width: 390, height: 844 } });
  await page.evaluate("document.documentElement.style.fontSize = '200%'");
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
});
