import { screen } from '@testing-library/preact';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import { NOON, notification, type PageAnswers, refusal } from '../answers.ts';
import { element, openPage, textOf } from './stage.ts';

const AS_OF_NOON = 'bad: not current: alerts as of 12:00:00 UTC';

it('before the first answer about alerts, no lamp is calm', async () => {
  const { service, lamp, advance } = await openPage({ instead: () => 'hang' });
  expect([lamp('Alerts'), lamp('Phone')]).toEqual(['quiet: …', 'quiet: …']);
  service.instead = () => undefined;
  await advance(30_000);
  expect([lamp('Alerts'), lamp('Phone')]).toEqual(['good: none open', 'good: ready']);
});

describe('polling', () => {
  it('of a hidden tab: the alerts every 55 s, and whether cameras send; alerts are old after 75 s', async () => {
    const { service, lamp, advance, setHidden } = await openPage();
    setHidden(true);
    await advance(1_000);
    const from = service.asked.length;
    await advance(600_000);
    const asked = service.asked.slice(from).map(({ path }) => path.replace(/[?].*/, ''));
    const times = (path: string) => asked.filter((each) => each === path).length;
    expect([times('notifications'), times('analytics'), times('analytics/cameras/last-seen')]).toEqual([20, 10, 1]);
    expect(asked).toHaveLength(31);
    service.instead = () => 'hang';
    // The last answer came 51 s before.
    await advance(23_900);
    expect(lamp('Data')).toMatch(/^good/);
    expect(lamp('Phone')).toBe('good: ready');
    await advance(1_100);
    expect(lamp('Data')).toMatch(/^bad/);
    expect([lamp('Alerts'), lamp('Phone')]).toEqual(['bad: unknown', 'quiet: unknown']);
    service.instead = () => undefined;
    setHidden(false);
    await advance(0);
    expect(lamp('Data')).toMatch(/^good/);
  });

  it('of a visible tab: alerts every 8 s, figures that grow every 10 s, others every 60 s; at most 36 requests a minute', async () => {
    const { service, advance } = await openPage();
    await advance(1_000);
    const [shown, from] = [element('main').innerHTML, service.asked.length];
    await advance(9_000);
    // Nothing has changed: each answer is empty, and the page stays as it is.
    expect(service.asked.slice(from).map(({ status }) => status)).toEqual([304, 304, 304, 304]);
    expect(element('main').innerHTML).toBe(shown);
    await advance(109_000);
    expect(service.askedFor('notifications?attention')).toHaveLength(15);
    expect(service.askedFor('analytics/series')).toHaveLength(12);
    expect((service.asked.length - from) / 2).toBeLessThanOrEqual(36);
    const past = await openPage({}, '?date=2026-11-20&tz=utc');
    await past.advance(119_000);
    expect(past.service.askedFor('analytics/series')).toHaveLength(2);
  });

  it('goes on for the alerts after a refused key, once a minute with the key that was held; the figures stay', async () => {
    const { service, lamp, problems, figure, advance } = await openPage({ key: 'first' }, '?tz=utc', 'first');
    service.key = 'second';
    await advance(10_000);
    expect(lamp('Data')).toBe('bad: key needed as of 12:00:00 UTC');
    expect(problems()[0]).toContain('The service refuses the key.');
    expect(problems()[0]).toContain('The page shows data from 21 Nov 12:00:00 UTC.');
    expect(figure('total_events')).toBe('10');
    expect(screen.getByLabelText('Function key')).toBe(document.activeElement);
    expect(document.title).toMatch(/^Data key needed · Today/);
    expect(sessionStorage.getItem('wildfire-camera-activity.function-key')).toBe('first');
    const from = service.asked.length;
    await advance(120_000);
    const asked = service.asked.slice(from);
    expect(asked.filter(({ path }) => path === 'notifications?attention=true')).toHaveLength(2);
    expect(asked.every(({ key, path }) => key === 'first' && path.startsWith('notifications'))).toBe(true);
    service.key = 'first';
    service.notifications = [notification('fire')];
    await advance(60_000);
    expect([lamp('Data'), lamp('Alerts')]).toEqual([expect.stringMatching(/^good: \d s old/), 'warn: 1 open']);
    expect(screen.queryByLabelText('Function key')).toBeNull();
  });
});

it('red: a service that stops answering, 15 s after its answers, in health bar, problems and tab', async () => {
  const { service, lamp, problems, advance } = await openPage();
  expect(lamp('Data')).toBe('good: 0 s old');
  service.instead = () => 'hang';
  await advance(14_900);
  expect(lamp('Data')).toBe('good: 14 s old');
  await advance(1_100);
  expect(lamp('Data')).toBe(AS_OF_NOON);
  expect(element('.health').className).toBe('health row bad');
  expect(problems()[0]).toContain('The service does not answer. The page shows data from 21 Nov 12:00:00 UTC.');
  expect(document.title).toMatch(/^Alerts unknown · Data not current: alerts · Today/);
  expect(document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href).toContain(encodeURIComponent('<circle'));
});

it('amber: figures that fail hide no fire; the part says as of when it is true, and the other parts continue', async () => {
  const { service, lamp, problems, figure, advance } = await openPage();
  service.instead = (path) => (path.startsWith('analytics/series') ? refusal(200, { steps: 'many' }) : undefined);
  service.frames = 11;
  await advance(10_000);
  expect(figure('total_events')).toBe('11');
  expect(lamp('Data')).toBe('warn: not current: plots as of 12:00:00 UTC');
  expect(element('.health').className).toBe('health row warn');
  const notes = [...document.querySelectorAll('.part-note')].map((note) => note.textContent);
  expect(notes).toEqual(Array.from({ length: 4 }, () => 'As of 21 Nov 12:00:00 UTC'));
  expect(problems()[0]).toContain('Reload the page');
});

it('red: no calls are possible, with the time and the reason', async () => {
  const { service, lamp, problems, advance } = await openPage();
  service.phone = { usable: false, since: '2026-11-21T11:59:00.000Z', reason: 'the provider refuses' };
  await advance(8_000);
  expect([lamp('Phone'), lamp('Data')]).toEqual(['bad: cannot call', expect.stringMatching(/^good/)]);
  expect(problems()[0]).toContain('The service cannot place calls (since 21 Nov 11:59:00 UTC): the provider refuses.');
  expect(problems()[0]).toContain('The page asks again in 8 s.');
  expect(document.title).toMatch(/^Phone cannot call · Today/);
  service.phone = { usable: true };
  await advance(8_000);
  expect(lamp('Phone')).toBe('good: ready');
});

it('red: PHONE=off in a tab that saw a phone, even after a reload; the alerts stay', async () => {
  const { service, lamp, problems, alerts, advance, reload } = await openPage({
    notifications: [notification('fire')],
  });
  service.hasPhone = false;
  await advance(8_000);
  expect(lamp('Phone')).toBe('bad: off');
  expect(problems()).toEqual([expect.stringContaining('The phone is switched off: the service calls no person.')]);
  expect(alerts()['Running']).toHaveLength(1);
  expect(element('#alerts .part-note').textContent).toBe('As of 21 Nov 12:00:00 UTC');
  await reload();
  expect([lamp('Phone'), lamp('Alerts')]).toEqual(['bad: off', 'bad: unknown']);
  expect(textOf(element('#alerts'))).toBe('The page cannot tell whether there are alerts.');
});

it('red: alerts after hours without an answer, as in a computer that slept; the page never says that all is well', async () => {
  const { service, lamp, advance, setHidden } = await openPage();
  expect(textOf(element('#alerts'))).toBe('No alert needs you.');
  service.instead = () => 'hang';
  vi.setSystemTime(NOON + 3_600_000);
  setHidden(false);
  await advance(0);
  expect(lamp('Alerts')).toBe('bad: unknown');
  expect(textOf(element('#alerts'))).toBe('As of 21 Nov 12:00:00 UTC No alert needed you then.');
});

it('gray: PHONE=off in a tab that never saw a phone; the first alert is shown within 10 s', async () => {
  const { service, lamp, alerts, advance, figure } = await openPage({ hasPhone: false });
  expect([lamp('Phone'), lamp('Alerts'), figure('total_events')]).toEqual([
    'quiet: not used here',
    'quiet: none',
    '10',
  ]);
  expect(textOf(element('#alerts'))).toContain('This service does not phone');
  await advance(60_000);
  service.hasPhone = true;
  service.notifications = [notification('fire')];
  await advance(10_000);
  expect(alerts()['Running']).toHaveLength(1);
});

it('gray: before the first answers; each part says that it asks, and offers no file', async () => {
  const { lamp, figure } = await openPage({
    instead: (path) => (path.startsWith('analytics') ? 'hang' : undefined),
  });
  expect([lamp('Data'), lamp('Cameras')]).toEqual(['quiet: loading 0 s old', 'quiet: …']);
  expect(figure('total_events')).toBe('–');
  expect(screen.getAllByText('Loading…')).toHaveLength(3);
  expect(screen.queryAllByRole('button', { name: /^Download CSV/ })).toEqual([]);
});

it('gray, then red, but never green: old figures in a tab that is seen again after hours', async () => {
  const { service, lamp, advance, setHidden } = await openPage();
  setHidden(true);
  await advance(3_600_000);
  service.instead = (path) => (path.startsWith('analytics') ? 'hang' : undefined);
  setHidden(false);
  await advance(0);
  expect(lamp('Data')).toMatch(/^quiet: loading/);
  await advance(16_000);
  // Only three questions are open at once: some of these parts still wait for their turn.
  expect(lamp('Data')).toMatch(/^bad: not current: camera states, figures, plots, cameras, accuracy/);
});

it('a new version of the page is offered when the service has one', async () => {
  const { service, advance } = await openPage();
  await advance(600_000);
  expect(screen.queryByText(/new version/)).toBeNull();
  service.version = '"2"';
  await advance(600_000);
  expect(screen.getByText(/The service has a new version of this page/)).toBeDefined();
  expect(screen.getByRole('button', { name: 'Reload' })).toBeDefined();
});

const WELL: Partial<PageAnswers> = { instead: () => undefined, hasPhone: true, phone: { usable: true } };

/** Something else than the service answers about notifications, or the service in trouble. */
const alertsRefused = (status: number, body = {}): Partial<PageAnswers> => ({
  instead: (path) => (path.startsWith('notifications') ? refusal(status, body) : undefined),
});

const TROUBLES: Readonly<Record<string, Partial<PageAnswers>>> = {
  'a network that swallows questions': { instead: () => 'hang' },
  'no network': { instead: () => 'away' },
  'a deployment': alertsRefused(404),
  'a gateway': alertsRefused(503, { detail: 'No healthy upstream.' }),
  'a firewall': alertsRefused(403, { detail: 'phone_off' }),
  'storage that fails': alertsRefused(503, { detail: '', code: 'storage_unavailable' }),
  'a bug': alertsRefused(500, { detail: '', code: 'phone_off' }),
  'PHONE=off': { hasPhone: false },
  'no usable phone': { phone: { usable: false } },
};

it('red: every trouble after 16 s, in any order; a fire is shown 10 s after its end', async () => {
  const troubles = fc.shuffledSubarray(Object.entries(TROUBLES), { minLength: 9 });
  await fc.assert(
    fc.asyncProperty(troubles, async (inOrder) => {
      const { service, lamp, alerts, advance } = await openPage();
      for (const [name, trouble] of inOrder) {
        Object.assign(service, trouble);
        await advance(16_000);
        expect(`${lamp('Phone')}, ${lamp('Data')}`, name).toMatch(/bad: (off|cannot call|not current)/);
        expect(element('.health').className, name).toBe('health row bad');
        Object.assign(service, WELL, { notifications: [notification('fire')] });
        await advance(10_000);
        expect(alerts()['Running'], name).toEqual([expect.stringContaining('Fire')]);
        service.notifications = [];
      }
      await advance(76_000);
      expect([element('.health').className, alerts()]).toEqual(['health row good', {}]);
    }),
    { numRuns: 2 },
  );
});
