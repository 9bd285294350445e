import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { StandIn } from '../stand-in/service.ts';
import { believableStories } from '../stand-in/stories.ts';
import { launchBrowser } from '../../../infra/browser.ts';
import { openPage, type Reader } from './reader.ts';
import { startStandIn } from './target.ts';

let browser: Browser;
let service: StandIn;
let close: () => Promise<void>;
let reader: Reader;

beforeAll(async () => {
  browser = await launchBrowser();
  ({ service, close } = await startStandIn(undefined));
});

afterAll(async () => {
  await browser.close();
  await close();
});

beforeEach(async () => {
  service.notifications = believableStories();
  reader = await openPage(browser, { url: service.url });
  await reader.settled();
});

afterEach(() => reader.leave());

const lines = async (of: string): Promise<readonly string[]> =>
  (await reader.page.locator(of).innerText()).split('\n').map((line) => line.trim());

describe('recent notifications', () => {
  it('are listed, newest first, with what became of them', async () => {
    const buttons = await reader.page.locator('.notification').allInnerTexts();

    expect(buttons.map((text) => text.split('\n').slice(0, 3))).toEqual([
      ['Confirmed fire', '… In progress', '1 heard, 1 waiting, 1 ringing'],
      ['Report of fire', '• Completed', '1 not reached'],
      ['Custom', '• Completed', '1 failed'],
    ]);
  });

  it('open with every attempt to reach every person', async () => {
    await reader.page.getByRole('button', { name: 'Report of fire' }).click();
    await reader.page.getByText('call-23').waitFor();
    const story = await lines('.story');

    expect(story.filter((line) => line.startsWith('✕') || line.startsWith('+'))).toEqual([
      '+6421•••••77',
      '✕ Not reached',
      '✕ No answer',
      '✕ Busy',
      '✕ No answer',
    ]);
    expect(story.filter((line) => line.startsWith('480 /') || line.startsWith('486 /'))).toEqual([
      '480 / 560480',
      '486 / 560486',
      '480 / 560480',
    ]);
    expect(await reader.page.locator('.story time').count()).toBe(6);
  });

  it('tell when a person is tried again, and go on by themselves while they are open', async () => {
    const { page } = reader;
    await page.getByRole('button', { name: 'Confirmed fire' }).click();
    await page.getByText(/Next attempt at \d{4}-/).waitFor();
    const [story, ...others] = service.notifications;
    if (story === undefined) throw new Error('no story');
    service.notifications = [
      {
        ...story,
        status: 'completed',
        recipients: story.recipients.map(({ recipient, attempts }) => ({ recipient, attempts, status: 'heard' })),
      },
      ...others,
    ];
    await page.clock.fastForward(10_000);
    await expect
      .poll(() => page.locator('.recipient .status').allInnerTexts())
      .toEqual(['✓ Heard', '✓ Heard', '✓ Heard']);
    expect(await page.getByText('Next attempt at').count()).toBe(0);
    expect(await page.locator('.notification').first().innerText()).toContain('3 heard');
  });

  it('close again, and one is open at a time', async () => {
    const { page } = reader;
    const first = page.getByRole('button', { name: 'Confirmed fire' });
    await first.click();
    await page.getByRole('button', { name: 'Report of fire' }).click();

    expect(await page.locator('.story').count()).toBe(1);
    expect(await first.getAttribute('aria-expanded')).toBe('false');
    await page.getByRole('button', { name: 'Report of fire' }).click();
    expect(await page.locator('.story').count()).toBe(0);
  });

  it('show reasons and ids that are markup as text', async () => {
    await reader.page.getByRole('button', { name: 'Custom' }).click();
    await reader.page.getByText('<b onmouseover="window.harmed=1">blocked</b>').waitFor();

    expect(await reader.page.getByText('<img src=x onerror="window.harmed=1">/../?a=b#c').count()).toBe(1);
    expect(await reader.page.getByText('Not called yet.').count()).toBe(1);
  });

  it('say that there are none', async () => {
    service.notifications = [];
    await reader.page.getByRole('button', { name: 'Refresh' }).click();
    await reader.page.getByText('Nobody has been phoned yet.').waitFor();

    expect(await reader.page.locator('.notification').count()).toBe(0);
  });
});
