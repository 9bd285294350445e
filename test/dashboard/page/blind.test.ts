import { screen } from '@testing-library/preact';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { notification, refusal } from '../answers.ts';
import { element, openPage } from './stage.ts';

const AS_OF_NOON = 'Not current: alerts, notifications as of 12:00:00 UTC';

it('green: a service that answers; the page says how old its answers are', async () => {
  const { head, advance } = await openPage();
  expect(head()).toEqual({ color: 'green', words: 'Updated 0 s ago' });
  await advance(3_000);
  expect(head()).toEqual({ color: 'green', words: 'Updated 3 s ago' });
});

it('red: a service that stops answering, 15 s after its answers, in head, strip and tab', async () => {
  const { service, head, strip, advance } = await openPage();
  service.instead = () => 'hang';
  await advance(14_900);
  expect(head().color).toBe('green');
  await advance(1_100);
  expect(head()).toEqual({ color: 'red', words: AS_OF_NOON });
  expect(strip()[0]).toContain(
    'The service does not answer. Not current: alerts, notifications. The page shows data from 21 Nov 12:00:00 UTC.',
  );
  expect(document.title).toMatch(/^Not current · Today/);
  expect(document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href).toContain(encodeURIComponent('M2 2 30 30'));
});

it('a hidden tab polls only the alerts, every 55 s, and is red after 75 s', async () => {
  const { service, head, advance, setHidden } = await openPage();
  const from = service.asked.length;
  setHidden(true);
  await advance(600_000);
  const asked = service.asked.slice(from).map(({ path }) => path);
  expect(new Set(asked)).toEqual(new Set(['notifications?attention=true']));
  expect(asked).toHaveLength(11);
  expect(head().color).toBe('green');
  service.instead = () => 'hang';
  await advance(76_000);
  expect(head().color).toBe('red');
  service.instead = () => undefined;
  setHidden(false);
  await advance(0);
  expect(head().color).toBe('green');
});

it('a visible tab polls alerts every 8 s, figures that grow every 10 s, other figures every 60 s', async () => {
  const live = await openPage();
  await live.advance(119_000);
  expect(live.service.askedFor('notifications?attention')).toHaveLength(15);
  expect(live.service.askedFor('analytics/series')).toHaveLength(12);
  const past = await openPage({ search: '?date=2026-11-20&tz=utc' });
  await past.advance(119_000);
  expect(past.service.askedFor('analytics/series')).toHaveLength(2);
});

it.each([
  ['a deployment', 404, {}],
  ['a gateway', 503, { detail: 'No healthy upstream.' }],
  ['a firewall', 403, { detail: 'phone_off' }],
  ['storage', 503, { detail: '', code: 'storage_unavailable' }],
  ['a bug', 500, { detail: '', code: 'phone_off' }],
])('red: notifications that %s refuses; the page shows a fire as soon as that is over', async (_, status, body) => {
  const { service, head, strip, advance } = await openPage();
  service.instead = (path) => (path.startsWith('notifications') ? refusal(status, body) : undefined);
  await advance(8_000);
  expect(head()).toEqual({ color: 'red', words: AS_OF_NOON });
  service.notifications = [notification('fire')];
  service.instead = () => undefined;
  await advance(10_000);
  expect(head().color).toBe('green');
  expect(strip()).toEqual([expect.stringContaining('Confirmed fire')]);
  expect(document.title).toMatch(/^\(1\) Today/);
});

it('red: one part that fails says as of when it is true, and the other parts continue', async () => {
  const { service, head, strip, figure, advance } = await openPage();
  service.instead = (path) => (path.startsWith('analytics/series') ? refusal(200, { steps: 'many' }) : undefined);
  service.frames = 11;
  await advance(10_000);
  expect(figure('total_events')).toBe('11');
  expect(head()).toEqual({ color: 'red', words: 'Not current: plots as of 12:00:00 UTC' });
  expect([...document.querySelectorAll('.part-note')].map((note) => note.textContent)).toEqual([
    'As of 21 Nov 12:00:00 UTC',
  ]);
  expect(strip()[0]).toContain('Reload the page');
});

it('red: no calls are possible, with the time and the reason', async () => {
  const { service, head, strip, advance } = await openPage();
  service.phone = { usable: false, since: '2026-11-21T11:59:00.000Z', reason: 'the provider refuses' };
  await advance(8_000);
  expect(head()).toEqual({ color: 'red', words: 'The service cannot place calls, alerts as of 12:00:08 UTC' });
  expect(strip()[0]).toContain(
    'The service cannot place calls (since 21 Nov 11:59:00 UTC): the provider refuses. The page shows',
  );
  expect(document.title).toMatch(/^The service cannot place calls · /);
  service.phone = { usable: true };
  await advance(8_000);
  expect(head().color).toBe('green');
});

it('red: PHONE=off in a tab that saw a phone, even after a reload; the alerts stay', async () => {
  const { service, head, strip, advance, reload } = await openPage({
    service: { notifications: [notification('fire')] },
  });
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
  service.hasPhone = true;
  await advance(10_000);
  expect(head().color).toBe('green');
});

it('gray: PHONE=off in a tab that never saw a phone; the first alert is shown within 10 s', async () => {
  const { service, head, strip, advance, figure } = await openPage({ service: { hasPhone: false } });
  expect(head()).toEqual({ color: 'gray', words: 'This service does not phone. Updated 0 s ago' });
  expect([strip(), figure('total_events')]).toEqual([[], '10']);
  expect(document.title).toMatch(/^Today/);
  await advance(60_000);
  service.hasPhone = true;
  service.notifications = [notification('fire')];
  await advance(10_000);
  expect(strip()).toEqual([expect.stringContaining('Confirmed fire')]);
});

it('red: a key that the service no longer accepts; its figures stay, with their time', async () => {
  const { service, head, strip, figure, advance } = await openPage({ service: { key: 'first' }, key: 'first' });
  service.key = 'second';
  await advance(10_000);
  expect(head()).toEqual({ color: 'red', words: 'Key needed as of 12:00:00 UTC' });
  expect(strip()[0]).toContain('The service no longer accepts the key.');
  expect(strip()[0]).toContain('The page shows data from 21 Nov 12:00:00 UTC.');
  expect(figure('total_events')).toBe('10');
  expect(screen.getByLabelText('Function key')).toBe(document.activeElement);
  expect(document.title).toMatch(/^Key needed · /);
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
  expect(head().color).toBe('red');
});

it('after any history, green means that every answer is current and the phone works', async () => {
  const happening = fc.constantFrom('answers', 'hang', 'away', 'refused', 'off', 'unusable');
  const history = fc.array(fc.tuple(happening, fc.integer({ min: 1, max: 40 })), { minLength: 1, maxLength: 8 });
  const wrong: string[] = [];
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const { service, head, advance } = await openPage();
      let answersFor = 0;
      for (const [what, seconds] of steps) {
        service.hasPhone = what !== 'off';
        service.phone = { usable: what !== 'unusable' };
        service.instead = () =>
          what === 'hang' || what === 'away' ? what : what === 'refused' ? refusal(403) : undefined;
        for (let second = 1; second <= seconds; second += 1) {
          await advance(1_000);
          answersFor = what === 'answers' ? answersFor + 1 : 0;
          const { color } = head();
          if (what !== 'answers' && second > 15 && color !== 'red') wrong.push(`${color}: ${what} for ${second} s`);
          if (answersFor > 75 && color !== 'green') wrong.push(`${color}: answers for ${answersFor} s`);
        }
      }
      document.body.replaceChildren();
      expect(wrong).toEqual([]);
    }),
    { numRuns: 6 },
  );
});
