import { type ExpectStatic, it } from 'vitest';

import type { Rule } from '../../harness/between.ts';
import { messageOf, type NotificationState, setStage, type Stage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

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

const MESSAGE = messageOf('ConfirmedFire', { confirm: true, details: 'Antelope Ridge, camera 4.' });
const REQUEST = { confirm: true, details: 'Antelope Ridge, camera 4.' };
const CONFIRMED = 'Confirmed. Thank you.';
const UNDERSTOOD = 'Understood. Thank you.';

/** What others are told is what whoever asks is told. */
const eventsEqual = async (expect: ExpectStatic, stage: Stage, over: NotificationState): Promise<void> => {
  const { notification_id: id, recipients, reached, details } = over;
  const own = () => stage.acs.log().published.filter(({ subject }) => subject === id);
  const told = (type: string) =>
    own()
      .filter((event) => event.type === `Notification.${type}`)
      .map(({ data }) => data);
  await until(
    () => told('Completed').length > 0 && told('RecipientFinal').length >= recipients.length,
    'all is published',
  );
  expect(told('Completed').at(-1)).toEqual(over);
  for (const [index, { recipient, status, wave }] of recipients.entries()) {
    const last = {
      notification_id: id,
      index,
      recipient,
      status,
      ...(wave === undefined ? {} : { wave }),
      details,
      reached: expect.any(Number),
    };
    expect(told('RecipientFinal')).toContainEqual(expect.objectContaining(last));
  }
  expect(recipients.filter(({ status }) => status === 'confirmed')).toHaveLength(reached);
};

const PEOPLE: Readonly<Record<string, readonly [status: string, outcome: string, spoken: readonly string[]]>> = {
  '+12065550170': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550171': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550172': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550173': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550182': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550183': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550184': ['confirmed', 'confirmed', [MESSAGE, MESSAGE, CONFIRMED]],
  '+12065550187': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550188': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550193': ['confirmed', 'confirmed', [MESSAGE, MESSAGE, CONFIRMED]],
  '+12065550194': ['confirmed', 'confirmed', [MESSAGE]],
  '+12065550185': ['cannot_go', 'cannot_go', [MESSAGE, UNDERSTOOD]],
  '+12065550191': ['confirmed', 'confirmed', [MESSAGE, UNDERSTOOD]],
  '+12065550175': ['not_reached', 'unconfirmed', [MESSAGE]],
  '+12065550180': ['not_reached', 'unconfirmed', [MESSAGE]],
  '+12065550186': ['not_reached', 'unconfirmed', [MESSAGE]],
  '+12065550192': ['not_reached', 'unconfirmed', [MESSAGE, MESSAGE, MESSAGE]],
};

it.concurrent(
  'asks for a key: 1 confirms, 2 repeats, 3 cannot go, whenever and in whatever order; a mailbox presses none',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage(
      {
        instances: 2,
        publishesOutcomes: true,
        environment: { CALL_ATTEMPTS: '1' },
        pace: PACE,
        // Few at a time: what is slow on a busy machine would be taken for an outage.
        acs: { lines: 5 },
        acsRule: speaksWhenItListens(),
      },
      onTestFinished,
    );
    const numbers = Object.keys(PEOPLE);
    const { notification_id } = await stage.alert('ConfirmedFire', numbers, REQUEST);
    await stage.completed(notification_id);
    await stage.acs.settled();
    const state = await stage.notification(notification_id);
    const told = state.recipients.map(({ status, attempts }, index) => {
      const spoken = stage.callsTo(numbers[index] ?? '').flatMap((call) => call.spoken);
      // Two keys at nearly the same time may have two goodbyes; the last one counts.
      const last = spoken.filter((text, at) => text === MESSAGE || at === spoken.length - 1);
      return [status, attempts[0]?.outcome, last];
    });
    expect(Object.fromEntries(numbers.map((number, index) => [number, told[index]]))).toEqual(PEOPLE);
    for (const number of numbers) {
      const call = await stage.callEnds(number);
      expect({ number, ...call }).toMatchObject({ number, endedBy: 'app' });
      // What is said last is said to its end, unless the goodbye cannot be said: a key ends what is said before.
      const isComplete = number === '+12065550194' ? expect.any(Boolean) : true;
      expect({ number, isComplete: call.speeches.at(-1)?.isComplete }).toEqual({ number, isComplete });
      expect({ number, ...call.requests }).toMatchObject({ number, createCall: 1, listen: 1, hangUp: 1 });
    }
    expect(state).toMatchObject({ details: REQUEST.details, reached: 12 });
    await eventsEqual(expect, stage, state);
    stage.endsWell();
  },
);

it.concurrent(
  'keys are waited for between 5 and 10 s after the last word; then the line is hung up',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ environment: { CALL_ATTEMPTS: '1' }, pace: PACE }, onTestFinished);
    await stage.alert('Custom', ['+12065550175'], { confirm: true });
    const { story } = await stage.callEnds('+12065550175');
    const at = (text: string) => Date.parse(story.find((line) => line.text === text)?.at ?? '');
    expect(at('hangUp') - at('PlayCompleted')).toBeGreaterThan(5_000);
    // At most 10 s on a machine that is not busy: that is played in virtual time.
    expect(at('hangUp') - at('PlayCompleted')).toBeLessThan(30_000);
    stage.endsWell();
  },
);

it.concurrent('without confirm not a word and not a request is another', async ({ expect, onTestFinished }) => {
  const stage = await setStage({ pace: PACE }, onTestFinished);
  const { notification_id } = await stage.alert('Custom', ['+12065550170']);
  const { story, requests, spoken } = await stage.callEnds('+12065550170');
  expect({ requests, spoken }).toEqual({
    requests: { createCall: 1, play: 1, listen: 0, hangUp: 1 },
    spoken: ["You've received a new Alert from Test Watch. Custom Alert has been reported. ".repeat(3)],
  });
  const at = (text: string) => Date.parse(story.find((line) => line.text === text)?.at ?? '');
  expect(at('hangUp') - at('PlayCompleted')).toBeLessThan(5_000);
  const { details, confirmations_needed, confirmed_by } = await stage.notification(notification_id);
  expect([details, confirmations_needed, confirmed_by]).toEqual([undefined, undefined, []]);
  stage.endsWell();
});

it.concurrent(
  'dials in waves until two of three have confirmed, and stops the rest',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage(
      { instances: 2, publishesOutcomes: true, pace: PACE, acs: { lines: 20 }, acsRule: speaksWhenItListens() },
      onTestFinished,
    );
    // Who cannot go, and a number that does not exist: the next wave does not wait for its time.
    const waves = [
      ['+12065550185'],
      ['+12065550104', '+12065550170'],
      ['+12065551170'],
      ['+12065550100', '+12065551100'],
    ];
    const { notification_id } = await stage.alert('ConfirmedFire', waves, {
      ...REQUEST,
      wave_seconds: 60,
      confirmations_needed: 2,
    });
    const over = await stage.completed(notification_id);
    expect(over.recipients.map(({ wave, status }) => `${wave} ${status}`)).toEqual([
      '1 cannot_go',
      '2 failed',
      '2 confirmed',
      '3 confirmed',
      '4 stopped',
      '4 stopped',
    ]);
    expect(over).toMatchObject({ reached: 2, confirmations_needed: 2 });
    const called = new Set(stage.acs.log().calls.map(({ to }) => to));
    expect(called).toEqual(new Set(waves.slice(0, 3).flat()));
    await eventsEqual(expect, stage, over);
    expect(stage.logged('notification not confirmed')).toEqual([]);
    stage.endsWell();
  },
);

it.concurrent('too few who confirm are an error in the log', async ({ expect, onTestFinished }) => {
  const stage = await setStage({ pace: PACE, acs: { lines: 20 }, acsRule: speaksWhenItListens() }, onTestFinished);
  const waves = [['+12065550170'], ['+12065550185']];
  const { notification_id } = await stage.alert('ConfirmedFire', waves, { ...REQUEST, confirmations_needed: 2 });
  expect(await stage.completed(notification_id)).toMatchObject({ reached: 1, confirmations_needed: 2 });
  const error = { notification_id, confirmations: 1, confirmations_needed: 2 };
  await until(() => stage.logged('notification not confirmed').length > 0, 'an operator is told');
  expect(stage.logged('notification not confirmed')).toEqual([expect.objectContaining(error)]);
  stage.endsWell();
});
