import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { demoDays, YESTERDAY } from './activity.ts';
import { setStage } from './stage.ts';

const stage = setStage(demoDays());

const SEARCH = `?date=${YESTERDAY}&tz=utc`;
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** Where a step of the first plot is on the screen. */
const placeOf = async (page: Page, hour: number): Promise<{ x: number; y: number }> => {
  await page.locator('.bars').first().scrollIntoViewIfNeeded();
  const box = await page.locator('.bars').first().boundingBox();
  if (box === null) throw new Error('the plot has no size');
  return { x: box.x + (box.width * (hour + 0.75)) / 24, y: box.y + box.height / 2 };
};

describe('the plots', () => {
  it('show the step under the pointer in all of them, and a part alone that is marked', async () => {
    const { page, search, settled } = await stage.open(SEARCH);
    const legends = () => page.locator('.legend').allInnerTexts();
    const before = await legends();
    const { x, y } = await placeOf(page, 15);
    await page.mouse.move(x, y);
    await expect
      .poll(() => page.locator('.pointed').allInnerTexts())
      .toEqual(Array.from({ length: 4 }, () => '20 Nov 15:30–16:00 UTC'));
    expect(await legends()).not.toEqual(before);
    await page.mouse.move(x, 5);
    await expect.poll(legends).toEqual(before);

    const [from, to] = [await placeOf(page, 10), await placeOf(page, 12)];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 4 });
    await page.mouse.up();
    expect(await search()).toBe(`?ts_utc_start=${YESTERDAY}T10:30:00Z&ts_utc_end=${YESTERDAY}T12:59:59.999999Z&tz=utc`);
    await settled();
    expect(await page.getByRole('img', { name: /per 5 minutes, 30 steps/ }).count()).toBe(4);
    await page.goBack();
    await settled();
    expect(await page.getByRole('img', { name: /per 30 minutes, 48 steps/ }).count()).toBe(4);
    expect(await search()).toBe(SEARCH);
  });

  it('keep the value of a tap until the next one, and are marked by a finger', async () => {
    const { page, search } = await stage.open(SEARCH, PHONE);
    const pointed = page.locator('.pointed').first();
    const first = await placeOf(page, 15);
    await page.touchscreen.tap(first.x, first.y);
    await expect.poll(() => pointed.innerText()).toContain('15:30–16:00');
    await page.touchscreen.tap(20, 20);
    expect(await pointed.innerText()).toContain('15:30–16:00');
    const second = await placeOf(page, 9);
    await page.touchscreen.tap(second.x, second.y);
    await expect.poll(() => pointed.innerText()).toContain('09:30–10:00');

    const touch = await page.context().newCDPSession(page);
    const [from, to] = [await placeOf(page, 3), await placeOf(page, 6)];
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [from] });
    for (const part of [0.3, 0.6, 1]) {
      const x = from.x + (to.x - from.x) * part;
      await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x, y: from.y }] });
    }
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await page.waitForURL(/ts_utc_start/);
    expect(await search()).toBe(`?ts_utc_start=${YESTERDAY}T03:30:00Z&ts_utc_end=${YESTERDAY}T06:59:59.999999Z&tz=utc`);
  });
});
