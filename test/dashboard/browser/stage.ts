import type { Browser, BrowserContextOptions, Locator } from 'playwright-core';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { z } from 'zod';

import { launchBrowser } from '../../../infra/cli/screenshot/browser.ts';
import { PACES } from '../../../src/dashboard/browser/model/refresh.ts';
import { MemoryStorage } from '../../analytics/counting.ts';
import { NOON } from '../answers.ts';
import { PageService } from './service.ts';

let launched: Promise<Browser> | undefined;

/** One browser for all files of a process; it ends with the process. */
export const sharedBrowser = async (): Promise<Browser> => (launched ??= launchBrowser());

/**
 * In the page: violations of its policy (an id that becomes code sets `harmed`), and its questions: how many it began, how many are open.
 * Between an answer and its drawing there are only microtasks: in a task without an open question, the page has drawn every answer and
 * set the timer of the next round.
 */
const WATCH = `
  window.violations = [];
  addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));
  const waiting = [];
  // A message does not wait for the clock of a test.
  const nextTask = async () => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(0);
  });
  window.questions = { begun: 0, open: 0, settled: async () => {
    await nextTask();
    while (questions.open > 0) {
      await new Promise((resolve) => waiting.push(resolve));
      await nextTask();
    }
    return questions.begun;
  } };
  for (const [owner, name] of [[window, 'fetch'], [Response.prototype, 'text']]) {
    const original = owner[name];
    owner[name] = async function (...given) {
      questions.begun += 1;
      questions.open += 1;
      try {
        return await original.apply(this, given);
      } finally {
        questions.open -= 1;
        if (questions.open === 0) for (const resolve of waiting.splice(0)) resolve();
      }
    };
  }
`;

interface ReaderOptions {
  /** The query of the page. */
  readonly search?: string;
  readonly key?: string | undefined;
  readonly browser?: BrowserContextOptions;
}

/** A person in front of the page. */
export type Reader = Awaited<ReturnType<typeof openReader>>;

/** Opens the page in Los Angeles. By its clock it is noon UTC, until {@link Reader.nextRound}. */
export const openReader = async (url: string, { search = '', key, browser = {} }: ReaderOptions = {}) => {
  const options = { locale: 'en-US', timezoneId: 'America/Los_Angeles', viewport: { width: 1280, height: 900 } };
  const context = await (await sharedBrowser()).newContext({ ...options, ...browser });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // The browser itself reports failed requests.
    if (!message.text().startsWith('Failed to load resource')) errors.push(message.text());
  });
  await page.addInitScript(WATCH);
  const figure = (fact: string): Locator => page.locator(`[data-fact="${fact}"]`);
  /** Waits until the page has drawn all its answers. @returns the number of its questions */
  const settled = async (): Promise<unknown> => page.evaluate('questions.settled()');
  const act = async (role: 'button' | 'link', name: string | RegExp): Promise<void> => {
    await page.getByRole(role, { name }).first().click();
    await settled();
  };
  const giveKey = async (given: string): Promise<void> => {
    await page.getByLabel('Function key').fill(given);
    await page.keyboard.press('Enter');
    await settled();
  };
  await page.clock.install({ time: NOON - 3_600_000 });
  await page.clock.pauseAt(NOON);
  await page.goto(`${url}/api/dashboard${search}`);
  if (key !== undefined) await giveKey(key);
  return {
    page,
    /** One of the figures: `total_events` and so on. */
    figure,
    count: async (fact: string) => Number((await figure(fact).innerText()).replaceAll(',', '')),
    /** The query of the page. */
    search: async () => z.string().parse(await page.evaluate('location.search')),
    settled,
    giveKey,
    press: async (name: string | RegExp) => act('button', name),
    follow: async (name: string | RegExp) => act('link', name),
    /** Time passes by the page's clock, by default until its next round. */
    nextRound: async (milliseconds: number = PACES.live.every) => {
      const before = await settled();
      await page.clock.fastForward(milliseconds);
      expect(await settled(), 'questions').not.toBe(before);
    },
    /** Closes the page. It must not have written to the console, thrown an error, or broken its policy. */
    leave: async () => {
      const policy: unknown = await page.evaluate('[violations, window.harmed]');
      await context.close();
      expect(policy, 'violations of the policy, and whether an id became code').toEqual([[], undefined]);
      expect(errors, 'the console').toEqual([]);
    },
  };
};

/** A service for each test of a file. They share the recorded activity. */
export const setStage = (activity: readonly unknown[] = []) => {
  const counting = new MemoryStorage().process();
  let service: PageService;
  const readers: Reader[] = [];
  beforeAll(async () => {
    await sharedBrowser();
    await new PageService(counting).record(activity);
  });
  beforeEach(async () => {
    service = new PageService(counting);
    await service.start();
  });
  afterEach(async () => {
    for (const reader of readers.splice(0)) await reader.leave();
    await service.stop();
  });
  const visit = async (options?: ReaderOptions): Promise<Reader> => {
    const reader = await openReader(service.url, options);
    readers.push(reader);
    return reader;
  };
  return {
    get service(): PageService {
      return service;
    },
    /** Opens the page. */
    visit,
    /** Opens the page, with a key if the service asks for it, and waits until it is complete. */
    open: async (search = '', browser: BrowserContextOptions = {}): Promise<Reader> => {
      const reader = await visit({ search, key: service.key, browser });
      await reader.settled();
      expect(await reader.page.locator('[aria-busy=true]').count()).toBe(0);
      return reader;
    },
  };
};

const cells = z.array(z.array(z.string()));

/** The texts of a table: rows of cells. */
export const cellsOf = async (table: Locator): Promise<readonly (readonly string[])[]> =>
  cells.parse(
    await table
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.trim()))),
  );
