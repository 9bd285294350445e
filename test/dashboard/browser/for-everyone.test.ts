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
  await page.getByText('call-33').waitFor();
  await page.getByText('Range…').click();
  for (const summary of await page.locator('.ids summary, .numbers summary').all()) await summary.click();
  await expect.poll(() => page.locator('.numbers table').count()).toBe(4);
};

const SCREENS = [
  ['a phone', { viewport: { width: 360, height: 740 } }],
  ['a wall', { viewport: { width: 1_920, height: 1_080 } }],
] as const satisfies readonly (readonly [string, BrowserContextOptions])[];

describe.each(['light', 'dark'] as const)('in the %s', (colorScheme) => {
  it.each(SCREENS)('everything can be read on %s', async (_, screen) => {
    const reader = await open({ search: `?date=${YESTERDAY}`, browser: { ...screen, colorScheme } });
    await openAll(reader);

    expect(await axeViolations(reader.page)).toEqual([]);
    expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(screen.viewport.width);
    await reader.leave();
  });

  it('the question for a key can be read, and that it was wrong', async () => {
    const reader = await open({ key: 'wrong', browser: { colorScheme } });
    await reader.page.getByText('The service did not accept this key.').waitFor();

    expect(await axeViolations(reader.page)).toEqual([]);
    await reader.leave();
  });

  it('an empty day can be read, and an address that is wrong', async () => {
    const reader = await open({ search: '?date=2020-02-20&camera_id=', browser: { colorScheme } });
    await reader.settled();
    await reader.page.getByText('Nothing in this time.').first().waitFor();

    expect(await axeViolations(reader.page)).toEqual([]);
    await reader.leave();
  });

  it('a service that does not answer can be read', async () => {
    const reader = await open({ browser: { colorScheme } });
    await reader.settled();
    await service.stop();
    await reader.page.getByRole('button', { name: 'Refresh' }).click();
    await reader.page.getByText('The service does not answer.').waitFor();
    const violations = await axeViolations(reader.page);
    await service.start();

    expect(violations).toEqual([]);
    await reader.leave();
  });
});

describe('with the keyboard alone', () => {
  it('a person gives the key, goes to another day, opens a notification and reads a table', async () => {
    const reader = await open({ key: undefined });
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
      for (let presses = 0; presses < 80; presses += 1) {
        await keyboard.press('Tab');
        if (wanted.test(await focused())) return;
      }
      throw new Error(`The focus never came to ${String(wanted)}.`);
    };
    await page.getByLabel('Function key').waitFor();
    await keyboard.type(KEY);
    await keyboard.press('Enter');
    await reader.settled();
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

    await tabTo(/^Table of ai detections/);
    await keyboard.press('Enter');
    await page.getByRole('table', { name: 'AI detections per hour' }).waitFor();
    await tabTo(/^ridge-/);
    await tabTo(/^Confirmed fire/);
    await keyboard.press('Enter');
    await page.getByText('call-33').waitFor();
    expect(await page.getByRole('button', { name: 'Confirmed fire' }).getAttribute('aria-expanded')).toBe('true');
    await reader.leave();
  });
});

it('follows the reader’s system from light to dark and back, the plots too', async () => {
  const reader = await open({ search: `?date=${YESTERDAY}`, browser: { colorScheme: 'light' } });
  await reader.settled();
  const swatch = reader.page.locator('.legend .swatch').first();
  const light = await swatch.getAttribute('style');
  await reader.page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(() => swatch.getAttribute('style')).not.toBe(light);
  await reader.page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(() => swatch.getAttribute('style')).toBe(light);
  await reader.leave();
});

it('is there on a machine that names no language', async () => {
  // Without a locale of its own, the browser takes the machine's: on a bare system, one that does not exist.
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.addInitScript("Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })");
  await page.goto(`${service.url}/api/dashboard`);
  await page.getByLabel('Function key').fill(KEY);
  await page.keyboard.press('Enter');
  await page.locator('.canvas canvas').first().waitFor();
  await page.close();

  expect(errors).toEqual([]);
});
