import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { believableDay } from '../stand-in/believable-day.ts';
import type { StandIn } from '../stand-in/service.ts';
import { launchBrowser } from '../../../infra/browser.ts';
import { openPage, type Reader } from './reader.ts';
import { NOON, startStandIn, TODAY, YESTERDAY } from './target.ts';

let browser: Browser;
let service: StandIn;
let close: () => Promise<void>;
let reader: Reader;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(() => browser.close());

beforeEach(async () => {
  ({ service, close } = await startStandIn(undefined));
  service.record(believableDay(YESTERDAY, { cameras: 5, frames: 300, until: Number.POSITIVE_INFINITY, seed: 1 }));
  service.record(believableDay(TODAY, { cameras: 5, frames: 200, until: NOON, seed: 2 }));
});

afterEach(async () => {
  await reader.leave();
  await close();
});

const open = async (expectedErrors?: RegExp): Promise<void> => {
  reader = await openPage(browser, { url: service.url, ...(expectedErrors === undefined ? {} : { expectedErrors }) });
};

const analytics = { kind: 'busy', status: 503, json: { detail: 'Storage does not answer now.' } } as const;

describe('a slow service', () => {
  it('leaves dashes, not numbers, until it has answered', async () => {
    service.delay = 700;
    await open();

    expect(await reader.figure('total_events').innerText()).toBe('–');
    expect(await reader.page.getByText('Asking the service…').count()).toBe(1);
    await expect.poll(() => reader.figure('total_events').innerText(), { timeout: 10_000 }).toBe('200');
    await reader.settled();
  });

  it('never shows one day’s figures as another’s, however late they come', async () => {
    await open();
    await reader.settled();
    const { page } = reader;
    service.delay = 600;
    await page.getByRole('link', { name: 'Earlier day' }).click();

    expect(await reader.figure('total_events').innerText()).toBe('–');
    service.delay = 0;
    await page.getByRole('link', { name: 'Today' }).click();
    await expect.poll(() => service.asked.filter(({ path }) => path.includes(`day?date=${YESTERDAY}`)).length).toBe(1);
    await reader.settled();

    expect(await reader.figure('total_events').innerText()).toBe('200');
  });
});

describe('a service that cannot answer now', () => {
  it('says so in its own words; what was there stays', async () => {
    await open(/503 \(/);
    await reader.settled();
    service.broken = { ...analytics, headers: { 'retry-after': '1', 'content-type': 'application/problem+json' } };
    await reader.page.getByRole('button', { name: 'Refresh' }).click();
    await reader.page.getByRole('status').getByText('Storage does not answer now.').waitFor();

    expect(await reader.figure('total_events').innerText()).toBe('200');
    service.broken = undefined;
    // By itself, soon: the service asked for a second.
    await expect.poll(() => reader.page.getByRole('status').innerText(), { timeout: 10_000 }).toBe('');
  });

  it('is told from one that answers something else', async () => {
    service.broken = { status: 200, json: { total_events: 'many' } };
    await open();
    await reader.page
      .getByRole('status')
      .getByText(/does not understand/)
      .waitFor();

    expect(await reader.figure('total_events').innerText()).toBe('–');
  });
});

describe('a service without a key', () => {
  it('is shown without asking for one', async () => {
    await open();
    await reader.settled();

    expect(await reader.page.getByLabel('Function key').count()).toBe(0);
    expect(new Set(service.asked.map(({ key }) => key))).toEqual(new Set([undefined]));
  });
});

describe('a service without a phone', () => {
  it('says so quietly and is not asked for notifications over and over', async () => {
    service.phone = false;
    await open(/503 \(/);
    await reader.page.getByText('The phone is off (PHONE=off).').waitFor();
    await reader.settled();
    await reader.page.getByRole('link', { name: 'Earlier day' }).click();
    await expect.poll(() => reader.figure('total_events').innerText()).toBe('300');
    await reader.settled();

    expect(await reader.page.getByRole('status').innerText()).toBe('');
    expect(service.asked.filter(({ path }) => path.startsWith('/api/notifications'))).toHaveLength(1);
    expect(await reader.page.getByText('The phone is off (PHONE=off).').count()).toBe(1);
  });
});
