import { screen } from '@testing-library/preact';
import { expect, it, vi } from 'vitest';

import { missed, notification, person } from '../answers.ts';
import { element, openPage, textOf } from './stage.ts';

const CONFIRMED = { status: 'completed', recipients: [person('00', 'confirmed')] };

/** Stands for the browser's lock of the screen. */
const lockScreen = (request: () => Promise<object>) =>
  vi.stubGlobal('navigator', Object.assign(Object.create(navigator), { wakeLock: { request } }));

it('the wall has health bar, alerts, four figures and one plot, without any control; it keeps the screen awake', async () => {
  const request = vi.fn(async () => ({ released: false, release: async () => undefined }));
  lockScreen(request);
  const service = { notifications: [missed('fire', { details: 'Mile 4' })] };
  const { alerts, setHidden, advance } = await openPage(service, '?wall&tz=utc');
  expect(alerts()['Needs you']).toEqual([expect.stringContaining('Mile 4')]);
  expect([...document.querySelectorAll('.tile')].map((tile) => textOf(tile))).toEqual([
    'Camera frames 10',
    'AI detections 12',
    'Reviewed frames 1',
    'Not sending now 0',
  ]);
  expect(document.querySelectorAll('figure')).toHaveLength(1);
  expect(document.querySelectorAll('button:not(:disabled), input, summary')).toHaveLength(0);
  expect(textOf(element('.wall-notes'))).not.toContain('sleep');
  setHidden(true);
  setHidden(false);
  await advance(0);
  expect(request).toHaveBeenCalled();
});

it('the wall says that the screen may sleep, and that the sound is off', async () => {
  lockScreen(async () => Promise.reject(new DOMException('no', 'NotAllowedError')));
  await openPage({}, '?wall&tz=utc');
  expect(textOf(element('.wall-notes'))).toContain('The screen may go to sleep');
  expect(textOf(element('.wall-notes'))).toContain('The sound is off');
});

it('a new fire that is over stays on the wall for an hour', async () => {
  lockScreen(async () => Promise.reject(new TypeError('undefined')));
  const { service, alerts, advance } = await openPage({}, '?wall&tz=utc');
  service.notifications = [
    notification('fire', { ...CONFIRMED, created_at: new Date(Date.now() + 1_000).toISOString() }),
  ];
  await advance(8_000);
  expect(alerts()['Needs you']).toHaveLength(1);
  expect(screen.queryByRole('button', { name: /^Seen/ })).toBeNull();
  await advance(3_600_000);
  expect(alerts()).toEqual({});
});

it('the wall lists the five worst alerts, and says how many more there are: drills never hide a fire', async () => {
  lockScreen(async () => Promise.reject(new TypeError('undefined')));
  const drills = Array.from({ length: 7 }, (_, index) => missed(`drill ${index}`, { alert_type: 'Custom' }));
  const { alerts } = await openPage({ notifications: [...drills, notification('fire')] }, '?wall&tz=utc');
  expect(alerts()['Running']).toEqual([expect.stringContaining('Fire')]);
  expect(alerts()['Needs you']).toHaveLength(4);
  expect(textOf(element('#alerts'))).toMatch(/ \+3 more$/);
});

it('the wall says how many fires have no row, and has no head of a section without rows', async () => {
  lockScreen(async () => Promise.reject(new TypeError('undefined')));
  const failed = Array.from({ length: 5 }, (_, index) => missed(`failed ${index}`));
  const { alerts } = await openPage({ notifications: [...failed, notification('runs')] }, '?wall&tz=utc');
  expect(Object.keys(alerts())).toEqual(['Needs you']);
  expect(textOf(element('#alerts'))).toMatch(/ \+1 more, of them 1 fire$/);
});
