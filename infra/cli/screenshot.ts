/**
 * Takes the picture of the README: run `npm start`, `npm run demo`, and then `node --import tsx infra/cli/screenshot.ts [URL]`. The simulated phone
 * of that run places some calls first.
 */
import { setTimeout as delay } from 'node:timers/promises';

import type { Page } from 'playwright-core';

import { launchBrowser } from './screenshot/browser.ts';
import { placeDemoAlerts } from './screenshot/demo-alerts.ts';
import { simulatorOf } from './start/run-directory.ts';

const DAY_MS = 86_400_000;
const PAGE_MS = 30_000;
const FILE = 'src/dashboard/screenshot.png';

const settled = async (page: Page): Promise<void> => {
  const end = performance.now() + PAGE_MS;
  const isSettled = async (): Promise<boolean> =>
    (await page.getByText(/^Updated \d+ /).count()) > 0 && (await page.locator('[aria-busy=true]').count()) === 0;
  while (!(await isSettled())) {
    if (performance.now() > end) throw new Error(`The page has open questions after ${PAGE_MS / 1_000} s.`);
    await delay(100);
  }
};

const url = new URL(process.argv[2] ?? 'http://localhost:7071');
// No real phone may ring for a picture.
if ((await simulatorOf(url)) === undefined) throw new Error(`${url.href} is no local run with a simulated phone.`);
await placeDemoAlerts(url.origin);
const browser = await launchBrowser();
try {
  const viewport = { width: 1_600, height: 812 };
  const page = await browser.newPage({ locale: 'en-US', timezoneId: 'America/Los_Angeles', viewport });
  const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
  await page.goto(`${url.origin}/api/dashboard?date=${yesterday}&tz=utc`);
  await settled(page);
  await page.locator('.notification').first().click();
  await settled(page);
  // The picture shows neither the pointer nor the focus, and begins at the head of the page.
  await page.mouse.move(0, 0);
  await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
  await page.screenshot({ path: FILE, fullPage: true, animations: 'disabled' });
  console.log(FILE);
} finally {
  await browser.close();
}
