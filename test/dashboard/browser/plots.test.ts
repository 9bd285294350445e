import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { demoDays, frame, NOON, YESTERDAY } from './activity.ts';
import { cellsOf, setStage } from './stage.ts';

/** Twenty categories: three that are always there, and 17 more, of which the first are the most frequent ones. */
const MORE = Array.from({ length: 17 }, (_, index) =>
  index === 0 ? 'a-category-with-a-long-name-'.repeat(2) : `kind-${index}`,
);
const HOUR = 3_600_000;
const MINUTE = 60_000;

const stage = setStage([
  ...demoDays(),
  ...MORE.map((category, index) =>
    frame('ridge', Date.parse(YESTERDAY) + index * HOUR, { detections: { [category]: 200 - index } }),
  ),
  frame('ridge', Date.parse(YESTERDAY) + 15 * HOUR, { detections: { fire: 3, smoke: 5, structure: 2 } }),
  // Two that fell silent, one that still sends, one that began a minute ago.
  frame('silent-2', NOON - 16 * MINUTE),
  frame('silent-1', NOON - 23 * HOUR),
  frame('sending', NOON - HOUR),
  frame('sending', NOON - 5 * MINUTE),
  frame('new', NOON - MINUTE),
]);

const SEARCH = `?date=${YESTERDAY}&tz=utc`;
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

const plot = (page: Page, title: string): Locator =>
  page.getByRole('figure').filter({ has: page.getByRole('heading', { name: title, exact: true }) });

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Where a step of the first plot is on the screen. */
const placeOf = async (page: Page, hour: number): Promise<{ x: number; y: number }> => {
  await page.locator('.bars').first().scrollIntoViewIfNeeded();
  const box = await page.locator('.bars').first().boundingBox();
  if (box === null) throw new Error('the plot has no size');
  return { x: box.x + (box.width * (hour + 0.5)) / 24, y: box.y + box.height / 2 };
};

describe('the plots', () => {
  it('stay readable with 20 categories, whose bars add up to the counts of the table', async () => {
    const { page } = await stage.open(SEARCH);
    const detections = plot(page, 'AI detections');
    const labels = await detections.locator('.legend .name').allInnerTexts();
    expect(labels).toEqual(['fire', 'smoke', 'structure', MORE[0], 'kind-1', 'kind-2', 'kind-3', '13 more categories']);
    const swatch = detections.locator('.legend .swatch');
    expect(new Set(await swatch.evaluateAll((all) => all.map((each) => each.getAttribute('style')))).size).toBe(8);
    await detections.getByText('Table').click();
    await expect.poll(() => detections.getByRole('columnheader').count()).toBe(21);
    const long = detections.getByRole('columnheader', { name: MORE[0] ?? '' }).locator('.name');
    expect(await long.getAttribute('title')).toBe(MORE[0]);
    expect((await long.boundingBox())?.width).toBeLessThan(200);

    const paths = await detections
      .locator('svg path[style]')
      .evaluateAll((all) => all.map((path) => path.getAttribute('d') ?? ''));
    const bars = paths.flatMap((path) =>
      [...path.matchAll(/M15\.1 ([\d.]+)h0\.8v-([\d.]+)/g)].map(
        ([, bottom, height]) => [Number(bottom), Number(height)] as const,
      ),
    );
    // Each begins where the one beneath it ends; downwards is larger.
    for (const [index, [bottom]] of bars.slice(1).entries()) {
      const [below = 0, height = 0] = bars[index] ?? [];
      expect(bottom).toBe(below - height);
    }
    const [, ...cells] = (await cellsOf(detections.getByRole('table')))[15] ?? [];
    expect(bars.length).toBeGreaterThan(3);
    expect(sum(bars.map(([, height]) => height))).toBe(sum(cells.map(Number)));
    // Of cameras, steps are not added up.
    expect(await plot(page, 'Active cameras').locator('.legend').innerText()).toMatch(/^cameras\s+at most \d+$/);
  });

  it('show a category alone by a click in a legend, in all of them, and all again by a second one', async () => {
    const { page } = await stage.open(SEARCH);
    const drawn = async () =>
      page
        .locator('.plot')
        .evaluateAll((plots) => plots.map((each) => each.querySelectorAll('svg path[style]').length));
    const highest = (): Promise<string> => plot(page, 'AI detections').locator('.scale span').last().innerText();
    const top = await highest();
    expect(await drawn()).toEqual([8, 8, 8, 1, 1]);
    await plot(page, 'AI detections').getByRole('button', { name: /^fire/ }).click();
    await expect.poll(drawn).toEqual([1, 1, 1, 1, 1]);
    expect(Number(await highest())).toBeLessThan(Number(top));
    const pressed = plot(page, 'Annotations').locator('[aria-pressed=true]');
    expect(await pressed.innerText()).toContain('fire');
    await pressed.click();
    await expect.poll(drawn).toEqual([8, 8, 8, 1, 1]);
    expect(await highest()).toBe(top);
  });

  it('show the step under the pointer in all of them, and a part alone that is marked', async () => {
    const { page, follow, search, settled } = await stage.open(SEARCH);
    const legends = () => page.locator('.legend').allInnerTexts();
    const before = await legends();
    const { x, y } = await placeOf(page, 15);
    await page.mouse.move(x, y);
    await expect
      .poll(() => page.locator('.pointed').allInnerTexts())
      .toEqual(Array.from({ length: 5 }, () => '20 Nov 15:00–16:00 UTC'));
    expect(await legends()).not.toEqual(before);
    await page.mouse.move(x, 5);
    await expect.poll(legends).toEqual(before);

    const [from, to] = [await placeOf(page, 10), await placeOf(page, 12)];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 4 });
    await page.mouse.up();
    expect(await search()).toBe(`?ts_utc_start=${YESTERDAY}T10:00:00Z&ts_utc_end=${YESTERDAY}T12:59:59.999999Z&tz=utc`);
    await settled();
    expect(await page.getByRole('img', { name: /per minute, 180 steps/ }).count()).toBe(5);
    await follow('Whole day');
    expect(await page.getByRole('img', { name: /per hour, 24 steps/ }).count()).toBe(5);
    expect(await search()).toBe(SEARCH);
    expect(await page.getByRole('link', { name: 'Whole day' }).count()).toBe(0);
  });

  it('keep the value of a tap until the next one, and are marked by a finger', async () => {
    const { page, search } = await stage.open(SEARCH, PHONE);
    const pointed = page.locator('.pointed').first();
    const first = await placeOf(page, 15);
    await page.touchscreen.tap(first.x, first.y);
    await expect.poll(() => pointed.innerText()).toContain('15:00–16:00');
    await page.touchscreen.tap(20, 20);
    expect(await pointed.innerText()).toContain('15:00–16:00');
    const second = await placeOf(page, 9);
    await page.touchscreen.tap(second.x, second.y);
    await expect.poll(() => pointed.innerText()).toContain('09:00–10:00');

    const touch = await page.context().newCDPSession(page);
    const [from, to] = [await placeOf(page, 3), await placeOf(page, 6)];
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [from] });
    for (const part of [0.3, 0.6, 1]) {
      const x = from.x + (to.x - from.x) * part;
      await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x, y: from.y }] });
    }
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await page.waitForURL(/ts_utc_start/);
    expect(await search()).toBe(`?ts_utc_start=${YESTERDAY}T03:00:00Z&ts_utc_end=${YESTERDAY}T06:59:59.999999Z&tz=utc`);
  });
});

describe('silent cameras', () => {
  it('sent something in 24 hours, and nothing for 15 minutes: counted, listed, asked for once a minute', async () => {
    const { page, count, follow, nextRound, search } = await stage.open('?tz=utc');
    const silent = async () => (await cellsOf(page.getByRole('table', { name: 'Silent cameras' }))).map(([id]) => id);
    expect(await silent()).toEqual(expect.arrayContaining(['silent-1', 'silent-2']));
    expect((await silent()).filter((id) => id === 'sending' || id === 'new')).toEqual([]);
    expect(await count('silent_cameras')).toBe((await silent()).length);

    const before = stage.service.asked.length;
    for (let round = 0; round < 6; round += 1) await nextRound();
    const withIds = stage.service.asked
      .slice(before)
      .filter(({ path }) => path.startsWith('/api/analytics?') && !path.includes('active_camera_ids'));
    expect(withIds).toHaveLength(1);

    await stage.service.record([frame('silent-2', NOON + MINUTE)]);
    await nextRound(MINUTE);
    expect(await silent()).not.toContain('silent-2');
    // Two minutes have passed. Who is known at all is asked every ten.
    const known = (): number => stage.service.asked.filter(({ path }) => path.includes('counts=false')).length;
    await nextRound(8 * MINUTE - 5_000);
    expect(known()).toBe(1);
    await nextRound();
    expect(known()).toBe(2);
    await follow('silent-1');
    expect(await page.locator('#shown').innerText()).toMatch(/^Last 24 hours/);
    expect(await search()).toBe('?last=24h&camera_id=silent-1&tz=utc');
  });

  it('of which nothing is known are told, and the nearest names are offered', async () => {
    const { page, search, settled } = await stage.open('?camera_id=silemt-1&tz=utc');
    expect(await page.getByText(/^No camera named silemt-1 sent anything/).count()).toBe(1);
    await page.getByRole('status').getByRole('link', { name: 'silent-1' }).click();
    await settled();
    expect(await search()).toContain('camera_id=silent-1');
    expect(await page.getByText(/^No camera named/).count()).toBe(0);
  });
});
