import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect, inject, onTestFinished } from 'vitest';

import { launchBrowser } from '../../../infra/cli/screenshot/browser.ts';
import { dashboardPage } from '../../../src/dashboard/page-file.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';
import { NOON, PageAnswers } from '../answers.ts';

let launched: Promise<Browser> | undefined;

interface Opening extends BrowserContextOptions {
  /** The query of the page. */
  readonly search?: string;
  /** Differences from a service where all is well. */
  readonly service?: Partial<PageAnswers>;
}

/** Opens the page of a service in Los Angeles. By its clock it is noon UTC. It must break no rule until the test ends. */
export const visit = async (url: string, { search = '?tz=utc', ...more }: Opening = {}): Promise<Page> => {
  const options = { locale: 'en-US', timezoneId: 'America/Los_Angeles', viewport: { width: 1280, height: 900 } };
  // One browser for all files of a process; it ends with the process.
  const context = await (await (launched ??= launchBrowser())).newContext({ ...options, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  // Among them are violations of the policy. The browser itself reports failed requests.
  page.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource')) errors.push(message.text());
  });
  onTestFinished(async () => {
    await context.close();
    expect(errors, 'the console').toEqual([]);
  });
  await page.clock.install({ time: NOON - 3_600_000 });
  await page.clock.pauseAt(NOON);
  await page.goto(`${url}/api/dashboard${search}`);
  return page;
};

/** Starts a service and opens its page. Waits until the page is complete, unless the service demands a key. */
export const openPage = async ({ service: differences = {}, ...opening }: Opening = {}) => {
  const service = Object.assign(new PageAnswers(), differences);
  const server = await LoopbackServer.start((incoming, outgoing) => void serve(service, incoming, outgoing));
  onTestFinished(() => server.stop());
  const page = await visit(`http://127.0.0.1:${server.port}`, opening);
  if (service.key === undefined) await isGreen(page);
  return { service, page };
};

const serve = async (service: PageAnswers, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
  const { url = '', method = 'GET' } = incoming;
  // Time passes in the page only.
  outgoing.sendDate = false;
  if (url.startsWith('/api/dashboard')) {
    const { html, contentSecurityPolicy } = await dashboardPage(dirname(inject('bundles').release))();
    const headers = { 'content-type': 'text/html', 'content-security-policy': contentSecurityPolicy };
    outgoing.writeHead(200, headers).end(html);
    return;
  }
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const body = (await Array.fromAsync(incoming, String)).join('');
  try {
    const answer = await service.fetch(url, { method, headers, body });
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  } catch (error) {
    outgoing.destroy();
    if (!(error instanceof TypeError)) throw error;
  }
};

/** Waits until every answer on the page is current. */
export const isGreen = async (page: Page): Promise<void> => page.locator('[data-lamp=Data].good').waitFor();

export const searchOf = (page: Page): string => new URL(page.url()).search;

/** The width of all content: wider than the window, the page scrolls sideways. */
export const contentWidth = async (page: Page): Promise<unknown> =>
  page.evaluate('document.documentElement.scrollWidth');
