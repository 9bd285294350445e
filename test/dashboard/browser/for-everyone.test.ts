import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { z } from 'zod';

import { before, missed, notification, person, WAVES, YESTERDAY } from '../answers.ts';
import { contentWidth, isGreen, openPage } from './stage.ts';

const NOTIFICATIONS = [
  notification('running', { details: 'North ridge, mile 4', reference: 'ridge-1', recipients: WAVES }),
  missed('missed', { alert_type: 'ReportOfFire', acknowledged_by: 'Ana', acknowledged_at: before(9) }),
  missed('<img src=x onerror="window.harmed=1">', { reference: '<script>window.harmed=1</script>' }),
  notification('heard', { status: 'completed', recipients: [person('55', 'heard')] }),
];

/** Ids that would do harm as markup, or break the layout. */
const HOSTILE_IDS = [
  '<img src=x onerror="window.harmed=1">',
  '"><script>window.harmed=1</script>',
  '\u202egnissim-thgir',
  'حريق-الجبل-٠٤',
  '🔥🏔️ ridge & peak',
  'x'.repeat(128),
  'a?b=c&d#e/f\\g%20h',
] as const;

const SERVICE = {
  notifications: NOTIFICATIONS,
  categories: ['fire', 'smoke', 'structure', 'constructor', 'category-'.repeat(7)],
  lastSeen: Object.fromEntries(['ridge-1', ...HOSTILE_IDS].map((id) => [id, 60])),
};

/** The findings of axe: each rule with the elements that break it. */
const violationsOf = async (page: Page, runOnly?: string[]): Promise<unknown> => {
  if (!z.boolean().parse(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  // Axe waits for timers.
  await page.clock.resume();
  const options = JSON.stringify({ resultTypes: ['violations'], selectors: false, preload: false, runOnly });
  return page.evaluate(`axe.run(document, ${options})
    .then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 160))]))`);
};

const THEMES: readonly Parameters<Page['emulateMedia']>[0][] = [
  { colorScheme: 'light' },
  { colorScheme: 'dark' },
  { colorScheme: 'dark', forcedColors: 'active' },
];

/** Themes differ in colors only. */
const expectReadable = async (page: Page): Promise<void> => {
  for (const [index, theme] of THEMES.entries()) {
    await page.emulateMedia({ forcedColors: 'none', ...theme });
    expect(await violationsOf(page, index === 0 ? undefined : ['color-contrast']), JSON.stringify(theme)).toEqual([]);
  }
};

const FOCUSED = '(document.activeElement.ariaLabel || document.activeElement.textContent).trim()';

const SMALL_PHONE = { width: 320, height: 640 };

it('with all parts open and odd ids, the page is readable in every theme, on a phone, on a wall, and at 200 %', async () => {
  // Eight steps of a series.
  const range = `ts_utc_start=${YESTERDAY}T12:00:00Z&ts_utc_end=${YESTERDAY}T12:07:59.999999Z`;
  const search = `?${range}&camera_id=${'x'.repeat(128)}`;
  const { page } = await openPage({ service: SERVICE, search, viewport: SMALL_PHONE });
  // The other categories are pale.
  await page
    .getByRole('button', { name: /^smoke/ })
    .first()
    .click();
  await page.getByRole('button', { name: /^Range/ }).click();
  await page.getByRole('button', { name: /Taken and resolved/ }).click();
  for (const summary of await page.locator('.numbers summary').all()) await summary.click();
  await expect.poll(() => page.locator('.numbers table').count()).toBe(4);
  await expectReadable(page);
  for (const width of [320, 640, 1_920]) {
    await page.setViewportSize({ width, height: 640 });
    expect(await contentWidth(page)).toBe(width);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await page.evaluate("document.documentElement.style.fontSize = '200%'");
  expect(await contentWidth(page), 'text of twice the size').toBe(390);
  for (const cell of await page.locator('.alert :is(.state, .what)').all()) {
    expect((await cell.boundingBox())?.width, 'words, not letters below each other').toBeGreaterThan(190);
  }
  await page.locator('#alert-running').click();
  await page.locator('.drawer .wave').first().waitFor();
  await expectReadable(page);
  expect(await contentWidth(page), 'with an open alert').toBe(390);
  expect(await page.evaluate('window.harmed')).toBeUndefined();
});

it('the page is readable with a wrong key, without data, without an answer, and with an open dialog', async () => {
  const opening = { search: '?date=2020-02-20&camera_id=&camera=x', viewport: SMALL_PHONE };
  const { page, service } = await openPage({ service: { ...SERVICE, key: 'right', frames: 0 }, ...opening });
  await page.getByLabel('Function key').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('The service did not accept this key.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel('Function key').fill('right');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByText('Nothing in this time.').count()).toBe(4);
  service.instead = () => 'away';
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.locator('.problems').getByText('The service does not answer.').waitFor();
  await expectReadable(page);
  service.instead = () => undefined;
  await page.getByRole('button', { name: 'Refresh' }).click();
  await isGreen(page);
  await page.getByRole('button', { name: /^Stop: / }).click();
  expect(await page.getByRole('dialog').count()).toBe(1);
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await expect.poll(async () => page.evaluate(FOCUSED), { message: 'the focus is back' }).toMatch(/^Stop: /);
});

it('paper has no buttons: the time of the answers, alerts, the period, figures and plots on two pages, then 50 rows of lists', async () => {
  const lastSeen = Object.fromEntries(Array.from({ length: 1_300 }, (_, camera) => [`mountain-top-${camera}`, 60]));
  const search = '?camera_id=mountain-top-7&tz=utc';
  const { page } = await openPage({ service: { ...SERVICE, lastSeen }, search, viewport: { width: 700, height: 990 } });
  await page.getByRole('button', { name: 'Show 100 of 1,300' }).click();
  const cameras = page.getByRole('table', { name: /^Cameras/ });
  await expect.poll(() => cameras.locator('tbody tr').count()).toBe(100);
  // On the screen, the name of a camera stays in sight while the table scrolls.
  const region = page.getByRole('region', { name: /^Cameras, .*table$/ });
  await region.evaluate((element) => element.scrollTo(2_000, 0));
  const [name, around] = [await cameras.locator('tbody th').first().boundingBox(), await region.boundingBox()];
  expect(Math.abs((name?.x ?? 0) - (around?.x ?? Infinity))).toBeLessThan(2);

  await page.emulateMedia({ media: 'print' });
  expect(await page.locator('.button:visible, nav:visible, input:visible').count()).toBe(0);
  expect(await page.getByText('As of 21 Nov 12:00:00 UTC.').isVisible()).toBe(true);
  // The period, the zone and the camera, and no question.
  const heading = page.getByRole('heading', { name: 'Today, Saturday 21 November 2026 UTC · mountain-top-7' });
  expect((await heading.boundingBox())?.height).toBeGreaterThan(10);
  expect(await page.getByText('Play a sound').isVisible()).toBe(false);
  const bottomOf = async (part: string): Promise<number> => {
    const { y = 0, height = Infinity } = (await page.locator(part).last().boundingBox()) ?? {};
    return y + height;
  };
  // A page of A4 has some 1,000 pixels.
  expect(await bottomOf('.plot')).toBeLessThan(2_000);
  expect(await bottomOf('.cameras')).toBeGreaterThan(await bottomOf('.plot'));
  const hidden = await page.locator('.scroll:has(.cameras)').evaluate((each) => each.scrollHeight - each.clientHeight);
  expect(hidden).toBeLessThanOrEqual(1);
  expect(await cameras.locator('tbody tr:visible').count()).toBe(50);
  expect(await page.locator('.paper').getByText('50 of 1,300').isVisible()).toBe(true);
  await page.emulateMedia({ media: 'screen' });
  await page.locator('#alert-running').click();
  await page.locator('.drawer .wave').first().waitFor();
  await page.emulateMedia({ media: 'print' });
  // An open alert is printed alone.
  expect([await page.locator('.drawer').isVisible(), await page.locator('main').isVisible()]).toEqual([true, false]);
});

it('an alert stays in sight on a phone that has scrolled, leads to the table, and can be taken by a thumb', async () => {
  const { page, service } = await openPage({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.evaluate('scrollTo(0, 3000)');
  service.notifications = [notification('fire', { details: 'North ridge' })];
  await page.clock.fastForward(10_000);
  const count = page.getByRole('link', { name: /Alerts 1 open/ });
  const { y = -1, height = 0 } = (await count.boundingBox()) ?? {};
  expect(y).toBeGreaterThanOrEqual(0);
  // Narrow: most of a phone is for the figures.
  expect(y + height).toBeLessThan(110);
  await count.click();
  const row = page.locator('[data-alert=fire]');
  await expect.poll(async () => (await row.boundingBox())?.y ?? 9_999).toBeLessThan(400);
  const button = await row.getByRole('button', { name: /^Take/ }).boundingBox();
  expect(button?.height ?? 0).toBeGreaterThanOrEqual(38);
  expect(button?.x ?? 0).toBeGreaterThan(195);
  // Two lines, and a place of any length.
  expect((await row.boundingBox())?.height ?? 999).toBeLessThan(90);
  service.notifications = [notification('fire', { details: 'North ridge, above the old quarry road, '.repeat(4) })];
  await page.clock.fastForward(10_000);
  await row.getByText('quarry road').waitFor();
  expect((await row.boundingBox())?.height ?? 999).toBeLessThan(90);
  await row.getByRole('link').first().click();
  const [bar, drawer] = [await page.locator('.health').boundingBox(), await page.locator('.drawer').boundingBox()];
  expect(drawer?.y, 'the drawer begins below the health bar').toBeCloseTo((bar?.y ?? 0) + (bar?.height ?? 0), 0);
});

it('at most 12 tab stops are before the content', async () => {
  const { page } = await openPage({ service: { key: 'everyone' } });
  await page.getByLabel('Function key').waitFor();
  await page.keyboard.type('everyone\n');
  await isGreen(page);
  await page.getByRole('button', { name: 'Leave it off' }).click();
  await page.evaluate('document.activeElement.blur()');
  let stops = 0;
  do {
    await page.keyboard.press('Tab');
    stops += 1;
  } while (stops < 40 && (await page.locator('.figures :focus').count()) === 0);
  expect(stops - 1).toBeLessThanOrEqual(12);
});

it('nothing moves while the page loads: the layout shift is below 0.05', async () => {
  const { page } = await openPage({ service: SERVICE, viewport: { width: 1_440, height: 900 } });
  const shift = `new Promise((resolve) => {
    let sum = 0;
    new PerformanceObserver((list) => { for (const each of list.getEntries()) sum += each.value; })
      .observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
  })`;
  await page.clock.resume();
  expect(z.number().parse(await page.evaluate(shift))).toBeLessThan(0.05);
});

it('the wall is readable from three meters at 1080p, in one view', async () => {
  const details = 'A long place, beyond the old bridge and the second creek, on the way to the ridge, mile ';
  const fires = Array.from({ length: 14 }, (_, mile) => missed(`fire-${mile}`, { details: `${details}${mile}` }));
  const { page } = await openPage({
    service: { ...SERVICE, notifications: fires },
    search: '?wall&tz=utc',
    viewport: { width: 1_920, height: 1_080 },
  });
  const size = async (selector: string): Promise<number> =>
    z
      .number()
      .parse(await page.evaluate(`parseFloat(getComputedStyle(document.querySelector('${selector}')).fontSize)`));
  expect(await size('.alert .status')).toBeGreaterThanOrEqual(24);
  expect(await size('.tile .count')).toBeGreaterThanOrEqual(48);
  expect(await violationsOf(page)).toEqual([]);
  const bars = (await page.locator('.bars').boundingBox()) ?? { y: 0, height: 0 };
  const marks = (await page.locator('.marks').boundingBox()) ?? { y: Infinity, height: 0 };
  expect(bars.height, 'a plot under the most alerts').toBeGreaterThan(80);
  expect(marks.y + marks.height).toBeLessThanOrEqual(1_080);
});

it('with the keyboard alone, a reader gives the key, goes to another day, takes an alert, opens a table', async () => {
  const { page } = await openPage({ service: { ...SERVICE, key: 'everyone' } });
  const { keyboard } = page;
  const focused = async (): Promise<string> => String(await page.evaluate(FOCUSED));
  const follow = async (wanted: RegExp, key = 'Tab'): Promise<void> => {
    for (let presses = 0; presses < 120; presses += 1) {
      await keyboard.press(key);
      if (wanted.test(await focused())) return keyboard.press('Enter');
    }
    throw new Error(`The focus never came to ${String(wanted)}.`);
  };
  await page.getByLabel('Function key').waitFor();
  await keyboard.type('everyone\n');
  await expect.poll(focused).toMatch(/^Today, /);
  await page.reload();
  await isGreen(page);
  await follow(/^Skip to the figures$/);
  await expect.poll(focused).toMatch(/^Today, /);
  await follow(/^Earlier day$/, 'Shift+Tab');
  await page.getByRole('button', { name: 'Range: Friday 20 November 2026' }).waitFor();
  expect(await focused()).toBe('Earlier day');
  await follow(/^Table of ai detections$/);
  await page.getByRole('table', { name: 'AI detections per 30 minutes' }).waitFor();
  await keyboard.press('j');
  expect(await focused()).toMatch(/^Fire/);
  await keyboard.press('a');
  await page.getByRole('dialog', { name: 'Take this alert' }).waitFor();
  await keyboard.type('Ana\n');
  await page.getByText('Ana has it: Fire').waitFor();
});
