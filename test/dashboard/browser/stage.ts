import type { Browser, BrowserContextOptions, Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { z } from 'zod';

import { launchBrowser } from '../../../infra/browser.ts';
import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import { NOON } from './activity.ts';
import { PageService } from './service.ts';

let launched: Promise<Browser> | undefined;

/** One browser for all files that a process runs; it ends with the process. */
export const sharedBrowser = async (): Promise<Browser> => (launched ??= launchBrowser());

/** In the page: what its policy forbade. An id that becomes code sets `harmed`. */
const WATCH = `
  window.violations = [];
  addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));
`;

/** How a person looks at the page. */
interface ReaderOptions {
  /** The page's query. */
  readonly search?: string;
  /** Given where the page asks for it; undefined: the person has none. */
  readonly key?: string | undefined;
  readonly browser?: BrowserContextOptions;
}

/** A person in front of the page. */
export type Reader = Awaited<ReturnType<typeof openReader>>;

/** Opens the page as a person in Los Angeles does, at noon UTC by the page's clock, which goes on from there and can be moved on. */
export const openReader = async (url: string, { search = '', key, browser = {} }: ReaderOptions = {}) => {
  const context = await (
    await sharedBrowser()
  ).newContext({
    locale: 'en-US',
    timezoneId: 'America/Los_Angeles',
    viewport: { width: 1280, height: 900 },
    ...browser,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // A failed request is noted by the browser, whatever the page makes of it.
    if (!message.text().startsWith('Failed to load resource')) errors.push(message.text());
  });
  const figure = (fact: string): Locator => page.locator(`[data-fact="${fact}"]`);
  const answeredAt = async (): Promise<string | null> => page.locator('.refresh .words').getAttribute('title');
  const giveKey = async (given: string): Promise<void> => {
    await page.getByLabel('Function key').fill(given);
    await page.keyboard.press('Enter');
  };
  await page.clock.install({ time: NOON });
  await page.addInitScript(WATCH);
  await page.goto(`${url}/api/dashboard${search}`);
  if (key !== undefined) await giveKey(key);
  return {
    page,
    giveKey,
    /** One of the figures: `total_events` and so on. */
    figure,
    /** Waits until a figure is shown. */
    shows: async (fact: string, count: number) => {
      await expect.poll(() => figure(fact).innerText()).toBe(count.toLocaleString('en-US'));
    },
    /** What is said of the whole page: that the service does not answer. */
    banner: page.locator('main .banner [role=status]'),
    /** The page's query. */
    search: () => new URL(page.url()).search,
    /** When the service last answered a whole round. */
    answeredAt,
    /** Waits until every part of the page shows an answer. */
    settled: async () => {
      await page.getByText(/^Updated \d+ /).waitFor();
      // Not `waitForFunction`: it evaluates text in the page, which the page's policy forbids.
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
    },
    /** The page's clock stands still from a time on, after the round that is then due. */
    standStill: async (at: number) => {
      await page.clock.pauseAt(at);
      await page.getByText('Updated 0 s ago').waitFor();
    },
    /** Time passes, and the round that it brings is over. */
    nextRound: async (milliseconds: number = PACE.live) => {
      const before = await answeredAt();
      await page.clock.fastForward(milliseconds);
      await expect.poll(answeredAt).not.toBe(before);
    },
    /** Closes the page, and fails where it wrote to the console, threw an error, or broke its policy. */
    leave: async () => {
      const policy: unknown = await page.evaluate('[violations, window.harmed]');
      await context.close();
      expect(policy, 'violations of the policy, and whether an id became code').toEqual([[], undefined]);
      expect(errors, 'the console').toEqual([]);
    },
  };
};

/** What the tests of a file share. */
export interface Stage {
  readonly service: PageService;
  /** Opens the page; it is left after the test. */
  visit(options?: ReaderOptions): Promise<Reader>;
  /** The same as a person who has the key does, and waits until it shows everything. */
  open(search?: string, browser?: BrowserContextOptions): Promise<Reader>;
}

/** A service for the tests of a file. After each, everything is as it was, but for what was recorded. */
export const setStage = (fill: (service: PageService) => unknown = () => undefined): Stage => {
  let service: PageService;
  const readers: Reader[] = [];
  beforeAll(async () => {
    service = await PageService.start();
    await fill(service);
  });
  afterEach(async () => {
    for (const reader of readers.splice(0)) await reader.leave();
    Object.assign(service, { key: undefined, hasPhone: true, broken: undefined, held: undefined });
  });
  afterAll(() => service.stop());
  const visit: Stage['visit'] = async (options) => {
    const reader = await openReader(service.url, options);
    readers.push(reader);
    return reader;
  };
  return {
    get service() {
      return service;
    },
    visit,
    open: async (search = '', browser = {}) => {
      const reader = await visit({ search, key: service.key, browser });
      await reader.settled();
      return reader;
    },
  };
};

const cells = z.array(z.array(z.string()));

/** A table of the page, as texts: rows of cells. */
export const cellsOf = async (table: Locator): Promise<readonly (readonly string[])[]> =>
  cells.parse(
    await table
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.trim()))),
  );
