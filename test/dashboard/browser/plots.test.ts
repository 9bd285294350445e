import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { believableDay } from '../stand-in/believable-day.ts';
import type { Frame } from '../stand-in/frames.ts';
import { categoryColour } from '../../../src/dashboard/browser/model/categories.ts';
import { cellsOf } from './reader.ts';
import { setStandInStage } from './stage.ts';
import { NOON, YESTERDAY } from './target.ts';

/** Twenty categories: three that are always there, and 17 more. */
const MORE = Array.from({ length: 17 }, (_, index) =>
  index === 0 ? 'a-category-with-a-long-name-'.repeat(2) : `kind-${index}`,
);

const frame = (camera: string, at: number, detections: Readonly<Record<string, number>> = {}): Frame => ({
  event_id: `${camera} ${at}`,
  camera_id: camera,
  ts_utc: new Date(at).toISOString(),
  detections,
  reviewed: false,
  annotations: {},
});

const stage = setStandInStage((service) => {
  service.record(believableDay(YESTERDAY, { cameras: 12, frames: 600, until: Number.POSITIVE_INFINITY, seed: 1 }));
  service.record(
    MORE.map((category, index) =>
      frame('ridge-01', Date.parse(YESTERDAY) + index * 3_600_000, { [category]: 20 - index }),
    ),
  );
  // Two that fell silent, one that still sends, one that began a minute ago.
  service.record([
    frame('silent-2', NOON - 16 * 60_000),
    frame('silent-1', NOON - 23 * 3_600_000),
    frame('sending', NOON - 3_600_000),
    frame('sending', NOON - 5 * 60_000),
    frame('new', NOON - 60_000),
  ]);
});

const SEARCH = `?date=${YESTERDAY}&tz=utc`;

const plot = (page: Page, title: string) =>
  page.getByRole('figure').filter({ has: page.getByRole('heading', { name: title, exact: true }) });

/** Where a step of the first plot is on the screen. */
const placeOf = async (page: Page, hour: number): Promise<{ x: number; y: number }> => {
  await page.locator('.bars').first().scrollIntoViewIfNeeded();
  const box = await page.locator('.bars').first().boundingBox();
  if (box === null) throw new Error('the plot has no size');
  return { x: box.x + (box.width * (hour + 0.5)) / 24, y: box.y + box.height / 2 };
};

describe('the plots', () => {
  it('stay readable with 20 categories, each in its own colour in every view; the table has all of them', async () => {
    const { page } = await stage.open(SEARCH);
    const detections = plot(page, 'AI detections');
    const labels = await detections.locator('.legend .name').allInnerTexts();

    expect(labels).toHaveLength(8);
    expect(labels.slice(0, 3)).toEqual(['fire', 'smoke', 'structure']);
    expect(labels.at(-1)).toBe('13 more categories');
    await detections.getByText('Table').click();
    await expect.poll(() => detections.getByRole('columnheader').count()).toBe(21);
    const long = detections.getByRole('columnheader', { name: MORE[0] ?? '' }).locator('.name');
    expect(await long.getAttribute('title')).toBe(MORE[0]);
    expect((await long.boundingBox())?.width).toBeLessThan(200);

    const colourOf = async (category: string): Promise<string> =>
      (await page.locator('.categories tr').filter({ hasText: category }).locator('.swatch').getAttribute('style')) ??
      '';
    const before = await colourOf('kind-7');
    expect(before).toContain(categoryColour('kind-7').light);
    await page.goto(
      `${stage.service.url}/api/dashboard?ts_utc_start=${YESTERDAY}T07:00:00Z&ts_utc_end=${YESTERDAY}T07:59:59Z&tz=utc`,
    );
    await page.getByText('kind-7').first().waitFor();
    expect(await colourOf('kind-7')).toBe(before);
  });

  it('show one category alone by a click in a legend, in all of them, and all again by a second one', async () => {
    const { page } = await stage.open(SEARCH);
    const drawn = async () =>
      page
        .locator('.plot')
        .evaluateAll((plots) => plots.map((each) => each.querySelectorAll('svg path[style]').length));
    const highest = (): Promise<string> => plot(page, 'AI detections').locator('.scale span').last().innerText();
    const [all, top] = [await drawn(), await highest()];

    expect(all).toEqual([8, 8, 8, 1, 1]);
    await plot(page, 'AI detections')
      .getByRole('button', { name: /^structure/ })
      .click();
    await expect.poll(drawn).toEqual([1, 1, 1, 1, 1]);
    expect(Number(await highest())).toBeLessThan(Number(top));
    expect(await plot(page, 'Annotations').locator('[aria-pressed=true]').innerText()).toContain('structure');
    await plot(page, 'Annotations')
      .getByRole('button', { name: /^structure/ })
      .click();
    await expect.poll(drawn).toEqual(all);
    expect(await highest()).toBe(top);
  });

  it('are stacked: the bars of a step add up to all of its counts', async () => {
    const { page } = await stage.open(SEARCH);
    const paths = await plot(page, 'AI detections')
      .locator('svg path[style]')
      .evaluateAll((all) => all.map((path) => path.getAttribute('d') ?? ''));
    const bars = paths.flatMap((path) =>
      [...path.matchAll(/M15\.1 ([\d.]+)h0\.8v-([\d.]+)/g)].map(
        ([, bottom, height]) => [Number(bottom), Number(height)] as const,
      ),
    );
    const heights = bars.map(([, height]) => height);
    // Each begins where the one beneath it ends; downwards is larger.
    bars.slice(1).forEach(([bottom], index) => {
      const [below = 0, height = 0] = bars[index] ?? [];
      expect(bottom).toBe(below - height);
    });
    await plot(page, 'AI detections').getByText('Table').click();
    await plot(page, 'AI detections').getByRole('row').first().waitFor();
    const [, ...cells] = (await cellsOf(plot(page, 'AI detections').getByRole('table')))[15] ?? [];

    expect(heights.length).toBeGreaterThan(2);
    expect(heights.reduce((sum, height) => sum + height, 0)).toBe(cells.reduce((sum, cell) => sum + Number(cell), 0));
  });

  it('show the step under the pointer in all of them, and a part alone that is marked', async () => {
    const { page } = await stage.open(SEARCH);
    const before = await page.locator('.legend').allInnerTexts();
    const { x, y } = await placeOf(page, 15);
    await page.mouse.move(x, y);
    await expect
      .poll(() => page.locator('.pointed').allInnerTexts())
      .toEqual(Array.from({ length: 5 }, () => expect.stringMatching(/15:00–16:00 UTC$/)));
    expect(await page.locator('.legend').allInnerTexts()).not.toEqual(before);
    await page.mouse.move(x, 5);
    await expect.poll(() => page.locator('.legend').allInnerTexts()).toEqual(before);

    const [from, to] = [await placeOf(page, 10), await placeOf(page, 12)];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/ts_utc_start/);
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      ts_utc_start: `${YESTERDAY}T10:00:00Z`,
      ts_utc_end: `${YESTERDAY}T12:59:59.999999Z`,
      tz: 'utc',
    });
    await page.getByText('per minute').first().waitFor();
  });

  it('keep the value of a tap until the next one, and are marked by a finger', async () => {
    const { page } = await stage.open(SEARCH, {
      browser: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
    });
    await page.locator('.bars').first().scrollIntoViewIfNeeded();
    const pointed = page.locator('.pointed').first();
    const first = await placeOf(page, 15);
    await page.touchscreen.tap(first.x, first.y);
    await expect.poll(() => pointed.innerText()).toContain('15:00–16:00');
    await page.clock.fastForward(60_000);
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
    expect(new URL(page.url()).searchParams.get('ts_utc_start')).toBe(`${YESTERDAY}T03:00:00Z`);
    expect(new URL(page.url()).searchParams.get('ts_utc_end')).toBe(`${YESTERDAY}T06:59:59.999999Z`);
  });

  it('have one of the active cameras, whose steps are not added up', async () => {
    const { page } = await stage.open(SEARCH);
    const active = plot(page, 'Active cameras');

    expect(await active.locator('.legend').innerText()).toMatch(/^cameras\s+at most 1?\d$/);
    expect(await active.getByRole('img').getAttribute('aria-label')).not.toContain('In all');
  });
});

describe('silent cameras', () => {
  it('are those of the last 24 hours that sent nothing for 15 minutes: counted and listed, asked for once a minute', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    const table = page.getByRole('table', { name: 'Silent cameras' });
    await table.waitFor();
    const silent = (await cellsOf(table)).map(([id]) => id);

    expect(silent).toEqual(expect.arrayContaining(['silent-1', 'silent-2']));
    expect(silent.filter((id) => id === 'sending' || id === 'new')).toEqual([]);
    expect(await reader.figure('silent_cameras').innerText()).toBe(String(silent.length));
    await page.clock.pauseAt(NOON + 61_000);
    const withIds = (from: number) =>
      stage.service.asked
        .slice(from)
        .filter(({ path }) => path.startsWith('/api/analytics?') && !path.includes('active_camera_ids')).length;
    await page.getByText(/^Updated 0 s/).waitFor();
    const from = stage.service.asked.length;
    for (let round = 0; round < 6; round += 1) {
      const before = stage.service.asked.length;
      await page.clock.runFor(10_000);
      await expect.poll(() => stage.service.asked.length).toBeGreaterThan(before + 3);
      await page.getByText(/^Updated 0 s/).waitFor();
    }
    expect(withIds(from)).toBe(1);
    stage.service.record([frame('silent-2', NOON + 125_000)]);
    await page.clock.fastForward(60_000);
    await expect.poll(async () => (await cellsOf(table)).map(([id]) => id)).not.toContain('silent-2');
    await page.getByRole('link', { name: 'silent-1' }).click();
    await page.getByRole('heading', { name: /^Last 24 hours/ }).waitFor();
    expect(new URL(page.url()).search).toBe('?last=24h&camera_id=silent-1&tz=utc');
  });
});

describe('a camera that nothing is known of', () => {
  it('is told, and the nearest names are offered', async () => {
    const { page } = await stage.open('?camera_id=silemt-1&tz=utc');
    await page.getByText(/^No camera named silemt-1 sent anything/).waitFor();
    await page.getByRole('status').getByRole('link', { name: 'silent-1' }).click();
    await page.waitForURL(/camera_id=silent-1/);
    await expect.poll(() => page.getByText(/^No camera named/).count()).toBe(0);
  });
});
