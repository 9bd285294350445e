/**
 * `npm run screenshot`: takes a picture of the dashboard of a running service, as a person sees it. Without options, the picture in
 * the README: `npm start`, `npm run demo` and then this.
 */
import { setTimeout as delay } from 'node:timers/promises';

import type { Page } from 'playwright-core';
import { z } from 'zod';

import { launchBrowser } from './browser.ts';
import { type Command, CommandError, runCommand } from './command-line.ts';

interface ScreenshotOptions {
  readonly url: URL;
  readonly date: string;
  readonly out: string;
  readonly theme: 'light' | 'dark';
  readonly width: number;
  readonly full: boolean;
}

const DAY_MILLISECONDS = 86_400_000;
const HEIGHT = 812;

/** Most that the page may take until it shows everything. */
const PAGE_MILLISECONDS = 30_000;

const SCREENSHOT: Command<ScreenshotOptions> = {
  help: `npm run screenshot -- [--url URL] [--date YYYY-MM-DD] [--out FILE] [--theme light|dark] [--width N] [--full]
  Takes a picture of the dashboard of a running service, PNG.
  --url URL          the service, without /api; http://localhost:7071 by default
  --date YYYY-MM-DD  the UTC day to show; yesterday by default, which npm run demo fills
  --out FILE         where the picture goes; src/dashboard/screenshot.png by default, the one in the README
  --theme THEME      light or dark; light by default
  --width N          of the window, 320 to 3840 pixels; 1280 by default
  --full             the whole page, not only what fits the window`,
  options: {
    url: { type: 'string', default: 'http://localhost:7071' },
    date: { type: 'string', default: new Date(Date.now() - DAY_MILLISECONDS).toISOString().slice(0, 10) },
    out: { type: 'string', default: 'src/dashboard/screenshot.png' },
    theme: { type: 'string', default: 'light' },
    width: { type: 'string', default: '1280' },
    full: { type: 'boolean' },
  },
  values: z.object({
    url: z
      .url({ protocol: /^https?$/, error: ({ input }) => `${String(input)} is not a URL.` })
      .transform((text) => new URL(text)),
    date: z.iso.date({ error: ({ input }) => `${String(input)} is not a date.` }),
    out: z.string().min(1, '--out needs a file.'),
    theme: z.enum(['light', 'dark'], { error: ({ input }) => `${String(input)} is no theme: light or dark.` }),
    width: z
      .string()
      .refine((text) => /^\d{3,4}$/.test(text) && Number(text) >= 320 && Number(text) <= 3_840, {
        error: ({ input }) => `${String(input)} is no width from 320 to 3840.`,
      })
      .transform(Number),
    full: z.boolean().default(false),
  }),
};

/** Waits until every part of the page shows an answer. */
const settled = async (page: Page): Promise<void> => {
  const end = performance.now() + PAGE_MILLISECONDS;
  const isSettled = async (): Promise<boolean> =>
    (await page.getByText(/^Updated \d\d:\d\d:\d\d UTC/).count()) > 0 &&
    (await page.locator('[aria-busy=true]').count()) === 0;
  while (!(await isSettled())) {
    if ((await page.getByLabel('Function key').count()) > 0) throw new CommandError('This service asks for a key.');
    if (performance.now() > end) throw new CommandError('The page did not get its answers in time.');
    await delay(100);
  }
};

const screenshot = async ({ url, date, out, theme, width, full }: ScreenshotOptions): Promise<void> => {
  const address = `${url.href.replace(/\/+$/, '')}/api/dashboard?date=${date}`;
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({
      // The picture does not depend on the machine that takes it.
      locale: 'en-US',
      timezoneId: 'America/Los_Angeles',
      colorScheme: theme,
      viewport: { width, height: HEIGHT },
    });
    await page.goto(address).catch((error: unknown) => {
      throw new CommandError(`Nothing answers at ${address}. Start the service with "npm start".`, { cause: error });
    });
    await settled(page);
    await page.screenshot({ path: out, fullPage: full, animations: 'disabled' });
    console.log(`${address}\n${out}`);
  } finally {
    await browser.close();
  }
};

await runCommand(SCREENSHOT, screenshot);
