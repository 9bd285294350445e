import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';

import { launchBrowser } from '../../../infra/browser.ts';
import type { StandIn } from '../stand-in/service.ts';
import { FIRST_REFUSAL, openPage, type Reader, type ReaderOptions } from './reader.ts';
import { startStandIn, type Target } from './target.ts';

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

/** A browser and the stand-in of the service, for what cannot be made to happen in the service itself on demand. */
export interface StandInStage {
  readonly browser: Browser;
  readonly service: StandIn;
  /** Opens the page and waits until it shows everything; it is left after the test. */
  open(search?: string, options?: Partial<ReaderOptions>): Promise<Reader>;
}

/** Starts both before the tests of a file, and ends them after them. */
export const setStandInStage = (fill: (service: StandIn) => void): StandInStage => {
  let browser: Browser;
  let service: StandIn;
  let close: () => Promise<void>;
  const readers: Reader[] = [];
  beforeAll(async () => {
    [browser, { service, close }] = await Promise.all([launchBrowser(), startStandIn(undefined)]);
    fill(service);
  });
  afterEach(async () => {
    for (const reader of readers.splice(0)) await reader.leave();
  });
  afterAll(async () => {
    await browser.close();
    await close();
  });
  return {
    get browser() {
      return browser;
    },
    get service() {
      return service;
    },
    open: async (search = '', options = {}) => {
      const reader = await openPage(browser, { url: service.url, key: service.key, search, ...options });
      readers.push(reader);
      await reader.settled();
      return reader;
    },
  };
};
