import { screen } from '@testing-library/preact';
import { expect, it, vi } from 'vitest';

import { before, missed, notification, person } from '../answers.ts';
import { element, hear, openPage, textOf } from './stage.ts';

const ALARM = '880 880 880';
const DRILL = '440 330';
const CONFIRMED = { status: 'completed', recipients: [person('00', 'confirmed')] };

it('is offered to everybody once, with or without a key, and plays an alarm as a test', async () => {
  const heard = hear();
  const page = await openPage();
  expect(screen.getByRole('region', { name: 'Sound' })).toBeDefined();
  await page.press('Leave it off');
  expect(localStorage.getItem('wildfire-camera-activity.sound'), 'for all tabs').toBe('off');
  await page.reload();
  expect(screen.queryByRole('region', { name: 'Sound' })).toBeNull();
  page.service.notifications = [missed('fire')];
  await page.advance(8_000);
  expect(heard.signals).toEqual([]);
  page.service.notifications = [];
  await page.advance(8_000);
  await page.press(/^Sound off/);
  expect(heard.signals).toEqual([ALARM]);
  await openPage({ key: 'a-key' });
  expect(screen.getByRole('button', { name: /Sound on/ })).toBeDefined();
});

it('is on or off in every tab as soon as the reader chooses in one of them', async () => {
  const heard = hear();
  const page = await openPage({ notifications: [missed('fire')] });
  for (const [choice, words] of [
    ['on', 'Sound on'],
    ['off', 'Sound off'],
  ] as const) {
    localStorage.setItem('wildfire-camera-activity.sound', choice);
    window.dispatchEvent(new Event('storage'));
    await page.advance(0);
    expect(screen.getByRole('button', { name: words })).toBeDefined();
  }
  expect(heard.signals).toEqual([ALARM]);
});

it('repeats every 25 s until a person takes the alert; turned on while an alert is red, it sounds for it', async () => {
  const heard = hear();
  const page = await openPage({ notifications: [missed('fire', { details: 'Mile 4' })] });
  await page.press('Turn the sound on');
  expect(heard).toMatchObject({ signals: [ALARM], shown: ['Fire: Mile 4'] });
  await page.advance(150_000);
  expect(heard.signals).toEqual(Array(7).fill(ALARM));
  page.service.notifications = [missed('fire', { acknowledged_by: 'Ana', acknowledged_at: before(0) })];
  await page.advance(8_000);
  await page.advance(60_000);
  expect([heard.signals.length, heard.shown.length]).toEqual([7, 1]);
});

it('comes for a fire that was over before the next question, also in a hidden tab; it stays listed until it was seen', async () => {
  const heard = hear();
  const page = await openPage();
  await page.press('Turn the sound on');
  heard.signals.length = 0;
  page.setHidden(true);
  await page.advance(1_000);
  page.service.notifications = [notification('fire', { ...CONFIRMED, details: 'Mile 4' })];
  await page.advance(56_000);
  expect(heard).toMatchObject({ signals: [ALARM], shown: ['Fire: Mile 4'] });
  expect(document.title).toMatch(/^Alerts 1 open · /);
  page.setHidden(false);
  await page.advance(60_000);
  expect(heard.signals).toEqual([ALARM]);
  expect(page.alerts()['Needs you']).toEqual([expect.stringMatching(/^New ✓ Confirmed by .* Fire Mile 4/)]);
  await page.press('Seen: Fire: Mile 4');
  expect(page.alerts()).toEqual({ 'Taken and resolved': [] });
  await page.press('Undo');
  expect(page.alerts()['Needs you']).toHaveLength(1);
  await page.follow(/^Fire/);
  expect(page.alerts()['Needs you'], 'the row of an open alert stays in its place').toHaveLength(1);
  await page.press('Close the alert');
  expect(page.alerts()['Needs you'], 'a reader who read it has seen it').toBeUndefined();
});

it('that the browser blocks says so at the button, and what was missed sounds after the click', async () => {
  const heard = hear();
  const page = await openPage();
  await page.press('Turn the sound on');
  heard.signals.length = 0;
  heard.isBlocked = true;
  await page.reload();
  page.service.notifications = [notification('over', CONFIRMED), missed('fire')];
  await page.advance(8_000);
  await page.advance(1_000);
  expect(heard.signals).toEqual([]);
  const button = screen.getByRole('button', { name: /^Sound is blocked/ });
  expect(textOf(button, '[aria-hidden]')).toBe('Sound is blocked: 2 missed. Click to allow it');
  heard.isBlocked = false;
  element('main').dispatchEvent(new Event('pointerdown', { bubbles: true }));
  await page.advance(0);
  expect(heard.signals).toEqual([ALARM]);
});

it('that the system took away, as a phone call does, comes back with the next click', async () => {
  const heard = hear();
  const page = await openPage();
  await page.press('Turn the sound on');
  heard.signals.length = 0;
  heard.interrupt();
  page.service.notifications = [missed('fire')];
  await page.advance(8_000);
  expect(screen.getByRole('button', { name: 'Sound is blocked: 1 missed. Click to allow it' })).toBeDefined();
  element('main').dispatchEvent(new Event('pointerdown', { bubbles: true }));
  await page.advance(0);
  expect(heard.signals).toEqual([ALARM]);
});

/** A storage that refuses every value. */
const FULL = {
  getItem: () => null,
  setItem: (): void => {
    throw new DOMException('full', 'QuotaExceededError');
  },
  removeItem: () => undefined,
  clear: () => undefined,
};

it('comes, although the storage of the browser is full', async () => {
  const heard = hear();
  const page = await openPage({ key: 'a-key', notifications: [missed('fire')] });
  vi.stubGlobal('localStorage', FULL);
  vi.stubGlobal('sessionStorage', FULL);
  await page.submit({ 'Function key': 'a-key' });
  expect(page.lamp('Data')).toMatch(/^good/);
  await page.press('Turn the sound on');
  expect(heard).toMatchObject({ signals: [ALARM], shown: ['Fire'] });
  vi.unstubAllGlobals();
  vi.stubGlobal('fetch', page.service.fetch);
  await page.press('Sound on');
  expect(screen.getByRole('button', { name: 'Sound off' })).toBeDefined();
  await page.press('Forget key');
  expect(page.lamp('Data')).toBe('bad: key needed');
});

it('of many fires that were over before the reader came: one click has seen them all, and one takes it back', async () => {
  const page = await openPage();
  page.service.notifications = [
    ...Array.from({ length: 3 }, (_, index) => notification(`over ${index}`, CONFIRMED)),
    notification('runs'),
  ];
  await page.advance(8_000);
  await page.press('Seen: all 3 that are over');
  expect(page.alerts()).toEqual({ Running: [expect.stringContaining('Fire')], 'Taken and resolved': [] });
  expect(textOf(element('.toast span'))).toBe('Seen: 3 alerts');
  await page.press('Undo');
  expect(page.alerts()['Needs you']).toHaveLength(3);
});

it('names the worst first in a desktop notification', async () => {
  const heard = hear();
  const page = await openPage();
  await page.press('Turn the sound on');
  page.service.notifications = [
    missed('drill', { alert_type: 'Custom', details: 'Alpha' }),
    missed('fire', { details: 'Mile 4' }),
  ];
  await page.advance(8_000);
  expect(heard.shown).toEqual(['Fire: Mile 4\nDrill: Alpha']);
});

it('of a drill has another tone, comes once, and drills count apart', async () => {
  const heard = hear();
  const page = await openPage();
  await page.press('Turn the sound on');
  heard.signals.length = 0;
  page.service.notifications = [missed('drill', { alert_type: 'Custom' })];
  await page.advance(60_000);
  expect([heard.signals, page.lamp('Alerts')]).toEqual([[DRILL], 'good: none open · 1 drill']);
  expect(document.title).toMatch(/^Today/);
  expect(page.row('drill').className).toBe('alert drill');
});

it('comes if the page is blind: no answer, no calls are possible, cameras are silent, or a refused key', async () => {
  const heard = hear();
  // After a minute, this frame is 15 minutes old.
  const aging = { key: 'a-key', lastSeen: { 'ridge-1': 890 } };
  const { service, advance, press, problems } = await openPage(aging, '?tz=utc', 'a-key');
  await press('Turn the sound on');
  service.instead = () => 'away';
  await advance(8_500);
  expect(heard.shown).toEqual([]);
  await advance(8_000);
  service.instead = () => undefined;
  await advance(20_000);
  service.phone = { usable: false, reason: 'refused' };
  await advance(8_000);
  service.phone = { usable: true };
  await advance(20_000);
  expect(heard.shown).toEqual([
    'The page cannot tell whether there are alerts.',
    'The service cannot place calls: refused.',
    'No camera is sending.',
  ]);
  expect(problems()).toEqual(['✕ No camera is sending.']);
  expect(document.title).toMatch(/^Cameras 0 of 1 · Today/);
  service.key = 'another';
  await advance(8_000);
  expect(heard.shown.slice(3)).toEqual(['The page cannot tell whether there are alerts.']);
});

it('of a computer that slept comes only if the page gets no answer then', async () => {
  const heard = hear();
  const { service, press, advance, lamp } = await openPage();
  await press('Turn the sound on');
  service.lastSeen = { 'ridge-1': -3_600 };
  vi.setSystemTime(Date.now() + 3_600_000);
  await advance(1_000);
  expect(heard.shown).toEqual([]);
  expect(lamp('Data')).toMatch(/^good/);
  service.instead = () => 'away';
  vi.setSystemTime(Date.now() + 3_600_000);
  await advance(14_000);
  expect([lamp('Alerts'), heard.shown]).toEqual(['bad: unknown', []]);
  await advance(3_000);
  expect(heard.shown).toEqual(['The page cannot tell whether there are alerts.']);
});

it('is not silenced by a clock that is set back after a sleep', async () => {
  const heard = hear();
  const { service, press, advance, lamp } = await openPage();
  await press('Turn the sound on');
  vi.setSystemTime(Date.now() + 3_600_000);
  await advance(20_000);

  vi.setSystemTime(Date.now() - 3_600_000);
  service.instead = () => 'away';
  await advance(60_000);
  expect(lamp('Alerts')).toBe('bad: unknown');
  expect(heard.shown).toEqual(['No camera is sending.', 'The page cannot tell whether there are alerts.']);
});

it('comes in a hidden tab when a tenth of the cameras of 31 days is silent', async () => {
  const heard = hear();
  const sending = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`ridge-${index}`, 60]));
  const { service, press, advance, setHidden, lamp } = await openPage({ lastSeen: { ...sending, last: 60 } });
  await press('Turn the sound on');
  expect([heard.shown, lamp('Cameras')]).toEqual([[], 'good: 10 of 10']);
  setHidden(true);
  service.lastSeen = { ...sending, last: 8 * 86_400 };
  await advance(601_000);
  expect([heard.shown, lamp('Cameras')]).toEqual([['1 of 10 cameras are not sending.'], 'bad: 9 of 10']);
  expect(document.title).toMatch(/^Cameras 9 of 10 · /);
});
