import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { notification, person } from '../answers.ts';
import { element, hear, openPage, textOf } from './stage.ts';

/** Seconds. */
const QUARTER = 900;

/** The events of the tab in a stretch of time. */
const TROUBLES = ['visible', 'hidden', 'reloaded', 'offline', 'refused'] as const;

const anyFire = fc.record({
  /** Seconds after the page was opened. */
  at: fc.integer({ min: 1, max: QUARTER }),
  /** Seconds until its calls are over: some fires are over before the page can ask. */
  lasts: fc.constantFrom(1, 2, 5, 25, 90, 600),
  end: fc.constantFrom('confirmed', 'heard', 'not_reached', 'stopped'),
});

const anyNight = fc.record({
  fires: fc.array(anyFire, { minLength: 60, maxLength: 60 }),
  stretches: fc.array(fc.tuple(fc.constantFrom(...TROUBLES), fc.integer({ min: 5, max: 55 })), {
    minLength: 30,
    maxLength: 30,
  }),
  hasKey: fc.boolean(),
});

it('60 fires at random times are each heard and listed: visible, hidden, reloaded, offline, refused, with and without a key', async () => {
  await fc.assert(
    fc.asyncProperty(anyNight, async ({ fires, stretches, hasKey }) => {
      const heard = hear();
      const page = await openPage(hasKey ? { key: 'a-key' } : {}, '?tz=utc', hasKey ? 'a-key' : undefined);
      sessionStorage.removeItem('wildfire-camera-activity.memory');
      localStorage.clear();
      await page.reload();
      await page.press('Turn the sound on');
      const { service } = page;
      const [opened, known] = [Date.now(), service.key];
      /** The state of the service at the time of the test. */
      service.instead = (path) => {
        const passed = (Date.now() - opened) / 1_000;
        const born = fires.map((fire, index) => ({ ...fire, index })).filter(({ at }) => at <= passed);
        const state = (fire: (typeof born)[number]) => {
          const created_at = new Date(opened + fire.at * 1_000).toISOString();
          const of = { created_at, details: `number ${fire.index}.` };
          if (passed < fire.at + fire.lasts) return notification(`fire-${fire.index}`, of);
          const status = fire.end === 'stopped' ? 'stopped' : 'completed';
          return notification(`fire-${fire.index}`, { ...of, status, recipients: [person('00', fire.end)] });
        };
        service.notifications = born.map(state).sort((left, right) => (left.created_at < right.created_at ? 1 : -1));
        // The figures take time, and are not in question.
        return isAway ? 'away' : /^analytics[/?]/.test(path) ? 'hang' : undefined;
      };
      let isAway = false;
      for (const [trouble, seconds] of stretches) {
        isAway = trouble === 'offline';
        service.key = trouble === 'refused' ? 'another' : known;
        page.setHidden(trouble === 'hidden');
        if (trouble === 'reloaded') {
          heard.isBlocked = true;
          await page.reload();
        }
        await page.advance(seconds * 1_000);
        // The operator returns, and clicks.
        heard.isBlocked = false;
        element('main').dispatchEvent(new Event('pointerdown', { bubbles: true }));
      }
      isAway = false;
      service.key = known;
      page.setHidden(false);
      await page.advance((QUARTER - (Date.now() - opened) / 1_000 + 700) * 1_000);

      const listed = Object.values(page.alerts()).flat().join(' ');
      const memory: unknown = JSON.parse(sessionStorage.getItem('wildfire-camera-activity.memory') ?? '{}');
      for (const index of fires.keys()) {
        const name = `Fire: number ${index}.`;
        expect(
          heard.shown.filter((body) => body.split('\n').includes(name)),
          name,
        ).toHaveLength(1);
        expect(memory, name).toHaveProperty(['sounded', `alert fire-${index}`]);
        expect(listed, name).toContain(`Fire number ${index}.`);
      }
      expect(page.lamp('Alerts')).toMatch(/^(bad|warn): 60 open$/);
      expect(textOf(element('#alerts thead'))).toContain('State');
    }),
    // A night is too long to be made smaller.
    { numRuns: 2, endOnFailure: true },
  );
});
