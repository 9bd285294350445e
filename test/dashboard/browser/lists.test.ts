import { readFile } from 'node:fs/promises';

import { describe, expect, it } from 'vitest';
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

describe('1,300 cameras', () => {
  it('are all in the file, 100 on the page on demand, and searched on the service; paper has 50', async () => {
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
    expect(await page.locator('.note').getByText('15 of 1,300').count()).toBe(1);

    await press('Show 100');
    const expected = [...CAMERAS.keys()].toSorted((one, other) => (other % 9) - (one % 9) || one - other);
    expect((await cellsOf(table)).map(([id]) => id)).toEqual(expected.slice(0, 100).map((index) => CAMERAS[index]));
    // The name stays in sight.
    const region = page.getByRole('region', { name: /^Cameras .*, table$/ });
    await region.evaluate((element) => element.scrollTo(2_000, 0));
    const off = async (): Promise<number> => {
      const [name, around] = [await table.locator('tbody th').first().boundingBox(), await region.boundingBox()];
      return Math.abs((name?.x ?? 0) - (around?.x ?? Infinity));
    };
    // Where it is said to be may be where it was before that scrolling was painted.
    await expect.poll(off).toBeLessThan(2);
    await page.emulateMedia({ media: 'print' });
    expect(await table.locator('tbody tr:visible').count()).toBe(50);
    expect(await page.locator('.paper').getByText('50 of 1,300').last().isVisible()).toBe(true);
    await page.emulateMedia({ media: null });
    await press('Show 15');
    expect(await table.locator('tbody tr').count()).toBe(15);

    await page.getByLabel('Filter').fill('TOP-1299');
    await settled();
    expect((await cellsOf(table)).map(([id]) => id)).toEqual(['mountain-top-1299']);
    await page.getByLabel('Filter').fill('nowhere');
    await settled();
    expect(await page.getByText('No camera of this name.').count()).toBe(1);
  });
});

it('nothing moves beneath a pointer, at a desk and on a phone', async () => {
  for (const width of [1_440, 390]) {
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
  }
});
