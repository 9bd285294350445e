import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { believableDay, HOSTILE_IDS } from '../stand-in/believable-day.ts';
import type { StandIn } from '../stand-in/service.ts';
import { believableStories } from '../stand-in/stories.ts';
import { launchBrowser } from '../../../infra/browser.ts';
import { openPage, type Reader, type ReaderOptions } from './reader.ts';
import { NOON, startStandIn, TODAY, YESTERDAY } from './target.ts';

let browser: Browser;
let service: StandIn;
let close: () => Promise<void>;

const KEY = 'everyone';

beforeAll(async () => {
  browser = await launchBrowser();
  ({ service, close } = await startStandIn(KEY));
  service.record(believableDay(YESTERDAY, { cameras: 20, frames: 800, until: Number.POSITIVE_INFINITY, seed: 1 }));
  service.record(believableDay(TODAY, { cameras: 20, frames: 800, until: NOON, seed: 2 }));
  service.record(
    HOSTILE_IDS.map((id, index) => ({
      event_id: `hostile-${index}`,
      camera_id: id,
      ts_utc: `${YESTERDAY}T12:00:00.000Z`,
      detections: { ['category-'.repeat(7)]: 1, [`further${index}`]: 2 },
      reviewed: true,
      annotations: {},
    })),
  );
  service.notifications = believableStories();
});

afterAll(async () => {
  await browser.close();
  await close();
});

const open = (options: Partial<ReaderOptions>): Promise<Reader> =>
  openPage(browser, {
    url: service.url,
    key: KEY,
    expectedErrors: /401 \(Unauthorized\)|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|503 \(/,
    ...options,
  });

const violationsSchema = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }));

/** Everything that axe finds: rule, and the elements that break it. */
const axeViolations = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe.source);
  const found: unknown = await page.evaluate('axe.run(document).then((results) => results.violations)');
  return violationsSchema
    .parse(found)
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
};

/** Opens everything that can be opened. */
const openAll = async (reader: Reader): Promise<void> => {
  const { page } = reader;
  await reader.settled();
  await page.getByRole('button', { name: /Confirmed fire/ }).click();
  await page.locator('.recipients').first().waitFor();
  await page.getByText('Range…').click();
  for (const summary of await page.locator('.ids summary, .numbers summary, .codes summary').all())
    await summary.click();
  await expect.poll(() => page.locator('.numbers table').count()).toBe(5);
  await page.locator('.camera-ids li').first().waitFor();
};

const SYSTEM_COLOURS: BrowserContextOptions = { colorScheme: 'dark', forcedColors: 'active' };

it.each<[string, { width: number; height: number }, BrowserContextOptions]>([
  ['a small phone, or a desk at 400 %', { width: 320, height: 640 }, { colorScheme: 'light' }],
  ['a small phone in the dark', { width: 320, height: 640 }, { colorScheme: 'dark' }],
  ['a desk at 200 %', { width: 640, height: 450 }, { deviceScaleFactor: 2 }],
  ['a wall in the dark', { width: 1_920, height: 1_080 }, { colorScheme: 'dark' }],
  ['a desk in the colours of the system', { width: 1_280, height: 900 }, SYSTEM_COLOURS],
])('everything can be read on %s', async (_, viewport, colours) => {
  const reader = await open({ search: `?date=${YESTERDAY}`, browser: { viewport, ...colours } });
  await openAll(reader);

  expect(await axeViolations(reader.page)).toEqual([]);
  expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
  await reader.leave();
});

describe.each<[string, BrowserContextOptions]>([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['colours of the system', SYSTEM_COLOURS],
])('in the %s', (_, colours) => {
  it('the question for a key can be read, that it was wrong, an empty day, a wrong address, and that nothing answers', async () => {
    const reader = await open({ key: 'wrong', search: '?date=2020-02-20&camera_id=&camera=x', browser: colours });
    const { page } = reader;
    await page.getByText('The service did not accept this key.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByLabel('Function key').fill(KEY);
    await page.keyboard.press('Enter');
    await reader.settled();
    await page.getByText('Nothing in this time.').first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await service.stop();
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText('The service does not answer.').waitFor();
    const violations = await axeViolations(page);
    await service.start();

    expect(violations).toEqual([]);
    await reader.leave();
  });
});

it('asks whether a notification is to be stopped so that everybody can read it', async () => {
  const reader = await open({ browser: { viewport: { width: 320, height: 640 } } });
  const { page } = reader;
  await page.getByRole('button', { name: /Confirmed fire/ }).click();
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.getByRole('dialog').waitFor();

  expect(await axeViolations(page)).toEqual([]);
  await reader.leave();
});

it('is printed without buttons, and with whole tables', async () => {
  const reader = await open({ search: `?date=${YESTERDAY}&tz=utc` });
  const { page } = reader;
  await reader.settled();
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(() => page.locator('.cameras tbody tr').count()).toBeGreaterThan(20);
  await page.emulateMedia({ media: 'print' });

  expect(await page.locator('button.button:visible, nav:visible').count()).toBe(0);
  const heights: unknown = await page
    .locator('.scroll:has(.cameras)')
    .evaluate((region) => [region.scrollHeight, region.clientHeight]);
  expect(
    z
      .tuple([z.number(), z.number()])
      .parse(heights)
      .reduce((a, b) => a - b),
  ).toBeLessThanOrEqual(1);
  await reader.leave();
});

describe('with the keyboard alone', () => {
  it('a person gives the key, goes to another day, opens a notification and reads a table', async () => {
    const reader = await open({ key: undefined, search: '?tz=utc' });
    const { page } = reader;
    const { keyboard } = page;
    const focused = async (): Promise<string> =>
      z
        .string()
        .parse(
          await page.evaluate(
            "document.activeElement === document.body ? '' : (document.activeElement.ariaLabel || document.activeElement.textContent).trim()",
          ),
        );
    /** Presses Tab until the focus is where it should be, as somebody without a mouse does. */
    const tabTo = async (wanted: RegExp): Promise<void> => {
      for (let presses = 0; presses < 120; presses += 1) {
        await keyboard.press('Tab');
        if (wanted.test(await focused())) return;
      }
      throw new Error(`The focus never came to ${String(wanted)}.`);
    };
    await page.getByLabel('Function key').waitFor();
    await keyboard.type(KEY);
    await keyboard.press('Enter');
    await reader.settled();
    // Whoever gave the key goes on at the figures.
    expect(await focused()).toMatch(/^Today, /);
    await page.evaluate('document.activeElement.blur()');

    await tabTo(/^Skip to the figures/);
    await keyboard.press('Enter');
    expect(await focused()).toMatch(/^Today, /);
    await page.reload();
    await reader.settled();
    await tabTo(/^Earlier day/);
    await keyboard.press('Enter');
    await expect.poll(() => reader.figure('total_events').innerText()).toBe('807');
    expect(await focused()).toBe('Earlier day');

    await tabTo(/^Confirmed fire/);
    await keyboard.press('Enter');
    await page.locator('.recipients').first().waitFor();
    expect(await page.getByRole('button', { name: 'Confirmed fire' }).getAttribute('aria-expanded')).toBe('true');
    await tabTo(/^Table of ai detections/);
    await keyboard.press('Enter');
    await page.getByRole('table', { name: 'AI detections per hour' }).waitFor();
    await tabTo(/^ridge-/);
    await reader.leave();
  });
});

it('follows the reader’s system from light to dark and back, the plots too', async () => {
  const reader = await open({ search: `?date=${YESTERDAY}`, browser: { colorScheme: 'light' } });
  await reader.settled();
  const { page } = reader;
  const colour = async (): Promise<string> =>
    z.string().parse(await page.evaluate("getComputedStyle(document.querySelector('.bars path.apart')).fill"));
  const light = await colour();
  await reader.page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(colour).not.toBe(light);
  await reader.page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(colour).toBe(light);
  await reader.leave();
});
