import { fireEvent, screen } from '@testing-library/preact';
import { expect, it } from 'vitest';

import { missed, notification, person } from '../answers.ts';
import { element, focused, openPage, textOf } from './stage.ts';

const press = async ({ advance }: Awaited<ReturnType<typeof openPage>>, key: string): Promise<void> => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key });
  await advance(0);
};

const NOTIFICATIONS = [
  missed('first', { details: 'Mile 1' }),
  missed('second', { alert_type: 'BurnJob', details: 'Mile 2' }),
  notification('third', { alert_type: 'Anomaly', details: 'Mile 3' }),
];

it('j and k move through the alerts, Enter opens one, a takes it, s stops it, / finds a camera, ? lists the keys', async () => {
  const page = await openPage({ notifications: NOTIFICATIONS });
  for (const [key, row] of [
    ['j', 'Fire Mile 1'],
    ['j', 'Burn job Mile 2'],
    ['j', 'Anomaly Mile 3'],
    ['j', 'Anomaly Mile 3'],
    ['k', 'Burn job Mile 2'],
  ] as const) {
    await press(page, key);
    expect(focused()).toBe(row);
  }
  await press(page, 'a');
  expect(textOf(screen.getByRole('dialog'))).toContain('Burn job · Mile 2');
  // Letters are text in a dialog.
  await press(page, 'j');
  await page.press('Cancel');
  expect(focused()).toBe('Burn job Mile 2');
  await press(page, 's');
  expect(screen.queryByRole('dialog'), 'its calls are over').toBeNull();
  await press(page, 'j');
  await press(page, 's');
  expect(textOf(screen.getByRole('dialog'))).toMatch(/^Stop the calls of this alert\? Anomaly · Mile 3/);
  await page.press('Continue phoning');
  await press(page, '/');
  expect(document.activeElement?.id).toBe('camera');
  await press(page, '?');
  expect(screen.queryByRole('dialog'), 'a reader types').toBeNull();
  element('#camera').blur();
  await press(page, '?');
  expect(textOf(screen.getByRole('dialog', { name: 'Keyboard shortcuts' }))).toContain('/ Find a camera');
});

it('without a focus, a takes the alert that comes first', async () => {
  const page = await openPage({ notifications: NOTIFICATIONS });
  await press(page, 'a');
  expect(textOf(screen.getByRole('dialog'))).toContain('Fire · Mile 1');
});

it('the focus stays near its place when the part that had it is gone', async () => {
  const page = await openPage();
  page.service.notifications = [notification('over', { status: 'completed', recipients: [person('00', 'confirmed')] })];
  await page.advance(8_000);
  const use = async (button: HTMLElement): Promise<string | undefined> => {
    button.focus();
    button.click();
    await page.advance(0);
    return document.activeElement?.id;
  };
  expect(await use(screen.getByRole('button', { name: 'Leave it off' }))).toBe('alerts');
  expect(await use(screen.getByRole('button', { name: /^Seen/ }))).toBe('alerts');
  const camera = element('#camera');
  camera.focus();
  fireEvent.input(camera, { target: { value: 'ridge-1' } });
  await press(page, 'Enter');
  expect([location.search, document.activeElement?.id]).toEqual(['?camera_id=ridge-1&tz=utc', 'camera']);
  expect(await use(screen.getByRole('link', { name: 'All cameras' }))).toBe('camera');
});
