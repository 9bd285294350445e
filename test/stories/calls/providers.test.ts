import { it } from 'vitest';

import { messageOf, type NotificationState, PROVIDERS, setStage } from '../../harness/phone-stage.ts';

const MESSAGE = messageOf('ConfirmedFire', { confirm: true });
const PLAIN = messageOf('ConfirmedFire');

/** What becomes of people, whoever places the calls: by their numbers, what is told, and what they have heard. */
const STORIES: Readonly<Record<string, readonly [status: string, outcomes: string, heard: readonly string[]]>> = {
  '+12065550100': ['heard', 'heard', [PLAIN]],
  '+12065550101': ['not_reached', 'no_answer no_answer', []],
  '+12065550102': ['not_reached', 'busy busy', []],
  '+12065550104': ['failed', 'refused', []],
  '+12065550106': ['heard', 'busy heard', [PLAIN]],
  '+12065550107': ['heard', 'no_answer heard', [PLAIN]],
  '+12065550112': ['not_reached', 'cut_short cut_short', [PLAIN, PLAIN]],
  '+12065550121': ['heard', 'heard', [PLAIN]],
  '+12065550122': ['heard', 'heard', [PLAIN]],
  '+12065550123': ['heard', 'heard', [PLAIN]],
  '+12065550134': ['heard', 'heard', [PLAIN]],
  '+12065550136': ['failed', 'refused', []],
  '+12065550140': ['heard', 'heard', [PLAIN]],
  '+12065550149': ['not_reached', 'no_answer no_answer', []],
};

const CONFIRMED = 'Confirmed. Thank you.';
const KEYS: typeof STORIES = {
  '+12065550170': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550171': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550173': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550175': ['not_reached', 'unconfirmed', [MESSAGE]],
  '+12065550183': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550184': ['confirmed', 'confirmed', [MESSAGE, MESSAGE, CONFIRMED]],
  '+12065550185': ['cannot_go', 'cannot_go', [MESSAGE, 'Understood. Thank you.']],
};

const PACE = { ringMs: 100, eventMs: 50, speakMs: 400 };

const told = (state: NotificationState, heard: (number: string) => readonly string[], numbers: readonly string[]) =>
  Object.fromEntries(
    state.recipients.map(({ status, attempts }, index) => {
      const number = numbers[index] ?? '';
      return [number, [status, attempts.map(({ outcome }) => outcome).join(' '), heard(number)]];
    }),
  );

for (const provider of PROVIDERS) {
  it.concurrent(
    `${provider}: what becomes of people is the same whoever calls them`,
    async ({ expect, onTestFinished }) => {
      const environment = { CALL_ATTEMPTS: '2', CALL_RETRY_SECONDS: '5' };
      const stage = await setStage(
        { provider, instances: 2, environment, pace: PACE, acs: { lines: 50 } },
        onTestFinished,
      );
      const numbers = Object.keys(STORIES);
      const { notification_id } = await stage.alert('ConfirmedFire', numbers);
      const state = await stage.completed(notification_id);
      await stage.network.settled();
      const heard = (number: string) => stage.callsTo(number).flatMap(({ spoken }) => spoken);
      expect(told(state, heard, numbers)).toEqual(STORIES);
      stage.endsWell();
    },
  );

  it.concurrent(`${provider}: keys mean the same whoever calls`, async ({ expect, onTestFinished }) => {
    const environment = { CALL_ATTEMPTS: '1' };
    const stage = await setStage(
      { provider, instances: 2, environment, pace: PACE, acs: { lines: 50 } },
      onTestFinished,
    );
    const numbers = Object.keys(KEYS);
    const { notification_id } = await stage.alert('ConfirmedFire', numbers, { confirm: true });
    const state = await stage.completed(notification_id);
    await stage.network.settled();
    const heard = (number: string) => stage.callsTo(number).flatMap(({ spoken }) => spoken);
    expect(told(state, heard, numbers)).toEqual(KEYS);
    stage.endsWell();
  });
}
