import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

import { NOON } from './target.ts';

/** How a person looks at the page. */
export interface ReaderOptions {
  readonly url: string;
  /** The page's query. */
  readonly search?: string;
  /** Given where the page asks for it; undefined: the person has none, or none is asked for. */
  readonly key?: string | undefined;
  readonly browser?: BrowserContextOptions;
  /** What the browser may write to the console as an error: a test that stops the service expects failed requests. */
  readonly expectedErrors?: RegExp;
}

/** A person in front of the page. */
export interface Reader {
  readonly page: Page;
  /** One of the figures: `total_events` and so on. */
  figure(fact: string): Locator;
  /** Waits until every part of the page shows an answer. */
  settled(): Promise<void>;
  /** Closes the page and fails where it wrote an error to the console, threw one, or broke its policy. */
  leave(): Promise<void>;
}

/** In the page: what its policy forbade, and whether an id has become code. */
const WATCH = `
  window.violations = [];
  addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));
`;

/** Opens the page as a person in Los Angeles does, at noon UTC by the page's clock, which goes on from there and can be moved on. */
export const openPage = async (browser: Browser, options: ReaderOptions): Promise<Reader> => {
  const context = await browser.newContext({
    locale: 'en-US',
    timezoneId: 'America/Los_Angeles',
    viewport: { width: 1280, height: 900 },
    ...options.browser,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    const text = `${message.text()} ${message.location().url}`;
    if (options.expectedErrors?.test(text) !== true) errors.push(text);
  });
  await page.clock.install({ time: NOON });
  await page.addInitScript(WATCH);
  await page.goto(`${options.url}/api/dashboard${options.search ?? ''}`);
  if (options.key !== undefined) {
    await page.getByLabel('Function key').fill(options.key);
    await page.keyboard.press('Enter');
  }
  return {
    page,
    figure: (fact) => page.locator(`[data-fact="${fact}"]`),
    settled: async () => {
      await page.getByText(/^Updated \d+ /).waitFor();
      // Not `waitForFunction`: it evaluates text in the page, which the page's policy forbids.
      await expect.poll(() => page.locator('[aria-busy=true]').count(), { timeout: 10_000 }).toBe(0);
    },
    leave: async () => {
      const violations: unknown = await page.evaluate('violations');
      const harmed: unknown = await page.evaluate('window.harmed');
      await context.close();
      expect(violations, 'violations of the policy').toEqual([]);
      expect(harmed, 'an id became code').toBeUndefined();
      expect(errors, 'errors in the console').toEqual([]);
    },
  };
};

/** The first question of a page without a key is refused: that is how it finds out that it needs one. */
export const FIRST_REFUSAL = /401 \(Unauthorized\)/;

/** A table of the page, as texts: rows of cells. */
export const cellsOf = async (table: Locator): Promise<readonly (readonly string[])[]> => {
  const rows: string[][] = [];
  for (const row of await table.locator('tbody tr').all()) {
    rows.push((await row.locator('th, td').allInnerTexts()).map((text) => text.trim()));
  }
  return rows;
};

/** As the page writes a number for a reader in the United States. */
export const grouped = (count: number): string => count.toLocaleString('en-US');
