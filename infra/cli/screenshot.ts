/**
 * `npm run screenshot`: takes a picture of the dashboard of a running service, as a person sees it. Without options, the picture in
 * the README: `npm start`, `npm run demo` and then this. A local run has people phoned by its simulator first: no picture without them.
 */
import { setTimeout as delay } from 'node:timers/promises';

import type { Page } from 'playwright-core';
import { z } from 'zod';

import { launchBrowser } from './screenshot/browser.ts';
import { CommandError, dayOption, numberOption, runCommand, urlOption } from './command-line.ts';
import { simulatorOf } from './start/run-directory.ts';
import { placeDemoAlerts } from './screenshot/demo-alerts.ts';

const DAY_MILLISECONDS = 86_400_000;
const WINDOW_HEIGHT = 812;

/** Most that the page may take until it shows everything. */
const PAGE_MILLISECONDS = 30_000;

const SCREENSHOT = {
  help: `npm run screenshot -- [--url URL] [--date YYYY-MM-DD] [--out FILE] [--theme light|dark] [--width N] [--height N]
  Takes a picture of the dashboard of a running service, PNG. Where that is a local run with a simulated phone, some people are
  phoned first, once a day, so that there are notifications to see, and the newest one is open.
  --url URL          the service, without /api; http://localhost:7071 by default
  --date YYYY-MM-DD  the UTC day to show; yesterday by default, which npm run demo fills
  --out FILE         where the picture goes; src/dashboard/screenshot.png by default, the one in the README
  --theme THEME      light or dark; light by default
  --width N          of the window, 320 to 3840 pixels; 1600 by default
  --height N         of the picture, 320 to 20000 pixels; the whole page by default`,
  options: {
    url: { type: 'string', default: 'http://localhost:7071' },
    date: { type: 'string', default: new Date(Date.now() - DAY_MILLISECONDS).toISOString().slice(0, 10) },
    out: { type: 'string', default: 'src/dashboard/screenshot.png' },
    theme: { type: 'string', default: 'light' },
    width: { type: 'string', default: '1600' },
    height: { type: 'string' },
  },
  values: z.object({
    url: urlOption,
    date: dayOption,
    out: z.string().min(1, '--out needs a file.'),
    theme: z.enum(['light', 'dark'], { error: ({ input }) => `${String(input)} is no theme: light or dark.` }),
    width: numberOption('width', 320, 3_840),
    height: numberOption('height', 320, 20_000).optional(),
  }),
} as const;

/** Waits until every part of the page shows an answer. */
const settled = async (page: Page, what: string): Promise<void> => {
  console.error(`Waiting for ${what} …`);
  const end = performance.now() + PAGE_MILLISECONDS;
  const isSettled = async (): Promise<boolean> =>
    (await page.getByText(/^Updated \d+ /).count()) > 0 && (await page.locator('[aria-busy=true]').count()) === 0;
  while (!(await isSettled())) {
    if ((await page.getByLabel('Function key').count()) > 0) throw new CommandError('This service asks for a key.');
    if (performance.now() > end) {
      throw new CommandError(`After ${PAGE_MILLISECONDS / 1_000} s still waiting for ${what}.`);
    }
    await delay(100);
  }
};

const screenshot = async ({
  url,
  date,
  out,
  theme,
  width,
  height,
}: z.infer<typeof SCREENSHOT.values>): Promise<void> => {
  const base = url.href.replace(/\/+$/, '');
  const address = `${base}/api/dashboard?date=${date}&tz=utc`;
  // No real phone may ring for a picture.
  const isDemo = (await simulatorOf(url)) !== undefined;
  if (isDemo) await placeDemoAlerts(base);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({
      // The picture does not depend on the machine that takes it.
      locale: 'en-US',
      timezoneId: 'America/Los_Angeles',
      colorScheme: theme,
      viewport: { width, height: height ?? WINDOW_HEIGHT },
    });
    await page.goto(address).catch((error: unknown) => {
      throw new CommandError(`Nothing answers at ${address}. Start the service with "npm start".`, { cause: error });
    });
    await settled(page, 'the answers to all questions of the page');
    if (isDemo) {
      await page.locator('.notification').first().click();
      await settled(page, 'the story of the newest notification');
      // The picture is of the page, not of where the pointer and the focus are; its head sticks to where the page is scrolled to.
      await page.mouse.move(0, 0);
      await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
    }
    await page.screenshot({ path: out, fullPage: height === undefined, animations: 'disabled' });
    console.log(`${address}\n${out}`);
  } finally {
    await browser.close();
  }
};

await runCommand(SCREENSHOT, screenshot);
