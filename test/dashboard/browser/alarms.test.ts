import { describe, expect, it } from 'vitest';

import { PACES } from '../../../src/dashboard/browser/model/refresh.ts';
import { frame, NOON, YESTERDAY } from './activity.ts';
import { type Reader, setStage } from './stage.ts';
import { MISSED, quiet, RUNNING } from './stories.ts';

const stage = setStage([frame('ridge-04', NOON - 60_000), frame('ridge-04', NOON - 86_400_000)]);

/** Turns the tab away from who looks at it, or back. */
const setHidden = async ({ page }: Reader, isHidden: boolean): Promise<void> => {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'));
  `);
};

const focusedText = async ({ page }: Reader): Promise<string> =>
  String(await page.evaluate('document.activeElement.textContent')).trim();

describe('alerts', () => {
  it('come within ten seconds, however slow another question is', async () => {
    const { page, settled } = await stage.open(`?date=${YESTERDAY}&tz=utc`);
    const held = Promise.withResolvers<void>();
    stage.service.heldPaths = '/api/analytics';
    stage.service.held = held.promise;
    await page.clock.fastForward(PACES.past.every);
    await expect.poll(() => stage.service.waiting).toBe(3);
    stage.service.notifications = [RUNNING];
    await page.clock.fastForward(10_000);
    await page.locator('.alert').waitFor();
    expect(stage.service.waiting).toBe(3);
    expect(await page.title()).toMatch(/^\(1\) /);
    held.resolve();
    await settled();
  });

  it('go on, slower, while the tab is hidden; the rest is asked for when it is seen again', async () => {
    const reader = await stage.open('?tz=utc');
    const { page, nextRound, settled } = reader;
    await setHidden(reader, true);
    await settled();
    const from = stage.service.asked.length;
    stage.service.notifications = [RUNNING];
    await nextRound(PACES.hidden.every);
    await nextRound(PACES.hidden.every);
    expect(stage.service.asked.slice(from).map(({ path }) => path)).toEqual(
      Array.from({ length: 2 }, () => '/api/notifications?attention=true'),
    );
    expect(await page.title()).toMatch(/^\(1\) Today/);
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain(encodeURIComponent('M22 15v8'));
    await setHidden(reader, false);
    await settled();
    expect(stage.service.asked.length - from).toBeGreaterThan(8);
    expect(await page.locator('.refresh.current').count()).toBe(1);
  });

  it('sound once each where that is switched on', async () => {
    const { page, press, nextRound } = await stage.open('?tz=utc');
    const tones = async (): Promise<unknown> => page.evaluate('window.tones');
    await page.evaluate(`
      window.tones = 0;
      const create = AudioContext.prototype.createOscillator;
      AudioContext.prototype.createOscillator = function () { tones += 1; return create.call(this); };
      Notification.requestPermission = async () => 'denied';
    `);
    stage.service.notifications = [MISSED];
    await nextRound();
    expect(await tones()).toBe(0);
    await press('Alarm off');
    // That it can be heard is heard.
    await expect.poll(tones).toBe(3);
    stage.service.notifications = [RUNNING, MISSED];
    await nextRound();
    await nextRound();
    expect(await tones()).toBe(6);
    await press('Alarm on');
    stage.service.notifications = [{ ...RUNNING, notification_id: 'another' }, MISSED];
    await nextRound();
    expect(await tones()).toBe(6);
  });

  it('are shown on the desktop once each where the browser may; without that permission, and switched off, never', async () => {
    const { page, press, nextRound } = await stage.open('?tz=utc');
    // What would be shown, in place of the desktop's own.
    await page.evaluate(`
      window.shown = [];
      window.isAllowed = 'default';
      window.Notification = class extends EventTarget {
        constructor(title, options) { super(); shown.push([title, options.body]); }
        static get permission() { return isAllowed; }
        static async requestPermission() { return isAllowed = 'granted'; }
      };
    `);
    const shown = async (): Promise<unknown> => page.evaluate('window.shown');
    stage.service.notifications = [MISSED];
    await nextRound();
    await press('Alarm off');
    await page.getByRole('button', { name: 'Alarm on' }).waitFor();
    expect(await page.evaluate('isAllowed'), 'asked for with the switch').toBe('granted');
    stage.service.notifications = [RUNNING, MISSED];
    await nextRound();
    await nextRound();
    expect(await shown()).toEqual([['Camera activity', 'Confirmed fire']]);
    // The service is away for as long as nothing is known of alerts.
    stage.service.isAway = true;
    await nextRound(60_000);
    await nextRound(60_000);
    expect(await shown()).toEqual([
      ['Camera activity', 'Confirmed fire'],
      ['Camera activity', 'It is not known whether there are alerts.'],
    ]);
    stage.service.isAway = false;
    await nextRound(60_000);
    await page.evaluate("isAllowed = 'denied'");
    stage.service.notifications = [{ ...RUNNING, notification_id: 'another' }, RUNNING, MISSED];
    await nextRound(60_000);
    await press('Alarm on');
    await page.evaluate("isAllowed = 'granted'");
    stage.service.notifications = [{ ...RUNNING, notification_id: 'a third' }, RUNNING, MISSED];
    await nextRound(60_000);
    expect(await shown()).toHaveLength(2);
  });

  it('lead to their story, which is in sight and has the focus; a reference leads to its camera and its address', async () => {
    stage.service.notifications = [
      ...Array.from({ length: 12 }, (_, index) => quiet(`newer-${index}`)),
      { ...MISSED, reference: 'ridge-04 https://example.org/4?a=b javascript:alert(1) http://example.org' },
    ];
    const reader = await stage.open('?tz=utc', { viewport: { width: 390, height: 844 } });
    const { page } = reader;
    const links = page.locator('.alert .reference a');
    expect(await links.allInnerTexts()).toEqual(['ridge-04', 'https://example.org/4?a=b']);
    expect(await links.last().getAttribute('rel')).toBe('noopener noreferrer');
    await reader.follow(/Report of fire/);
    expect(await focusedText(reader)).toMatch(/^Report of fire/);
    const { y = 900 } = (await page.locator('.notification[aria-expanded=true]').boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y).toBeLessThan(400);
    await links.first().click();
    await reader.settled();
    expect(await reader.search()).toContain('camera_id=ridge-04');
  });

  it('are had by somebody: the name is told to everybody, and the alert leaves the red strip and the count', async () => {
    const { service } = stage;
    service.key = 'a-key';
    service.notifications = [RUNNING, MISSED];
    const { page, press, nextRound } = await stage.open('?tz=utc');
    const have = page.getByRole('dialog', { name: 'Who has it?' });
    await page.getByRole('button', { name: 'I have it' }).first().click();
    expect(await have.getByRole('textbox').getAttribute('maxlength')).toBe('60');
    await have.getByRole('textbox').fill('   ');
    await page.keyboard.press('Enter');
    expect(await have.isVisible()).toBe(true);
    await have.getByRole('textbox').fill('Ana');
    await page.keyboard.press('Enter');
    await page.locator('.attention.seen').waitFor();
    expect(await page.locator('.attention.seen .alert').innerText()).toMatch(/Confirmed fire\s+seen by Ana 0 s ago$/);
    expect(await page.title()).toMatch(/^\(1\) /);
    expect(service.asked.filter(({ path }) => path.endsWith('/acknowledge'))).toEqual([
      expect.objectContaining({ path: '/api/notifications/running/acknowledge', status: 200, key: 'a-key' }),
    ]);
    // On this screen the next one is asked for their name, too, and may keep the one that is there.
    await page.getByRole('button', { name: 'I have it' }).click();
    expect(await have.getByRole('textbox').inputValue()).toBe('Ana');
    service.before = (path) => (path.endsWith('/acknowledge') ? { status: 503 } : undefined);
    await page.keyboard.press('Enter');
    await page.getByText('That was not done. The service cannot answer now (503).').waitFor();
    // Somebody else at another screen.
    service.before = () => undefined;
    service.notifications = [RUNNING, MISSED].map((each) => Object.assign({}, each, { acknowledged_by: 'Bo' }));
    await nextRound();
    expect(await page.locator('.attention:not(.seen)').count()).toBe(0);
    expect(await page.title()).toMatch(/^Today/);
    await press(/Report of fire/);
    expect(await page.locator('.story').innerText()).toContain('Seen by Bo');
  });

  it('are not stopped by whoever presses Enter at once; afterwards the focus is where it was', async () => {
    stage.service.key = 'a-key';
    stage.service.notifications = [RUNNING];
    const reader = await stage.open('?notification=running&tz=utc');
    const { page, press, settled } = reader;
    await press('Stop…');
    expect(await focusedText(reader)).toBe('Go on phoning');
    await page.keyboard.press('Enter');
    expect(await focusedText(reader)).toBe('Stop…');
    await press('Stop…');
    await press('Stop it');
    await settled();
    expect(await focusedText(reader)).toMatch(/^Confirmed fire/);
    expect(stage.service.asked.filter(({ path }) => path.endsWith('/stop'))).toHaveLength(1);
  });
});
