import { screen, within } from '@testing-library/preact';
import { describe, expect, it } from 'vitest';

import { before, missed, notification, PageAnswers, person } from './answers.ts';
import { element, focused, openPage, textOf } from './stage.ts';

const WAVES = notification('waves', {
  confirmations_needed: 1,
  recipients: [
    person('10', 'not_reached', {
      name: 'Ana',
      wave: 1,
      attempts: [
        {
          placed_at: before(50),
          ended_at: before(20),
          outcome: 'no_answer',
          code: 480,
          sub_code: 560_480,
          reason: 'no answer',
        },
        { placed_at: before(15), ended_at: before(12), outcome: 'stopped' },
      ],
    }),
    person('11', 'waiting', {
      name: 'Bo',
      wave: 1,
      reason: 'no line is free',
      since: before(30),
      next_attempt_at: before(-30),
    }),
    person('12', 'waiting', { wave: 2 }),
  ],
});

const open = async (notifications: PageAnswers['notifications'], search = '?tz=utc', key?: string) => {
  const service = new PageAnswers();
  service.notifications = notifications;
  service.key = key;
  return openPage({ service, search, ...(key !== undefined && { key }) });
};

/** The lines of the list: what, how, who. */
const listed = (): readonly string[] =>
  [...document.querySelectorAll('.notification')].map((each) => [...each.children].map(textOf).slice(0, 2).join(': '));

describe('notifications', () => {
  it('are marked by what became of their people, not by "completed"', async () => {
    await open([
      notification('a', { status: 'completed', recipients: [person('00', 'confirmed', { name: 'Ana' })] }),
      notification('b', { status: 'completed', recipients: [person('00', 'heard'), person('01', 'heard')] }),
      missed('c', { alert_type: 'Anomaly' }),
      notification('d', { status: 'stopped', alert_type: 'Custom', recipients: [person('01', 'stopped')] }),
    ]);
    expect(listed()).toEqual([
      'Confirmed fire: ✓ Confirmed by Ana (+1206•••••00)',
      'Confirmed fire: ✓ All heard',
      'Anomaly: ✕ 1 not reached',
      'Custom: • Stopped',
    ]);
  });

  it('are told wave by wave: names beside masked numbers, every attempt, and what somebody waits for', async () => {
    await open([WAVES], '?notification=waves&tz=utc');
    expect([...document.querySelectorAll('.story section')].map(textOf)).toEqual([
      [
        'Wave 1 Ana +1206•••••10 ✕ Not reached ✕ No answer 11:59:10 UTC, 30 s, code 480/560480 • Stopped 11:59:45 UTC, 3 s',
        'Bo +1206•••••11 … Waiting Not called yet. Waiting since 11:59:30 UTC: no line is free. Next attempt at 12:00:30 UTC',
      ].join(' '),
      'Wave 2 +1206•••••12 … Waiting Not called yet.',
    ]);
  });

  it('have one state everywhere, from the freshest answer: strip, list and details', async () => {
    const { service, advance, strip } = await open([notification('fire')], '?notification=fire&tz=utc');
    // The strip's question hangs; the list and the open notification are answered.
    service.instead = (path) => (path.startsWith('notifications?attention') ? 'hang' : undefined);
    service.notifications = [missed('fire')];
    await advance(8_000);
    expect(strip()[0]).toContain('✕ 1 not reached');
    expect(listed()).toEqual(['Confirmed fire: ✕ 1 not reached']);
    expect(textOf(element('.story'))).toContain('✕ Not reached');
  });

  it('are opened by the address, also one that is older than the list; 100 are listed on demand', async () => {
    const older = Array.from({ length: 12 }, (_, index) =>
      notification(`n${index}`, { alert_type: 'Anomaly', status: 'stopped' }),
    );
    const { press } = await open([...older, notification('old', { status: 'stopped' })], '?notification=old&tz=utc');
    expect(listed()).toHaveLength(11);
    expect(listed()[0]).toContain('Confirmed fire');
    await press('Show 100');
    expect(listed()).toHaveLength(13);
  });

  it('say that nobody was phoned yet, or that the service has no phone', async () => {
    const { service, advance } = await open([]);
    expect(screen.getByText('Nobody has been phoned yet.')).toBeDefined();
    service.hasPhone = false;
    await advance(8_000);
    expect(screen.getByText('This service does not phone (PHONE=off).')).toBeDefined();
  });
});

const dialog = (): HTMLElement => element('dialog[aria-labelledby=stop-title]');

describe('stopping a notification', () => {
  it('asks first; then the focus is on the notification, and a failure is told', async () => {
    const { service, press, advance } = await open([notification('fire')], '?notification=fire&tz=utc', 'a-key');
    await press('Stop…');
    expect(focused()).toBe('Continue phoning');
    expect(within(dialog()).queryByLabelText(/Function key/)).toBeNull();
    service.instead = (path) => (path.endsWith('/stop') ? 'away' : undefined);
    await press('Stop it');
    expect(focused()).toMatch(/^Confirmed fire/);
    expect(screen.getByText('It was not stopped. The service does not answer.')).toBeDefined();
    service.instead = () => undefined;
    await press('Stop…');
    await press('Stop it');
    await advance(0);
    expect(listed()).toEqual(['Confirmed fire: • Stopped']);
    expect(screen.queryByRole('button', { name: 'Stop…' })).toBeNull();
  });

  it('is there without a key, and asks for one', async () => {
    const { service, press } = await open([notification('fire')], '?notification=fire&tz=utc');
    await press('Stop…');
    const field = within(dialog()).getByLabelText<HTMLInputElement>(/Function key/);
    field.value = 'a-key';
    await press('Stop it');
    expect(service.asked.find(({ method }) => method === 'POST')).toMatchObject({
      path: 'notifications/fire/stop',
      key: 'a-key',
    });
  });
});
