import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';

import { activitySchema } from '../../../src/dashboard/browser/model/answers.ts';
import { grouped, openPage, type Reader } from './reader.ts';
import { openWithKey, setBrowserStage } from './stage.ts';
import { startTarget, TODAY, YESTERDAY } from './target.ts';

let reader: Reader;

const stage = setBrowserStage(async () => startTarget());

const open = async (search: string): Promise<void> => {
  reader = await openWithKey(stage, search);
};

afterEach(() => reader.leave());

const search = (): string => new URL(reader.page.url()).search;

const shown = (): Promise<string> => reader.page.locator('#shown').innerText();

describe('the address', () => {
  it('says what is shown, and shows it to whoever opens it', async () => {
    await open(`?date=${YESTERDAY}&camera_id=bear-creek&order_by=smoke&tz=utc`);
    const { page } = reader;

    expect(await page.getByLabel('Day (UTC)').inputValue()).toBe(YESTERDAY);
    expect(await page.getByLabel('Camera', { exact: true }).inputValue()).toBe('bear-creek');
    expect(await page.locator('th[aria-sort]').innerText()).toMatch(/^smoke/);
    expect(await reader.figure('active_cameras').innerText()).toBe('1');
    expect(search()).toBe(`?date=${YESTERDAY}&camera_id=bear-creek&order_by=smoke&tz=utc`);
  });

  it('leads back and forward through what was shown', async () => {
    await open('?tz=utc');
    const { page } = reader;
    const today = await reader.figure('total_events').innerText();
    await page.getByRole('link', { name: 'Earlier day' }).click();
    const { total_events } = z.parse(activitySchema, await stage.target.ask(`analytics/day?date=${YESTERDAY}`));
    const yesterday = grouped(total_events);
    await expect.poll(() => reader.figure('total_events').innerText()).toBe(yesterday);
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.locator('.cameras').getByRole('link', { name: 'hawk-hill' }).click();
    await expect.poll(() => reader.figure('active_cameras').innerText()).toBe('1');
    const alone = await reader.figure('total_events').innerText();

    expect(search()).toBe(`?date=${YESTERDAY}&camera_id=hawk-hill&tz=utc`);
    await page.goBack();
    await expect.poll(() => reader.figure('total_events').innerText()).toBe(yesterday);
    expect(search()).toBe(`?date=${YESTERDAY}&tz=utc`);
    await page.goBack();
    await expect.poll(() => reader.figure('total_events').innerText()).toBe(today);
    expect(search()).toBe('?tz=utc');
    expect(await shown()).toMatch(/^Today, /);
    await page.goForward();
    await page.goForward();
    await expect.poll(() => reader.figure('total_events').innerText()).toBe(alone);
    expect(await shown()).toContain('hawk-hill');
  });

  it('of a link is the one of what it leads to, for another tab', async () => {
    await open('?camera_id=hawk-hill');
    const address = await reader.page.getByRole('link', { name: 'Earlier day' }).getAttribute('href');

    expect(address).toBe(`/api/dashboard?date=${YESTERDAY}&camera_id=hawk-hill`);
  });

  it('that is wrong is told, everything once, and today is shown', async () => {
    await open('?date=2026-02-30&camera=a&last=2h');

    const [told = '', ...others] = (await reader.page.getByRole('alert').allInnerTexts()).filter((text) => text !== '');
    expect([told.split(/\n+/), others]).toEqual([
      [
        'camera is no parameter of this page.',
        'date must be a day that exists, such as 2026-11-21.',
        'last must be 1h, 6h, 24h.',
        'Today is shown.',
      ],
      [],
    ]);
    expect(await reader.page.getByLabel('Day (local)').inputValue()).toBe(TODAY);
  });

  it('never keeps a key', async () => {
    await open(`?date=${YESTERDAY}&code=${stage.target.key}`);

    expect(search()).toBe(`?date=${YESTERDAY}`);
    await reader.page.getByRole('link', { name: 'Today' }).click();
    await reader.page.goBack();
    expect(search()).toBe(`?date=${YESTERDAY}`);
  });
});

describe('a range that the service does not take', () => {
  it('is shown with the service’s own reason, once', async () => {
    reader = await openPage(stage.browser, {
      url: stage.target.url,
      key: stage.target.key,
      search: '?ts_utc_start=2020-01-01T00:00:00Z&ts_utc_end=2026-01-01T00:00:00Z',
      expectedErrors: /40[01] \(/,
    });
    await reader.page.getByText(/did not accept this question \(400\)\. .*366/).waitFor();
    await reader.settled();

    expect(await reader.page.getByText(/366/).count()).toBe(1);
    expect(await reader.figure('total_events').innerText()).toBe('–');
  });
});
