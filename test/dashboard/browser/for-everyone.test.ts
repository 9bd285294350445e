import axe from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';

import { before, missed, notification, person, YESTERDAY } from '../answers.ts';
import { demoDays, hostileFrames } from './activity.ts';
import { type Reader, setStage } from './stage.ts';

const KEY = 'everyone';

const stage = setStage([...demoDays(), ...hostileFrames()]);

const MISSED_CALL = { placed_at: before(50), ended_at: before(20), outcome: 'no_answer', code: 480, sub_code: 560_480 };

beforeEach(() => {
  stage.service.notifications = [
    notification('running', {
      confirmations_needed: 1,
      details: 'North ridge, mile 4',
      reference: 'bear-creek https://example.org/1',
      recipients: [
        person('10', 'not_reached', { name: 'Ana', wave: 1, attempts: [MISSED_CALL] }),
        person('11', 'waiting', { wave: 1, reason: 'no answer', since: before(58), next_attempt_at: before(-2) }),
        person('12', 'ringing', { wave: 2, attempts: [{ placed_at: before(8) }] }),
      ],
    }),
    missed('missed', { alert_type: 'ReportOfFire', acknowledged_by: 'Ana', acknowledged_at: before(9) }),
    missed('<img src=x onerror="window.harmed=1">/../?a=b#c', { reference: '<script>window.harmed=1</script>' }),
    notification('heard', { status: 'completed', recipients: [person('55', 'heard')] }),
  ];
});

const found = z.object({
  violations: z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) })),
});

/** The findings of axe: each rule with the elements that break it. */
const violationsOf = async ({ page }: Reader, runOnly?: string[]): Promise<readonly string[]> => {
  if (!z.boolean().parse(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  // Axe waits for timers.
  await page.clock.resume();
  const options = { resultTypes: ['violations'], selectors: false, preload: false, runOnly };
  const { violations } = found.parse(await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
};

const THEMES: readonly Parameters<Page['emulateMedia']>[0][] = [
  { colorScheme: 'light' },
  { colorScheme: 'dark' },
  { colorScheme: 'dark', forcedColors: 'active' },
];

/** Themes differ in colors only. */
const expectReadable = async (reader: Reader): Promise<void> => {
  for (const [index, theme] of THEMES.entries()) {
    await reader.page.emulateMedia({ forcedColors: 'none', ...theme });
    expect(await violationsOf(reader, index === 0 ? undefined : ['color-contrast']), JSON.stringify(theme)).toEqual([]);
  }
};

/** Eight steps of a series. */
const AFTERNOON = `ts_utc_start=${YESTERDAY}T12:00:00Z&ts_utc_end=${YESTERDAY}T19:59:59.999999Z`;
const PHONE: BrowserContextOptions = { viewport: { width: 320, height: 640 } };

it('with all parts open, the page is readable in every theme, on a phone, at a desk, on a wall, and at 200 %', async () => {
  const reader = await stage.open(`?${AFTERNOON}&notification=running`, PHONE);
  const { page } = reader;
  await page.getByText('Range…').click();
  for (const summary of await page.locator('.ids summary, .numbers summary').all()) await summary.click();
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

it('the page is readable with a wrong key, without data, without an answer, and with an open dialog', async () => {
  stage.service.key = KEY;
  const reader = await stage.visit({ key: 'wrong', search: '?date=2020-02-20&camera_id=&camera=x', browser: PHONE });
  const { page } = reader;
  expect(await page.getByText('The service did not accept this key.').count()).toBe(1);
  expect(await violationsOf(reader)).toEqual([]);
  await reader.giveKey(KEY);
  expect(await page.getByText('Nothing in this time.').count()).toBe(4);
  stage.service.instead = () => 'away';
  await reader.press('Refresh');
  expect(await page.locator('.attention').innerText()).toContain('The service does not answer.');
  await expectReadable(reader);
  stage.service.instead = () => undefined;
  await reader.press('Refresh');
  expect(await page.locator('.page-status.green').count()).toBe(1);
  await reader.press(/Confirmed fire/);
  await reader.press('Stop…');
  expect(await page.getByRole('dialog').count()).toBe(1);
  expect(await violationsOf(reader)).toEqual([]);
});

it('paper has no buttons: the time of the answers, alerts, figures and plots on two pages, then whole lists', async () => {
  const { page } = await stage.open('?tz=utc', { viewport: { width: 700, height: 990 } });
  await page.emulateMedia({ media: 'print' });
  expect(await page.locator('button.button:visible, nav:visible, input:visible').count()).toBe(0);
  expect(await page.getByText('As of 21 Nov 12:00:00 UTC.').isVisible()).toBe(true);
  const bottomOf = async (part: string): Promise<number> => {
    const { y = 0, height = Infinity } = (await page.locator(part).last().boundingBox()) ?? {};
    return y + height;
  };
  // A page of A4 has some 1,000 pixels.
  expect(await bottomOf('.plot')).toBeLessThan(2_000);
  expect(await bottomOf('.cameras')).toBeGreaterThan(await bottomOf('.plot'));
  const hidden = await page.locator('.scroll:has(.cameras)').evaluate((each) => each.scrollHeight - each.clientHeight);
  expect(hidden).toBeLessThanOrEqual(1);
});

it('with the keyboard alone, a reader gives the key, goes to another day, opens a notification and a table', async () => {
  stage.service.key = KEY;
  const { page, settled } = await stage.visit({ search: '?tz=utc' });
  const { keyboard } = page;
  const FOCUSED =
    "document.activeElement === document.body ? '' : (document.activeElement.ariaLabel || document.activeElement.textContent).trim()";
  const focused = async (): Promise<string> => String(await page.evaluate(FOCUSED));
  const tabTo = async (wanted: RegExp, key = 'Tab'): Promise<void> => {
    for (let presses = 0; presses < 120; presses += 1) {
      await keyboard.press(key);
      if (wanted.test(await focused())) return;
    }
    throw new Error(`The focus never came to ${String(wanted)}.`);
  };
  const enter = async (): Promise<void> => {
    await keyboard.press('Enter');
    await settled();
  };
  await page.getByLabel('Function key').waitFor();
  await keyboard.type(KEY);
  await enter();
  expect(await focused()).toMatch(/^Today, /);
  await page.reload();
  await settled();
  await tabTo(/^Skip to the figures/);
  await enter();
  expect(await focused()).toMatch(/^Today, /);
  await tabTo(/^Earlier day/, 'Shift+Tab');
  await enter();
  expect(await page.locator('#shown').innerText()).toBe('Friday 20 November 2026 UTC');
  expect(await focused()).toBe('Earlier day');
  await tabTo(/^Confirmed fire/);
  await enter();
  expect(await page.locator('.notification[aria-expanded=true]').innerText()).toContain('Confirmed fire');
  await tabTo(/^Table of ai detections/);
  await enter();
  await page.getByRole('table', { name: 'AI detections per 30 minutes' }).waitFor();
  await tabTo(/^bear-creek/);
});
