import { screen } from '@testing-library/preact';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { notification, PageAnswers, refusal } from './answers.ts';
import { element, expectTitle, openPage } from './stage.ts';

const icon = (): string => document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href ?? '';
const OUTAGE = encodeURIComponent('M2 2 30 30');

describe('the page is never green while it is blind', () => {
  it('a service that answers is green, and the page says how old its answers are', async () => {
    const { head, advance } = await openPage();
    expect(head()).toEqual({ color: 'green', words: 'Updated 0 s ago' });
    await advance(3_000);
    expect(head()).toEqual({ color: 'green', words: 'Updated 3 s ago' });
    expectTitle(/^Today/);
  });

  it('a service that stops answering is red within 15 s, in head, strip and tab, with the time as of which alerts are true', async () => {
    const { service, head, strip, advance } = await openPage();
    service.instead = () => 'hang';
    await advance(14_900);
    expect(head().color).toBe('green');
    await advance(1_100);
    expect(head()).toEqual({ color: 'red', words: 'Not current: alerts, notifications as of 12:00:00 UTC' });
    expect(strip()[0]).toContain(
      'The service does not answer. Not current: alerts, notifications. You see what the service answered at 21 Nov 12:00:00 UTC.',
    );
    expectTitle(/^Not current · Today/);
    expect(icon()).toContain(OUTAGE);
  });

  it('a hidden tab asks about alerts alone and less often, and is red within 75 s', async () => {
    const { service, head, advance, setHidden } = await openPage();
    const from = service.asked.length;
    setHidden(true);
    await advance(600_000);
    const asked = service.asked.slice(from).map(({ path }) => path);
    expect(new Set(asked)).toEqual(new Set(['notifications?attention=true']));
    expect(asked.length).toBeGreaterThanOrEqual(10);
    expect(asked.length).toBeLessThanOrEqual(12);
    expect(head().color).toBe('green');
    service.instead = () => 'hang';
    await advance(76_000);
    expect(head().color).toBe('red');
    expectTitle(/^Not current · /);
    service.instead = () => undefined;
    setHidden(false);
    await advance(0);
    expect(head().color).toBe('green');
  });

  it.each([
    ['a deployment', 404, {}],
    ['a gateway', 503, { detail: 'No healthy upstream.' }],
    ['a firewall', 403, { detail: 'Your address is not allowed.' }],
  ])(
    'notifications that %s refuses are red at the next question; a fire is shown as soon as that is over',
    async (_, status, body) => {
      const { service, head, strip, advance } = await openPage();
      service.instead = (path) => (path.startsWith('notifications') ? refusal(status, body) : undefined);
      await advance(8_000);
      expect(head()).toEqual({ color: 'red', words: 'Not current: alerts, notifications as of 12:00:00 UTC' });
      await advance(60_000);
      service.notifications = [notification('fire')];
      service.instead = () => undefined;
      await advance(10_000);
      expect(head().color).toBe('green');
      expect(strip()).toEqual([expect.stringContaining('Confirmed fire')]);
      expectTitle(/^\(1\) Today/);
    },
  );

  it('a part that fails alone says as of when it is true; the others go on', async () => {
    const { service, head, figure, advance } = await openPage();
    service.instead = (path) => (path.startsWith('analytics/series') ? refusal(200, { steps: 'many' }) : undefined);
    service.frames = 11;
    await advance(10_000);
    expect(figure('total_events')).toBe('11');
    expect(head()).toEqual({ color: 'red', words: 'Not current: plots as of 12:00:00 UTC' });
    expect([...document.querySelectorAll('.part-note')].map((note) => note.textContent)).toEqual([
      'As of 21 Nov 12:00:00 UTC',
    ]);
    expect(document.querySelector('.attention')?.textContent).toContain('Reload the page');
  });

  it('a provider that refuses is red: nobody can be called, since when and why', async () => {
    const { service, head, strip, advance } = await openPage();
    service.phone = {
      usable: false,
      since: '2026-11-21T11:59:00.000Z',
      reason: 'the phone service does not accept this app',
    };
    await advance(8_000);
    expect(head()).toEqual({ color: 'red', words: 'Nobody can be called, alerts as of 12:00:08 UTC' });
    expect(strip()[0]).toContain(
      'Nobody can be called since 21 Nov 11:59:00 UTC: the phone service does not accept this app. You see what the service answered at 21 Nov 12:00:08 UTC.',
    );
    expectTitle(/^Nobody can be called · /);
    service.phone = { usable: true };
    await advance(8_000);
    expect(head().color).toBe('green');
  });

  it('PHONE=off is red where this tab saw a phone, also after a reload; the alerts that were there stay', async () => {
    const service = new PageAnswers();
    service.notifications = [notification('fire')];
    const { head, strip, advance, reload } = await openPage({ service });
    service.hasPhone = false;
    await advance(8_000);
    expect(head()).toEqual({ color: 'red', words: 'Phone is off, alerts as of 12:00:00 UTC' });
    expect(strip()).toEqual([
      expect.stringContaining('The phone is off: nobody is called.'),
      expect.stringContaining('Confirmed fire'),
    ]);
    expect(element('#notifications .part-note').textContent).toBe('As of 21 Nov 12:00:00 UTC');
    await reload();
    expect(head().color).toBe('red');
    await advance(120_000);
    service.hasPhone = true;
    await advance(10_000);
    expect(head().color).toBe('green');
  });

  it('PHONE=off is grey where this tab never saw a phone; when it is on, the first alert is seen within 10 s', async () => {
    const service = new PageAnswers();
    service.hasPhone = false;
    const { head, strip, advance, figure } = await openPage({ service });
    expect(head()).toEqual({ color: 'gray', words: 'This service does not phone. Updated 0 s ago' });
    expect(strip()).toEqual([]);
    expect(figure('total_events')).toBe('10');
    await advance(120_000);
    expectTitle(/^Today/);
    service.hasPhone = true;
    service.notifications = [notification('fire')];
    await advance(10_000);
    expect(strip()).toEqual([expect.stringContaining('Confirmed fire')]);
  });

  it('a key that is not accepted any more is red; what it showed stays, with its time', async () => {
    const service = new PageAnswers();
    service.key = 'first';
    const { head, strip, figure, advance } = await openPage({ service, key: 'first' });
    service.key = 'second';
    await advance(10_000);
    expect(head()).toEqual({ color: 'red', words: 'Key needed as of 12:00:00 UTC' });
    expect(strip()[0]).toContain('The service no longer accepts the key.');
    expect(strip()[0]).toContain('You see what the service answered at 21 Nov 12:00:00 UTC.');
    expect(figure('total_events')).toBe('10');
    expect(screen.getByLabelText('Function key')).toBe(document.activeElement);
    expectTitle(/^Key needed · /);
  });

  it('a part that is seen again after hours is grey until it is answered, and never green with old figures', async () => {
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

  it('whatever happens in whatever order: green means that every answer is current and the phone works', async () => {
    const happening = fc.constantFrom('answers', 'hang', 'away', 'refused', 'off', 'unusable');
    const history = fc.array(fc.tuple(happening, fc.integer({ min: 1, max: 40 })), { minLength: 1, maxLength: 12 });
    const wrong: string[] = [];
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const { service, head, advance } = await openPage();
        let answersFor = 0;
        for (const [what, seconds] of steps) {
          service.hasPhone = what !== 'off';
          service.phone = { usable: what !== 'unusable' };
          service.instead = () =>
            what === 'hang' ? 'hang' : what === 'away' ? 'away' : what === 'refused' ? refusal(403) : undefined;
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
      { numRuns: 8 },
    );
    expect(wrong).toEqual([]);
  });
});
