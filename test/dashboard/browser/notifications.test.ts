import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import type { Told } from './service.ts';
import { cellsOf, type Reader, setStage } from './stage.ts';
import { HARMFUL, MISSED, quiet, RUNNING, WAVES } from './stories.ts';

const stage = setStage();

const open = async (search: string, stories: readonly Told[], browser?: BrowserContextOptions): Promise<Reader> => {
  stage.service.notifications = stories;
  return stage.open(search, browser);
};

/** What the strip says of each alert, without its button. */
const alertsOf = async (page: Page): Promise<readonly string[]> =>
  (await page.locator('.alert').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').replace(' I have it', ''));

describe('recent notifications', () => {
  it('are marked by their people, in the list, in a strip under the head and in the tab’s title', async () => {
    const { page, nextRound, press, search, settled } = await open('', [
      WAVES,
      RUNNING,
      MISSED,
      HARMFUL,
      quiet('quiet'),
    ]);
    const buttons = await page.locator('.notification').allInnerTexts();
    expect(buttons.map((text) => text.split('\n').slice(0, 2))).toEqual([
      ['Report of fire', '✓ Confirmed by +1206•••••11'],
      ['Confirmed fire', '… In progress'],
      ['Report of fire', '✕ 1 not reached'],
      ['Custom', '✕ 1 not reached'],
      ['Anomaly', '✓ All heard'],
    ]);
    expect(await alertsOf(page)).toEqual([
      '… In progress Confirmed fire 1 heard, 1 waiting, 1 ringing, 1 min ago, next attempt in 2 s',
      '✕ 1 not reached Report of fire 29 heard, 1 not reached, 1 h ago',
      `✕ 1 not reached Custom ${HARMFUL.reference ?? ''} 1 failed, 2 h ago`,
    ]);
    expect(await page.title()).toMatch(/^\(3\) Today, /);
    await page.locator('.attention a').first().click();
    await settled();
    expect(await page.locator('.recipients').count()).toBe(1);
    expect(await search()).toBe('?notification=running');

    // Never what became of one under the name of another one.
    const held = Promise.withResolvers<void>();
    stage.service.held = held.promise;
    await page.getByRole('button', { name: 'Custom' }).click();
    expect(await page.locator('.story').innerText()).toBe('Asking the service…');
    held.resolve();
    await settled();
    // What a service says is text.
    expect(await page.getByText('<b onclick="harmed=1">blocked</b>').count()).toBe(1);
    await page.getByText('Codes and ids').click();
    expect(await page.getByText(HARMFUL.notification_id).count()).toBe(1);

    // All is well: no strip, no count.
    await press('Custom');
    stage.service.notifications = [];
    await nextRound();
    expect(await page.title()).toMatch(/^Today, /);
    expect(await page.locator('.alert').count()).toBe(0);
    expect(await page.getByText('Nobody has been phoned yet.').count()).toBe(1);
  });

  it('open with every attempt to reach every person; who was heard is folded away where there are many, and so are codes', async () => {
    const { page, press } = await open('?tz=utc', [MISSED]);
    await press('Report of fire');
    const story = (await page.locator('.story').innerText()).replaceAll(/ \d\d:.*/g, '');
    expect(story.split(/\n+/).join('; ')).toBe(
      '+1206•••••77; ✕ Not reached; ✕ No answer; ✕ Busy; ✕ No answer; 29 heard: as expected; Codes and ids',
    );
    await page.getByText('29 heard: as expected').click();
    expect(await page.locator('.recipient:visible').count()).toBe(30);
    expect(await page.getByText('call-700').isVisible()).toBe(false);
    await page.getByText('Codes and ids').click();
    const rows = await cellsOf(page.getByRole('table', { name: 'Attempts' }));
    expect(rows.slice(-3).map((row) => row.slice(-2))).toEqual([
      ['480 / 560480', 'call-900'],
      ['486 / 560486', 'call-800'],
      ['480 / 560480', 'call-700'],
    ]);
  });

  it('are linked to by the address, also one that is older than the list, of which 100 are shown on demand', async () => {
    const newer = Array.from({ length: 12 }, (_, index) => quiet(`newer-${index}`));
    const { page, press, search } = await open('?notification=missed', [...newer, RUNNING, MISSED]);
    expect(await page.getByRole('button', { name: 'Report of fire' }).getAttribute('aria-expanded')).toBe('true');
    expect(await page.locator('.notification').count()).toBe(11);
    // One is open at a time.
    await page.getByRole('button', { name: 'Anomaly' }).first().click();
    expect(await page.locator('.story').count()).toBe(1);
    await page.getByRole('button', { name: 'Anomaly' }).first().click();
    expect(await search()).toBe('');
    await press('Show 100');
    expect(await page.locator('.notification').count()).toBe(14);
    await page.getByLabel('Not reached').check();
    expect(await page.locator('.notification .what').allInnerTexts()).toEqual(['Report of fire']);
  });

  it('go on by themselves while they are open, also of a day that is past', async () => {
    const { page, nextRound } = await open('?date=2020-02-20&notification=running', [RUNNING]);
    expect(await page.getByText(/Next attempt at \d\d:/).count()).toBe(1);
    // Stopping takes a key.
    expect(await page.getByRole('button', { name: 'Stop…' }).count()).toBe(0);
    const recipients = RUNNING.recipients.map(
      ({ recipient, attempts }) => ({ recipient, attempts, status: 'heard' }) as const,
    );
    stage.service.notifications = [{ ...RUNNING, status: 'completed', recipients }];
    await nextRound();
    expect(await page.locator('.recipient .status').allInnerTexts()).toEqual(['✓ Heard', '✓ Heard', '✓ Heard']);
    expect(await page.getByText('Next attempt at').count()).toBe(0);
    expect(await page.locator('.notification .status').innerText()).toBe('✓ All heard');
  });

  it('in waves are told one after the other, on a phone of 360 pixels as well', async () => {
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const { page } = await open('?notification=waves&tz=utc', [WAVES], phone);
    const story = (await page.locator('.story').innerText()).replaceAll(/\d\d:\d\d:\d\d UTC, /g, '');
    expect(story.split(/\n+/).join('; ').split('; Wave ')).toEqual([
      'Wave 1; +1206•••••10; ✕ Not reached; ✕ No answer 1 min 0 s; ✕ Heard, not confirmed 38 s',
      '2; +1206•••••11; ✓ Confirmed; ✓ Confirmed 48 s',
      '3; +1206•••••12; • Stopped; Not called.; Codes and ids',
    ]);
    expect(await page.locator('.notification .reference').innerText()).toContain('ridge-04');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    // Without 3,000 pixels of scrolling.
    expect((await page.locator('.notification').first().boundingBox())?.y).toBeLessThan(1_300);
  });
});

describe('a notification in progress', () => {
  it('is stopped by a button that asks first, with the key; where it could not be stopped, that is said', async () => {
    const { service } = stage;
    service.key = 'a-key';
    const { page, press } = await open('?notification=running', [RUNNING]);
    const stops = () =>
      service.asked.filter(({ path }) => path.endsWith('/stop')).map(({ status, key }) => [status, key]);
    await press('Stop…');
    expect(await page.getByRole('dialog', { name: 'Stop this notification?' }).count()).toBe(1);
    await press('Go on phoning');
    await press('Stop…');
    await page.keyboard.press('Escape');
    expect(stops()).toEqual([]);

    service.hasPhone = false;
    await press('Stop…');
    await press('Stop it');
    const alert = page.getByRole('alert').getByText('It was not stopped. The service cannot answer now (503).');
    expect(await alert.count()).toBe(1);
    service.hasPhone = true;
    await press('Stop…');
    await press('Stop it');
    expect(await page.locator('.recipient .status').allInnerTexts()).toEqual(['✓ Heard', '• Stopped', '• Stopped']);
    expect(stops()).toEqual([
      [503, 'a-key'],
      [200, 'a-key'],
    ]);
    await press('Refresh');
    expect(await page.locator('.notification .status').innerText()).toBe('• Stopped');
    expect(await page.getByRole('button', { name: 'Stop…' }).count()).toBe(0);
  });
});
