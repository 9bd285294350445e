import axe from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { demoDays, hostileFrames, YESTERDAY } from './activity.ts';
import { type Reader, setStage } from './stage.ts';
import { HARMFUL, MISSED, RUNNING, WAVES } from './stories.ts';

const KEY = 'everyone';

const stage = setStage([...demoDays(), ...hostileFrames()]);

beforeEach(() => {
  stage.service.notifications = [RUNNING, MISSED, HARMFUL, WAVES];
});

const found = z.object({
  violations: z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) })),
});

/** Everything that axe finds: rule, and the elements that break it. */
const violationsOf = async ({ page }: Reader, runOnly?: string[]): Promise<readonly string[]> => {
  if (!z.boolean().parse(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  // It waits for timers. Rounds that begin by themselves meanwhile find nothing new.
  await page.clock.resume();
  // What is well made is not described: that takes most of the time.
  const options = { resultTypes: ['violations'], selectors: false, preload: false, runOnly };
  const { violations } = found.parse(await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
};

const THEMES: readonly Parameters<Page['emulateMedia']>[0][] = [
  { colorScheme: 'light' },
  { colorScheme: 'dark' },
  { colorScheme: 'dark', forcedColors: 'active' },
];

/** What is on the page now is well made, and can be read in every theme: colours are all that differs between them. */
const expectReadable = async (reader: Reader): Promise<void> => {
  for (const [index, theme] of THEMES.entries()) {
    await reader.page.emulateMedia({ forcedColors: 'none', ...theme });
    expect(await violationsOf(reader, index === 0 ? undefined : ['color-contrast']), JSON.stringify(theme)).toEqual([]);
  }
};

/** Eight steps of a series. */
const AFTERNOON = `ts_utc_start=${YESTERDAY}T12:00:00Z&ts_utc_end=${YESTERDAY}T19:59:59.999999Z`;
const PHONE: BrowserContextOptions = { viewport: { width: 320, height: 640 } };

describe('everything can be read', () => {
  it('on a small phone, a wall screen, and at a desk at 400 and at 200 per cent, in every theme, when all is open', async () => {
    const reader = await stage.open(`?${AFTERNOON}&notification=running`, PHONE);
    const { page } = reader;
    await page.getByText('Range…').click();
    for (const summary of await page.locator('.ids summary, .numbers summary').all()) {
      await summary.click();
    }
    await expect.poll(() => page.locator('.numbers table').count()).toBe(4);
    await page.locator('.camera-ids li').first().waitFor();

    await expectReadable(reader);
    for (const width of [320, 640, 1_920]) {
      await page.setViewportSize({ width, height: 640 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    await page.evaluate("document.documentElement.style.fontSize = '200%'");
    expect(await page.evaluate('document.documentElement.scrollWidth'), 'text of twice the size').toBe(390);
  });

  it('when the key was wrong, on an empty day, in a wrong address, when nothing answers, before a notification is stopped', async () => {
    stage.service.key = KEY;
    const reader = await stage.visit({ key: 'wrong', search: '?date=2020-02-20&camera_id=&camera=x', browser: PHONE });
    const { page } = reader;
    expect(await page.getByText('The service did not accept this key.').count()).toBe(1);
    await expectReadable(reader);

    await reader.giveKey(KEY);
    expect(await page.getByText('Nothing in this time.').count()).toBe(4);
    expect(await page.getByText(/^No camera sent a frame (in this time|on this day)\./).count()).toBe(2);
    expect(await reader.count('total_events')).toBe(0);
    stage.service.isAway = true;
    await reader.press('Refresh');
    expect(await reader.strip.innerText()).toContain('The service does not answer.');
    await expectReadable(reader);

    stage.service.isAway = false;
    await reader.press('Refresh');
    expect(await page.locator('.page-status.green').count()).toBe(1);
    await reader.press(/Confirmed fire/);
    await reader.press('Stop…');
    expect(await page.getByRole('dialog').count()).toBe(1);
    await expectReadable(reader);
  });

  it('on paper, without buttons: as of when, alerts, figures and plots on two pages, then whole lists', async () => {
    const { page } = await stage.open('?tz=utc', { viewport: { width: 700, height: 990 } });
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('button.button:visible, nav:visible').count()).toBe(0);
    expect(await page.getByText('As of 21 Nov 12:00:00 UTC.').isVisible()).toBe(true);
    const bottomOf = async (part: string): Promise<number> => {
      const { y = 0, height = Infinity } = (await page.locator(part).last().boundingBox()) ?? {};
      return y + height;
    };
    // A page of A4 has some 1,000 pixels.
    expect(await bottomOf('.plot')).toBeLessThan(2_000);
    expect(await bottomOf('.cameras')).toBeGreaterThan(await bottomOf('.plot'));
    const hidden: unknown = await page
      .locator('.scroll:has(.cameras)')
      .evaluate((region) => region.scrollHeight - region.clientHeight);
    expect(hidden).toBeLessThanOrEqual(1);
  });
});

it('with the keyboard alone, a person gives the key, goes to another day, opens a notification and reads a table', async () => {
  stage.service.key = KEY;
  const { page, settled } = await stage.visit({ search: '?tz=utc' });
  const { keyboard } = page;
  const focused = async (): Promise<string> =>
    String(
      await page.evaluate(
        "document.activeElement === document.body ? '' : (document.activeElement.ariaLabel || document.activeElement.textContent).trim()",
      ),
    );
  /** Presses Tab until the focus is where it should be, as somebody without a mouse does. */
  const tabTo = async (wanted: RegExp, key = 'Tab'): Promise<void> => {
    for (let presses = 0; presses < 120; presses += 1) {
      await keyboard.press(key);
      if (wanted.test(await focused())) return;
    }
    throw new Error(`The focus never came to ${String(wanted)}.`);
  };
  await page.getByLabel('Function key').waitFor();
  await keyboard.type(KEY);
  await keyboard.press('Enter');
  await settled();
  // Whoever gave the key goes on at the figures.
  expect(await focused()).toMatch(/^Today, /);
  await page.reload();
  await settled();
  await tabTo(/^Skip to the figures/);
  await keyboard.press('Enter');
  expect(await focused()).toMatch(/^Today, /);
  await tabTo(/^Earlier day/, 'Shift+Tab');
  await keyboard.press('Enter');
  await settled();
  expect(await page.locator('#shown').innerText()).toBe('Friday 20 November 2026 UTC');
  expect(await focused()).toBe('Earlier day');
  await tabTo(/^Confirmed fire/);
  await keyboard.press('Enter');
  await settled();
  expect(await page.getByRole('button', { name: 'Confirmed fire' }).getAttribute('aria-expanded')).toBe('true');
  await tabTo(/^Table of ai detections/);
  await keyboard.press('Enter');
  await page.getByRole('table', { name: 'AI detections per 30 minutes' }).waitFor();
  await tabTo(/^bear-creek/);
});
