import { it } from 'vitest';

import type { Rule } from '../../harness/between.ts';
import { messageOf, setStage } from '../../harness/phone-stage.ts';

/** ACS tells of no key that is pressed before it listens. The app asks for both at once; here ACS speaks only when it listens. */
const speaksWhenItListens = (): Rule => {
  const starts = new Map<string, PromiseWithResolvers<void>>();
  const startOf = (call: string): PromiseWithResolvers<void> => {
    const start = starts.get(call) ?? Promise.withResolvers<void>();
    starts.set(call, start);
    return start;
  };
  return async ({ path }, carryOut) => {
    const [, call = '', action] = /([^/:]+):(\w+)/.exec(path) ?? [];
    if (action === 'play') await startOf(call).promise;
    return carryOut().finally(() => {
      if (action === 'startContinuousDtmfRecognition') startOf(call).resolve();
    });
  };
};

// Long enough for a key to come before the end of the message.
const PACE = { eventMs: 100, speakMs: 500 };

const PEOPLE: Readonly<Record<string, readonly [status: string, outcome: string]>> = {
  '+12065550170': ['confirmed', 'confirmed'],
  '+12065550173': ['confirmed', 'confirmed'],
  '+12065550182': ['confirmed', 'confirmed'],
  '+12065550175': ['not_reached', 'unconfirmed'],
  '+12065550180': ['not_reached', 'unconfirmed'],
};

it.concurrent(
  'asks for a key: who presses one has confirmed, whenever that is; a mailbox has not',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage(
      { environment: { CALL_ATTEMPTS: '1' }, pace: PACE, acsRule: speaksWhenItListens() },
      onTestFinished,
    );
    const numbers = Object.keys(PEOPLE);
    const { notification_id } = await stage.alert('ConfirmedFire', numbers, { confirm: true });
    await stage.completed(notification_id);
    await stage.acs.settled();
    const { recipients } = await stage.notification(notification_id);
    const told = recipients.map(({ status, attempts }) => [status, attempts[0]?.outcome]);
    expect(Object.fromEntries(numbers.map((number, index) => [number, told[index]]))).toEqual(PEOPLE);
    for (const number of numbers) {
      const call = await stage.callEnds(number);
      expect({ number, spoken: call.spoken }).toEqual({ number, spoken: [messageOf('ConfirmedFire', true)] });
      // The message goes on to its end, and then the line is hung up, once.
      expect({ number, ...call }).toMatchObject({ number, speeches: [{ isComplete: true }], endedBy: 'app' });
      expect({ number, ...call.requests }).toEqual({ number, createCall: 1, play: 1, listen: 1, hangUp: 1 });
    }
    stage.endsWell();
  },
);

it.concurrent('dials in waves, and the first who confirms stops the rest', async ({ expect, onTestFinished }) => {
  const stage = await setStage({ instances: 2, pace: PACE, acsRule: speaksWhenItListens() }, onTestFinished);
  // The number of the first wave does not exist, so that the second does not wait for its time.
  const waves = [['+12065550104'], ['+12065550170'], ['+12065550100', '+12065551100']];
  const { notification_id } = await stage.alert('ConfirmedFire', waves, { confirm: true, wave_seconds: 30 });
  const { recipients } = await stage.completed(notification_id);
  expect(recipients.map(({ wave, status }) => `${wave} ${status}`)).toEqual([
    '1 failed',
    '2 confirmed',
    '3 stopped',
    '3 stopped',
  ]);
  expect(stage.acs.log().calls.map(({ to }) => to)).toEqual(['+12065550104', '+12065550170']);
  stage.endsWell();
});
