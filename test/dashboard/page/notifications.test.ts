import { screen, within } from '@testing-library/preact';
import { expect, it } from 'vitest';

import { missed, notification, WAVES } from '../answers.ts';
import { element, focused, openPage, textOf } from './stage.ts';

/** The lines of the list: type and mark. */
const listed = (): readonly string[] =>
  [...document.querySelectorAll('.notification')].map((each) =>
    [...each.children]
      .slice(0, 2)
      .map((child) => textOf(child))
      .join(': '),
  );

it('an open notification has each wave, name, masked number and attempt, and why a recipient waits', async () => {
  const notifications = [notification('fire', { recipients: WAVES })];
  const { strip } = await openPage({ notifications }, '?notification=fire&tz=utc');
  expect([...document.querySelectorAll('.story section')].map((section) => textOf(section))).toEqual([
    [
      'Wave 1 Ana +1206•••••10 ✕ Not reached ✕ No answer 11:59:10 UTC, 30 s, code 480/560480 • Stopped by an operator 11:59:45 UTC, 3 s',
      'Bo +1206•••••11 … Waiting Not called yet. Waiting since 11:59:30 UTC: no line is free. Next attempt at 12:00:30 UTC',
    ].join(' '),
    'Wave 2 +1206•••••12 … Waiting Not called yet. Next attempt at 12:01:30 UTC',
  ]);
  expect(strip()).toEqual([expect.stringContaining('0 of 3 reached, 2 waiting, next attempt in 30 s')]);
});

it('strip, list and details show one state, from the freshest answer', async () => {
  const { service, advance, strip } = await openPage({}, '?notification=fire&tz=utc');
  expect(screen.getByText('No person has been called yet.')).toBeDefined();
  service.notifications = [notification('fire')];
  await advance(8_000);
  // Strip and list wait for their answers.
  service.instead = (path) => (path.startsWith('notifications?') ? 'hang' : undefined);
  service.notifications = [missed('fire')];
  await advance(8_000);
  expect(strip()[0]).toContain('✕ 1 not reached');
  expect(listed()).toEqual(['Confirmed fire: ✕ 1 not reached']);
  expect(textOf(element('.story'))).toContain('✕ Not reached');
});

it('the address opens a notification that is older than the list; 100 are listed on demand', async () => {
  const older = Array.from({ length: 12 }, (_, index) =>
    notification(`n${index}`, { alert_type: 'Anomaly', status: 'stopped' }),
  );
  const notifications = [...older, notification('old', { status: 'stopped' })];
  const { press } = await openPage({ notifications }, '?notification=old&tz=utc');
  expect(listed()).toHaveLength(11);
  expect(listed()[0]).toContain('Confirmed fire');
  await press('Show 100');
  expect(listed()).toHaveLength(13);
});

const dialog = (): HTMLElement => element('dialog[aria-labelledby=stop-title]');

it('stopping asks first, and for a key; it moves the focus to the notification, and reports a failure', async () => {
  const { service, press } = await openPage({ notifications: [notification('fire')] }, '?notification=fire&tz=utc');
  await press('Stop…');
  expect(focused()).toBe('Continue phoning');
  within(dialog()).getByLabelText<HTMLInputElement>(/Function key/).value = 'a-key';
  service.instead = (path) => (path.endsWith('/stop') ? 'away' : undefined);
  await press('Stop it');
  expect(focused()).toMatch(/^Confirmed fire/);
  expect(screen.getAllByText('The action failed. The service does not answer.')).toHaveLength(2);
  service.instead = () => undefined;
  await press('Stop…');
  expect(within(dialog()).queryByLabelText(/Function key/)).toBeNull();
  await press('Stop it');
  expect(service.asked.findLast(({ method }) => method === 'POST')).toMatchObject({
    path: 'notifications/fire/stop',
    key: 'a-key',
  });
  expect(screen.queryByText(/The action failed/)).toBeNull();
  expect(listed()).toEqual(['Confirmed fire: • Stopped']);
  expect(screen.queryByRole('button', { name: 'Stop…' })).toBeNull();
});
