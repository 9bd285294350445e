import { describe, expect, it } from 'vitest';

import { believableStories, waveStory } from '../stand-in/stories.ts';
import type { Notification } from '../../../src/dashboard/browser/model/answers.ts';
import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import { cellsOf, type Reader } from './reader.ts';
import { setStandInStage } from './stage.ts';
import { NOON } from './target.ts';

/** As they are at noon, when the page is opened. */
const atNoon = (stories: readonly Notification[]): readonly Notification[] =>
  JSON.parse(
    JSON.stringify(stories).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)/g, (time) =>
      new Date(Date.parse(time) - Date.now() + NOON).toISOString(),
    ),
  );

const stage = setStandInStage((service) => {
  service.notifications = atNoon(believableStories());
});

const open = async (search = '', stories = believableStories(), options = {}): Promise<Reader> => {
  stage.service.notifications = atNoon(stories);
  return stage.open(search, options);
};

const quiet = (id: string, people = 1): Notification => ({
  notification_id: id,
  alert_type: 'Anomaly',
  created_at: new Date(NOON - 2_000_000).toISOString(),
  status: 'completed',
  recipients: Array.from({ length: people }, () => ({
    recipient: '+1206•••••55',
    status: 'heard',
    attempts: [{ outcome: 'heard' }],
  })),
});

describe('recent notifications', () => {
  it('are marked by their people, in the list, in a strip under the head and in the tab’s title', async () => {
    const { page } = await open('', [waveStory(), ...believableStories(), quiet('n-1')]);
    const buttons = await page.locator('.notification').allInnerTexts();

    expect(buttons.map((text) => text.split('\n').slice(0, 2))).toEqual([
      ['Report of fire', '✓ Confirmed by +1206•••••11'],
      ['Confirmed fire', '… In progress'],
      ['Report of fire', '✕ 1 not reached'],
      ['Custom', '✕ 1 not reached'],
      ['Anomaly', '✓ All heard'],
    ]);
    expect(await page.locator('.attention p').allInnerTexts()).toEqual([
      '… In progress Confirmed fire 1 heard, 1 waiting, 1 ringing',
      '✕ 1 not reached Report of fire 1 not reached',
      '✕ 1 not reached Custom 1 failed',
    ]);
    expect(await page.title()).toMatch(/^\(3\) Today, /);
    await page.locator('.attention a').first().click();
    await page.locator('.recipients').waitFor();
    expect(new URL(page.url()).search).toBe('?notification=n-3-in-progress');

    // All is well: no strip, no count.
    await page.goBack();
    stage.service.notifications = [quiet('n-5')];
    await page.clock.fastForward(PACE.live);
    await expect.poll(() => page.title()).toMatch(/^Today, /);
    expect(await page.locator('.attention p').count()).toBe(0);
  });

  it('open with every attempt to reach every person; codes and ids are folded away', async () => {
    const { page } = await open('?tz=utc');
    await page.getByRole('button', { name: 'Report of fire' }).click();
    await page.locator('.attempts').first().waitFor();

    expect(
      (await page.locator('.story').innerText())
        .split('\n')
        .filter((line) => /^[✕+]/.test(line))
        .map((line) => line.replace(/ \d\d:.*/, '')),
    ).toEqual(['+6421•••••77', '✕ Not reached', '✕ No answer', '✕ Busy', '✕ No answer']);
    expect(await page.locator('.story time:visible').count()).toBe(6);
    expect(await page.getByText('call-23').isVisible()).toBe(false);
    await page.getByText('Codes and ids').click();
    expect((await cellsOf(page.getByRole('table', { name: 'Attempts' }))).map((row) => row.slice(-2))).toEqual([
      ['480 / 560480', 'call-21'],
      ['486 / 560486', 'call-22'],
      ['480 / 560480', 'call-23'],
    ]);
  });

  it('are linked to by the address, also one that is older than the list', async () => {
    const { page } = await open('?notification=n-2-completed', [
      ...Array.from({ length: 12 }, (_, index) => quiet(`newer-${index}`)),
      ...believableStories(),
    ]);
    await page.locator('.story .recipients').waitFor();

    expect(await page.getByRole('button', { name: 'Report of fire' }).getAttribute('aria-expanded')).toBe('true');
    expect(await page.locator('.notification').count()).toBe(11);
    await page.getByRole('button', { name: 'Report of fire' }).click();
    expect(new URL(page.url()).search).toBe('');
    await page.goBack();
    await page.locator('.story .recipients').waitFor();
    // One is open at a time.
    await page.getByRole('button', { name: 'Anomaly' }).first().click();
    await expect.poll(() => page.locator('.story').count()).toBe(1);
    // 100 on demand, and only those that did not reach somebody.
    await page.getByRole('button', { name: 'Show 100' }).click();
    await expect.poll(() => page.locator('.notification').count()).toBe(15);
    await page.getByLabel('Not reached').check();
    await expect
      .poll(() => page.locator('.notification .what').allInnerTexts())
      .toEqual(['Anomaly', 'Report of fire', 'Custom']);
  });

  it('fold the people of whom there is nothing to tell, where there are many', async () => {
    const [, completed] = believableStories();
    const many = { ...quiet('many', 29), recipients: [...quiet('', 29).recipients, ...(completed?.recipients ?? [])] };
    const { page } = await open('?notification=many', [many]);
    await page.getByText('29 heard: as expected').waitFor();

    expect(await page.locator('.recipient b:visible').allInnerTexts()).toEqual(['+6421•••••77']);
    await page.getByText('29 heard: as expected').click();
    expect(await page.locator('.recipient:visible').count()).toBe(30);
  });

  it('go on by themselves while they are open, also of a day that is past', async () => {
    const { page } = await open('?date=2020-02-20&notification=n-3-in-progress');
    await page.getByText(/Next attempt at \d\d:/).waitFor();
    const [story, ...others] = stage.service.notifications;
    if (story === undefined) throw new Error('no story');
    const recipients = story.recipients.map(({ recipient, attempts }) => ({ recipient, attempts, status: 'heard' }));
    stage.service.notifications = [{ ...story, status: 'completed', recipients }, ...others];
    await page.clock.fastForward(PACE.live);
    await expect
      .poll(() => page.locator('.recipient .status').allInnerTexts())
      .toEqual(['✓ Heard', '✓ Heard', '✓ Heard']);
    expect(await page.getByText('Next attempt at').count()).toBe(0);
    await expect.poll(() => page.locator('.notification .status').first().innerText()).toBe('✓ All heard');
  });

  it('show reasons and ids that are markup as text, and say that there are none', async () => {
    const { page } = await open();
    await page.getByRole('button', { name: 'Custom' }).click();
    await page.getByText('<b onmouseover="window.harmed=1">blocked</b>').waitFor();
    await page.getByText('Codes and ids').click();
    expect(await page.getByText('<img src=x onerror="window.harmed=1">/../?a=b#c').count()).toBe(1);
    await page.getByRole('button', { name: 'Custom' }).click();
    stage.service.notifications = [];
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText('Nobody has been phoned yet.').waitFor();
  });
});

describe('waves', () => {
  it('are told one after the other, on a phone of 360 pixels as well', async () => {
    const { page } = await open('?notification=n-4-waves&tz=utc', [waveStory()], {
      browser: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
    });
    await page.locator('.recipients').first().waitFor();
    const text = (await page.locator('.story').innerText()).replaceAll(/\d\d:\d\d:\d\d UTC, /g, '').split(/\n+/);

    expect(text).toEqual([
      'Wave 1',
      '+1206•••••10',
      '✕ Not reached',
      '✕ No answer 1 min 0 s',
      '✕ Heard, not confirmed 38 s',
      'Wave 2',
      '+1206•••••11',
      '✓ Confirmed',
      '✓ Confirmed 48 s',
      'Wave 3',
      '+1206•••••12',
      '• Stopped',
      'Not called.',
      'Codes and ids',
    ]);
    expect(await page.locator('.notification .reference').innerText()).toContain('ridge-04');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    // Without 3,000 pixels of scrolling.
    expect((await page.locator('.notification').first().boundingBox())?.y).toBeLessThan(1_300);
  });
});

const openRunning = async (key: string | undefined): Promise<Reader> => {
  stage.service.key = key;
  const reader = await open('?notification=n-3-in-progress', believableStories(), {
    expectedErrors: /401 \(|503 \(/,
  });
  await reader.page.locator('.recipients').waitFor();
  return reader;
};

describe('a notification in progress', () => {
  it('is stopped by a button that asks first, with the key', async () => {
    const { page } = await openRunning('a-key');
    const stops = (): number => stage.service.asked.filter(({ path }) => path.endsWith('/stop')).length;
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.getByRole('dialog', { name: 'Stop this notification?' }).waitFor();
    await page.getByRole('button', { name: 'Go on phoning' }).click();
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.keyboard.press('Escape');
    expect(stops()).toBe(0);

    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.getByRole('button', { name: 'Stop it' }).click();
    await expect
      .poll(() => page.locator('.recipient .status').allInnerTexts())
      .toEqual(['✓ Heard', '• Stopped', '• Stopped']);
    await expect.poll(() => page.locator('.notification .status').first().innerText()).toBe('• Stopped');
    expect(await page.getByRole('button', { name: 'Stop…' }).count()).toBe(0);
    expect(stops()).toBe(1);
    expect(stage.service.asked.find(({ path }) => path.endsWith('/stop'))).toMatchObject({ status: 200, key: 'a-key' });
  });

  it('says so where it could not be stopped, and can be tried again', async () => {
    const { page } = await openRunning('a-key');
    stage.service.phone = false;
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.getByRole('button', { name: 'Stop it' }).click();
    await page.getByRole('alert').getByText('It was not stopped. The service cannot answer now (503).').waitFor();
    stage.service.phone = true;
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.getByRole('button', { name: 'Stop it' }).click();
    await expect
      .poll(() => page.locator('.recipient .status').allInnerTexts())
      .toEqual(['✓ Heard', '• Stopped', '• Stopped']);
  });

  it('has no such button on a page without a key', async () => {
    const { page } = await openRunning(undefined);
    expect(await page.getByRole('button', { name: 'Stop…' }).count()).toBe(0);
  });
});
