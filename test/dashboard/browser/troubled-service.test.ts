import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { believableDay } from '../stand-in/believable-day.ts';
import type { StandIn } from '../stand-in/service.ts';
import { launchBrowser } from '../../../infra/browser.ts';
import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
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
  reader = await openPage(browser, {
    url: service.url,
    search: '?tz=utc',
    ...(expectedErrors === undefined ? {} : { expectedErrors }),
  });
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
    await expect
      .poll(
        () =>
          service.asked.filter(({ path }) => path.includes(`analytics?ts_utc_start=${YESTERDAY}T00%3A00%3A00Z`)).length,
      )
      .toBe(1);
    await reader.settled();

    expect(await reader.figure('total_events').innerText()).toBe('200');
  });
});

describe('a service that does not answer', () => {
  it('leaves what was there, with the time of its answer; a figure that was never shown is not claimed', async () => {
    await open(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
    await reader.settled();
    const { page } = reader;
    const lastAnswer = await page.locator('.refresh .words').getAttribute('title');
    await service.stop();
    await page.clock.fastForward(PACE.live);
    await page.getByText('The service does not answer.').waitFor();

    expect(await page.locator('main .banner [role=status]').innerText()).toBe(
      `The service does not answer. You see what it answered at ${lastAnswer}.`,
    );
    expect(await page.getByText(/^Next try at \d\d:\d\d:\d\d UTC/).count()).toBe(1);
    expect(await reader.figure('total_events').innerText()).toBe('200');
    await page.getByRole('link', { name: 'Earlier day' }).click();
    await page.getByText('There is nothing to show yet.').waitFor();
    await page.getByRole('link', { name: 'Today' }).click();
    await page.getByText(`You see what it answered at ${lastAnswer}.`).waitFor();
    // After three missed rounds, the answer is old.
    expect(await page.locator('.refresh.late').count()).toBe(0);
    await page.clock.fastForward(2 * PACE.live + 2_000);
    await page.locator('.refresh.late').waitFor();

    await service.start();
    await page.clock.fastForward(PACE.slowestRetry);
    await page.getByText(/^Updated [0-3] s ago/).waitFor();
    await expect.poll(() => page.locator('main .banner [role=status]').innerText()).toBe('');
  });

  it('is asked no later because somebody pressed Refresh meanwhile', async () => {
    await open(/503 \(/);
    await reader.settled();
    const { page } = reader;
    service.broken = { ...analytics, headers: { 'content-type': 'application/problem+json' } };
    const next = page.locator('.next');
    for (let failure = 0; failure < 5; failure += 1) {
      await page.clock.fastForward(failure === 0 ? PACE.live : PACE.slowestRetry);
      await page.locator('.refresh.failing').waitFor();
      await reader.settled();
    }
    await expect.poll(() => next.count()).toBe(1);
    /** The text names the seconds until the next try. */
    const secondsLeft = async (): Promise<number> => Number(/\d+/.exec(await next.innerText())?.[0]);
    const wait = await secondsLeft();
    for (const _ of [1, 2, 3]) {
      const before = service.asked.length;
      await page.getByRole('button', { name: 'Refresh' }).click();
      await expect.poll(() => service.asked.length).toBeGreaterThan(before + 3);
      await reader.settled();
    }
    expect(await secondsLeft()).toBeLessThanOrEqual(wait);
  });
});

describe('a service that cannot answer now', () => {
  it('says so in its own words; what was there stays', async () => {
    await open(/503 \(/);
    await reader.settled();
    service.broken = { ...analytics, headers: { 'retry-after': '1', 'content-type': 'application/problem+json' } };
    await reader.page.getByRole('button', { name: 'Refresh' }).click();
    await reader.page.locator('main .banner [role=status]').getByText('Storage does not answer now.').waitFor();

    expect(await reader.figure('total_events').innerText()).toBe('200');
    service.broken = undefined;
    // By itself, soon: the service asked for a second.
    await expect
      .poll(() => reader.page.locator('main .banner [role=status]').innerText(), { timeout: 10_000 })
      .toBe('');
  });

  it('is told from one that answers something else', async () => {
    service.broken = { status: 200, json: { total_events: 'many' } };
    await open();
    await reader.page
      .locator('main .banner [role=status]')
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

    expect(await reader.page.locator('main .banner [role=status]').innerText()).toBe('');
    expect(service.asked.filter(({ path }) => path.startsWith('/api/notifications'))).toHaveLength(1);
    expect(await reader.page.getByText('The phone is off (PHONE=off).').count()).toBe(1);
  });
});
