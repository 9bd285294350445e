import { setTimeout as delay } from 'node:timers/promises';

import type { Page } from 'playwright-core';

import { CommandError } from '../command-line.ts';
import { simulatorOf } from '../start/run-directory.ts';
import { launchBrowser } from './browser.ts';
import { placeDemoAlerts } from './demo-alerts.ts';

const WINDOW_HEIGHT = 812;

/** Most that the page may take until it shows everything. */
const PAGE_MILLISECONDS = 30_000;

/** Waits until every part of the page shows an answer. */
const settled = async (page: Page, what: string): Promise<void> => {
  console.error(`Waiting for ${what} …`);
  const end = performance.now() + PAGE_MILLISECONDS;
  const isSettled = async (): Promise<boolean> =>
    (await page.getByText(/^Updated \d+ /).count()) > 0 && (await page.locator('[aria-busy=true]').count()) === 0;
  while (!(await isSettled())) {
    if (performance.now() > end) {
      throw new CommandError(`After ${PAGE_MILLISECONDS / 1_000} s still waiting for ${what}.`);
    }
    await delay(100);
  }
};

/** Asks the service as the page will. @throws {CommandError} if it does not answer, or answers nobody without a key */
const demandAnswer = async (base: string, address: string): Promise<void> => {
  const { status } = await fetch(`${base}/api/analytics?active_camera_ids=false`).catch((error: unknown) => {
    throw new CommandError(`Nothing answers at ${address}. Start the service with "npm start".`, { cause: error });
  });
  if (status === 401) throw new CommandError('This service asks for a key.');
};

/** What is to be on the picture, and where it goes. */
export interface Picture {
  /** The service, without `/api`. */
  readonly url: URL;
  /** The UTC day to show. */
  readonly date: string;
  /** The file. */
  readonly out: string;
  readonly theme: 'light' | 'dark';
  /** Of the window, in pixels. */
  readonly width: number;
  /** Of the picture; undefined: the whole page. */
  readonly height?: number | undefined;
}

/**
 * Takes the picture. If it is of a local run, its simulator phones some people first.
 *
 * @throws {CommandError} if the service does not answer, asks for a key, or leaves a question of the page open
 */
export const takePicture = async ({ url, date, out, theme, width, height }: Picture): Promise<void> => {
  const base = url.href.replace(/\/+$/, '');
  const address = `${base}/api/dashboard?date=${date}&tz=utc`;
  await demandAnswer(base, address);
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
    await page.goto(address);
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
