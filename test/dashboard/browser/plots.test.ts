import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';

import { YESTERDAY } from '../answers.ts';
import { openPage, searchOf } from './stage.ts';

const SEARCH = `?date=${YESTERDAY}&tz=utc`;

/** The place of a step of the first plot on the screen. */
const placeOf = async (page: Page, hour: number): Promise<{ x: number; y: number }> => {
  await page.locator('.bars').first().scrollIntoViewIfNeeded();
  const box = await page.locator('.bars').first().boundingBox();
  if (box === null) throw new Error('the plot has no size');
  return { x: box.x + (box.width * (hour + 0.75)) / 24, y: box.y + box.height / 2 };
};

/** The step that the plots point at: all share one cursor. */
const pointed = async (page: Page): Promise<string> => {
  const [first = '', ...others] = new Set(await page.locator('.pointed').allInnerTexts());
  expect(others).toEqual([]);
  return first;
};

const rangeOf = (from: string, to: string): string =>
  `?ts_utc_start=${YESTERDAY}T${from}:00Z&ts_utc_end=${YESTERDAY}T${to}:59.999999Z&tz=utc`;

it('the plots show the step under the pointer, without moving under it, and zoom to a dragged part', async () => {
  const { page } = await openPage({ search: SEARCH });
  const boxes = async (): Promise<unknown> =>
    page
      .locator('.plot, .bars, .legend li')
      .evaluateAll((all) => all.map((each) => JSON.stringify(each.getBoundingClientRect())));
  for (const width of [390, 1_440]) {
    await page.setViewportSize({ width, height: 900 });
    await placeOf(page, 0);
    const before = await boxes();
    for (const hour of [9, 23]) {
      const { x, y } = await placeOf(page, hour);
      await page.mouse.move(x, y);
      await expect.poll(() => pointed(page)).toContain(`${String(hour).padStart(2, '0')}:30–`);
      expect(await page.locator('.legend').last().innerText()).toMatch(new RegExp(`frames\\s+${2 * hour + 1}\\s`));
      expect(await boxes()).toEqual(before);
    }
    await page.mouse.move(0, 0);
    await expect.poll(() => pointed(page)).toBe('per 30 minutes');
  }
  const [from, to] = [await placeOf(page, 10), await placeOf(page, 12)];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await page.mouse.up();
  expect(searchOf(page)).toBe(rangeOf('10:30', '12:59'));
  await expect.poll(() => page.getByRole('img', { name: /per 5 minutes, 30 steps/ }).count()).toBe(4);
});

it('the plots keep the value of a tap until the next tap, and a finger zooms', async () => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const { page } = await openPage({ search: SEARCH, ...phone });
  const first = await placeOf(page, 15);
  await page.touchscreen.tap(first.x, first.y);
  await expect.poll(() => pointed(page)).toContain('15:30–16:00');
  await page.touchscreen.tap(20, 20);
  expect(await pointed(page)).toContain('15:30–16:00');

  const touch = await page.context().newCDPSession(page);
  const [from, to] = [await placeOf(page, 3), await placeOf(page, 6)];
  await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [from] });
  for (const part of [0.3, 0.6, 1]) {
    const x = from.x + (to.x - from.x) * part;
    await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x, y: from.y }] });
  }
  await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await page.waitForURL(/ts_utc_start/);
  expect(searchOf(page)).toBe(rangeOf('03:30', '06:59'));
});
