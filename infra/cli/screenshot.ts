/** Takes the picture of the README: run `npm start`, `npm run demo`, and then `node --import tsx infra/cli/screenshot.ts [URL]`. */
import type { Page } from 'playwright-core';

import { launchBrowser } from './screenshot/browser.ts';

const DAY_MS = 86_400_000;
const FILE = 'src/dashboard/screenshot.png';

/** Waits until the page has asked all its questions, and has drawn the answers. */
const settled = async (page: Page): Promise<void> => {
  await page.getByText(/^Updated \d+ /).waitFor();
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
};

const { origin } = new URL(process.argv[2] ?? 'http://localhost:7071');
const browser = await launchBrowser();
try {
  const viewport = { width: 1_600, height: 812 };
  const page = await browser.newPage({ locale: 'en-US', timezoneId: 'America/Los_Angeles', viewport });
  const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
  await page.goto(`${origin}/api/dashboard?date=${yesterday}&tz=utc`);
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
