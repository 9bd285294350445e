import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

import { launchBrowser } from '../../../infra/browser.ts';
import { FIRST_REFUSAL, openPage, type Reader } from './reader.ts';
import type { Target } from './target.ts';

/** What the tests of a file share. */
export interface BrowserStage {
  readonly browser: Browser;
  readonly target: Target;
}

/** Starts a browser and what its pages ask before the tests of a file, and ends both after them. */
export const setBrowserStage = (start: () => Promise<Target>): BrowserStage => {
  let browser: Browser;
  let target: Target;
  beforeAll(async () => {
    [browser, target] = await Promise.all([launchBrowser(), start()]);
  });
  afterAll(async () => {
    await browser.close();
    await target.close();
  });
  return {
    get browser() {
      return browser;
    },
    get target() {
      return target;
    },
  };
};

/** Opens the page with a query as a person who has the key does, and waits until it shows everything. */
export const openWithKey = async ({ browser, target: { url, key } }: BrowserStage, search = ''): Promise<Reader> => {
  const reader = await openPage(browser, { url, key, search, expectedErrors: FIRST_REFUSAL });
  await reader.settled();
  return reader;
};
