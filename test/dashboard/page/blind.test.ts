import { screen } from '@testing-library/preact';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { notification, type PageAnswers, refusal } from '../answers.ts';
import { element, openPage, textOf } from './stage.ts';

const AS_OF_NOON = 'Not current: alerts, notifications as of 12:00:00 UTC';

describe('polling', () => {
  it('of a hidden tab: only the alerts, every 55 s; they are old after 75 s', async () => {
    const { service, head, advance, setHidden } = await openPage();
    const from = service.asked.length;
    setHidden(true);
    await advance(600_000);
    const asked = service.asked.slice(from).map(({ path }) => path);
    expect(new Set(asked)).toEqual(new Set(['notifications?attention=true']));
    expect(asked).toHaveLength(11);
    service.instead = () => 'hang';
    // The last answer came 50 s before.
    await advance(24_900);
    expect(head().color).toBe('green');
    await advance(1_100);
    expect(head().color).toBe('red');
    service.instead = () => undefined;
    setHidden(false);
    await advance(0);
    expect(head().color).toBe('green');
  });

  it('of a visible tab: alerts every 8 s, figures that grow every 10 s, other figures every 60 s', async () => {
    const { service, advance } = await openPage();
    const [shown, from] = [element('main').innerHTML, service.asked.length];
    await advance(10_000);
    // Nothing has changed: each answer is empty, and the page stays as it is.
    expect(service.asked.slice(from).map(({ status }) => status)).toEqual([304, 304, 304, 304, 304]);
    expect(element('main').innerHTML).toBe(shown);
    await advance(109_000);
    expect(service.askedFor('notifications?attention')).toHaveLength(15);
    expect(service.askedFor('analytics/series')).toHaveLength(12);
    const past = await openPage({}, '?date=2026-11-20&tz=utc');
    await past.advance(119_000);
    expect(past.service.askedFor('analytics/series')).toHaveLength(2);
  });
});

it('red: a service that stops answering, 15 s after its answers, in head, strip and tab', async () => {
  const { service, head, strip, advance } = await openPage();
  expect(head()).toEqual({ color: 'green', words: 'Updated 0 s ago' });
  service.instead = () => 'hang';
  await advance(14_900);
  expect(head()).toEqual({ color: 'green', words: 'Updated 14 s ago' });
  await advance(1_100);
  expect(head()).toEqual({ color: 'red', words: AS_OF_NOON });
  expect(strip()[0]).toContain(
    'The service does not answer. Not current: alerts, notifications. The page shows data from 21 Nov 12:00:00 UTC.',
  );
  expect(document.title).toMatch(/^Not current · Today/);
  expect(document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href).toContain(encodeURIComponent('M2 2 30 30'));
});

it('red: one part that fails says as of when it is true, and the other parts continue', async () => {
  const { service, head, strip, figure, advance } = await openPage();
  service.instead = (path) => (path.startsWith('analytics/series') ? refusal(200, { steps: 'many' }) : undefined);
  service.frames = 11;
  await advance(10_000);
  expect(figure('total_events')).toBe('11');
  expect(head()).toEqual({ color: 'red', words: 'Not current: plots as of 12:00:00 UTC' });
  const notes = [...document.querySelectorAll('.part-note')].map((note) => note.textContent);
  expect(notes).toEqual(['As of 21 Nov 12:00:00 UTC']);
  expect(strip()[0]).toContain('Reload the page');
});

it('red: no calls are possible, with the time and the reason', async () => {
  const { service, head, strip, advance } = await openPage();
  service.phone = { usable: false, since: '2026-11-21T11:59:00.000Z', reason: 'the provider refuses' };
  await advance(8_000);
  expect(head()).toEqual({ color: 'red', words: 'The service cannot place calls, alerts as of 12:00:08 UTC' });
  expect(strip()[0]).toContain('The service cannot place calls (since 21 Nov 11:59:00 UTC): the provider refuses.');
  expect(document.title).toMatch(/^The service cannot place calls · /);
  service.phone = { usable: true };
  await advance(8_000);
  expect(head().color).toBe('green');
});

it('red: PHONE=off in a tab that saw a phone, even after a reload; the alerts stay', async () => {
  const { service, head, strip, advance, reload } = await openPage({ notifications: [notification('fire')] });
  service.hasPhone = false;
  await advance(8_000);
  expect(head()).toEqual({ color: 'red', words: 'Phone is off, alerts as of 12:00:00 UTC' });
  expect(strip()).toEqual([
    expect.stringContaining('The phone is off: the service calls no person.'),
    expect.stringContaining('Confirmed fire'),
  ]);
  expect(element('#notifications .part-note').textContent).toBe('As of 21 Nov 12:00:00 UTC');
  await reload();
  expect(head().color).toBe('red');
});

it('gray: PHONE=off in a tab that never saw a phone; the first alert is shown within 10 s', async () => {
  const { service, head, strip, advance, figure } = await openPage({ hasPhone: false });
  expect(head()).toEqual({ color: 'gray', words: 'This service does not phone. Updated 0 s ago' });
  expect([strip(), figure('total_events')]).toEqual([[], '10']);
  expect(textOf(element('.aside'))).toContain('This service does not phone (PHONE=off).');
  await advance(60_000);
  service.hasPhone = true;
  service.notifications = [notification('fire')];
  await advance(10_000);
  expect(strip()).toEqual([expect.stringContaining('Confirmed fire')]);
});

it('gray: before the first answers; each part says that it asks, and offers no file', async () => {
  const { head, figure } = await openPage({
    instead: (path) => (path.startsWith('analytics') ? 'hang' : undefined),
  });
  expect(head()).toEqual({ color: 'gray', words: expect.stringMatching(/^Loading…/) });
  expect(figure('total_events')).toBe('–');
  expect(screen.getAllByText('Loading…').length).toBeGreaterThanOrEqual(5);
  expect(screen.queryAllByRole('button', { name: /^Download CSV/ })).toEqual([]);
});

it('gray, then red, but never green: old figures in a tab that is seen again after hours', async () => {
  const { service, head, advance, setHidden } = await openPage();
  setHidden(true);
  await advance(3_600_000);
  service.instead = (path) => (path.startsWith('analytics') ? 'hang' : undefined);
  setHidden(false);
  await advance(0);
  expect(head().color).toBe('gray');
  await advance(16_000);
  // Only three questions are open at once: some of these parts still wait for their turn.
  const words = 'Not current: silence, figures, plots, cameras, accuracy as of 12:00:00 UTC';
  expect(head()).toEqual({ color: 'red', words });
});

it('red: a key that the service no longer accepts; its figures stay, with their time', async () => {
  const { service, head, strip, figure, advance } = await openPage({ key: 'first' }, '?tz=utc', 'first');
  service.key = 'second';
  await advance(10_000);
  expect(head()).toEqual({ color: 'red', words: 'Key needed as of 12:00:00 UTC' });
  expect(strip()[0]).toContain('The service no longer accepts the key.');
  expect(strip()[0]).toContain('The page shows data from 21 Nov 12:00:00 UTC.');
  expect(figure('total_events')).toBe('10');
  expect(screen.getByLabelText('Function key')).toBe(document.activeElement);
  expect(document.title).toMatch(/^Key needed · /);
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
      const { service, head, strip, advance } = await openPage();
      for (const [name, trouble] of inOrder) {
        Object.assign(service, trouble);
        await advance(16_000);
        expect(head(), name).toEqual({ color: 'red', words: expect.stringMatching(/alerts|^Not current as of/) });
        Object.assign(service, WELL, { notifications: [notification('fire')] });
        await advance(10_000);
        expect(strip().at(-1), name).toContain('Confirmed fire');
        service.notifications = [];
      }
      await advance(76_000);
      expect([head().color, strip()]).toEqual(['green', []]);
    }),
    { numRuns: 2 },
  );
});
