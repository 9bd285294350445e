import { type ExpectStatic, it } from 'vitest';

import type { Rule } from '../../harness/between.ts';
import { messageOf, type NotificationState, setStage, type Stage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

// Stories that wait for seconds of real time, side by side.

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
  // Of some two words are told: the last one is waited for.
  const isTold = ({ status }: { readonly status: string }, index: number): boolean =>
    own().some(({ id: eventId }) => eventId === `${id}/${index}/${status}`);
  await until(() => recipients.every(isTold), 'all is published');
  await expect.poll(() => told('Completed').at(-1)).toEqual(over);
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

// Who is waited for longest is called first.
const PEOPLE: Readonly<Record<string, readonly [status: string, outcome: string, spoken: readonly string[]]>> = {
  '+12065550175': ['not_reached', 'unconfirmed', [MESSAGE]],
  '+12065550180': ['not_reached', 'unconfirmed', [MESSAGE]],
  '+12065550186': ['not_reached', 'unconfirmed', [MESSAGE]],
  '+12065550192': ['not_reached', 'unconfirmed', [MESSAGE, MESSAGE, MESSAGE]],
  // What is reported after the end of their call is still before that of all: the events say the same.
  '+12065550191': ['confirmed', 'confirmed', [MESSAGE, UNDERSTOOD]],
  '+12065550183': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550170': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550171': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550172': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  // Before the message has started: it may never start.
  '+12065550173': ['confirmed', 'confirmed', [CONFIRMED]],
  '+12065550182': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  '+12065550184': ['confirmed', 'confirmed', [MESSAGE, MESSAGE, CONFIRMED]],
  '+12065550187': ['confirmed', 'confirmed', [MESSAGE, CONFIRMED]],
  // Two instances say goodbye: whose request comes later ends what the other says, perhaps before a word of it.
  '+12065550188': ['confirmed', 'confirmed', [MESSAGE]],
  '+12065550193': ['confirmed', 'confirmed', [MESSAGE, MESSAGE, CONFIRMED]],
  '+12065550194': ['confirmed', 'confirmed', [MESSAGE]],
  '+12065550185': ['cannot_go', 'cannot_go', [MESSAGE, UNDERSTOOD]],
};

// Who cannot go, and a number that does not exist: the next wave does not wait for its time.
const WAVES = [['+12065551185'], ['+12065551104', '+12065551170'], ['+12065552170'], ['+12065551100', '+12065552100']];

it.concurrent(
  '1 confirms, 2 repeats, 3 cannot go, whenever and in whatever order; a mailbox presses none; two of three in waves stop the rest',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage(
      {
        instances: 2,
        publishesOutcomes: true,
        environment: { CALL_ATTEMPTS: '1' },
        pace: PACE,
        // Few at a time: what is slow on a busy machine would be taken for an outage.
        acs: { lines: 7 },
        acsRule: speaksWhenItListens(),
      },
      onTestFinished,
    );
    const numbers = Object.keys(PEOPLE);
    const all = await stage.alert('ConfirmedFire', numbers, REQUEST);
    const inWaves = await stage.alert('ConfirmedFire', WAVES, {
      ...REQUEST,
      wave_seconds: 60,
      confirmations_needed: 2,
    });
    const over = await stage.completed(inWaves.notification_id);
    expect(over.recipients.map(({ wave, status }) => `${wave} ${status}`)).toEqual([
      '1 cannot_go',
      '2 failed',
      '2 confirmed',
      '3 confirmed',
      '4 stopped',
      '4 stopped',
    ]);
    expect(over).toMatchObject({ reached: 2, confirmations_needed: 2 });
    expect(stage.logged('notification not confirmed')).toEqual([]);

    await stage.completed(all.notification_id);
    await stage.acs.settled();
    const called = new Set(stage.acs.log().calls.map(({ to }) => to));
    expect(called).toEqual(new Set([...numbers, ...WAVES.slice(0, 3).flat()]));
    const state = await stage.notification(all.notification_id);
    const told = state.recipients.map(({ status, attempts }, index) => {
      const number = numbers[index] ?? '';
      const spoken = stage.callsTo(number).flatMap((call) => call.spoken);
      // Two keys at nearly the same time may have two goodbyes; the last one counts.
      const mayMeet = number.endsWith('88') ? [CONFIRMED, UNDERSTOOD] : [];
      const last = spoken.filter((text, at) =>
        text === MESSAGE ? !number.endsWith('73') : at === spoken.length - 1 && !mayMeet.includes(text),
      );
      return [status, attempts[0]?.outcome, last];
    });
    expect(Object.fromEntries(numbers.map((number, index) => [number, told[index]]))).toEqual(PEOPLE);
    for (const number of numbers) {
      const call = await stage.callEnds(number);
      expect({ number, ...call }).toMatchObject({ number, endedBy: 'app' });
      // What is said last is said to its end, unless the goodbye cannot be said, or two goodbyes meet.
      const isSure = !/(?:87|88|91|94)$/.test(number);
      const isComplete = isSure ? true : expect.any(Boolean);
      expect({ number, isComplete: call.speeches.at(-1)?.isComplete }).toEqual({ number, isComplete });
      expect({ number, ...call.requests }).toMatchObject({ number, createCall: 1, listen: 1, hangUp: 1 });
    }
    expect(state).toMatchObject({ details: REQUEST.details, reached: 12 });
    await eventsEqual(expect, stage, over);
    await eventsEqual(expect, stage, state);
    stage.endsWell();
  },
);

it.concurrent(
  'says when the next attempt is, calls again then, and lists the newest notifications first',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ environment: { CALL_RETRY_SECONDS: '5', CALL_ATTEMPTS: '2' } }, onTestFinished);
    const [number] = ['+12065551106'];
    const first = await stage.alert('Anomaly', [number]);
    const second = await stage.alert('BurnJob', ['+12065551100', '+12065552100']);
    let [waiting] = (await stage.notification(first.notification_id)).recipients;
    await until(async () => {
      [waiting] = (await stage.notification(first.notification_id)).recipients;
      return waiting?.attempts[0]?.outcome === 'busy';
    }, 'the first attempt is over');
    expect(Date.parse(waiting?.next_attempt_at ?? '') - Date.parse(waiting?.attempts[0]?.ended_at ?? '')).toBe(5_000);

    const list = async (query: string) => {
      const response = await stage.fetch(`${stage.url}/api/notifications${query}`);
      return [...(await response.text()).matchAll(/"notification_id":"([^"]+)"/g)].map(([, id]) => id);
    };
    expect(await list('')).toEqual([second.notification_id, first.notification_id]);
    expect(await list('?limit=1')).toEqual([second.notification_id]);

    const { recipients } = await stage.completed(first.notification_id);
    expect(recipients).toMatchObject([{ status: 'heard', attempts: [{ outcome: 'busy' }, { outcome: 'heard' }] }]);
    const calls = stage.callsTo(number);
    expect(calls.flatMap(({ spoken }) => spoken)).toEqual([messageOf('Anomaly')]);
    const [rang = 0, rangAgain = 0] = calls.map(({ rangAt }) => Date.parse(rangAt));
    expect(rangAgain - rang).toBeGreaterThanOrEqual(5_000);
    stage.endsWell();
  },
);

/** ACS gets the first request to call each of these numbers after the one before it. */
const inTurn = (numbers: readonly string[]): Rule => {
  const called = numbers.map(() => Promise.withResolvers<void>());
  return async ({ path, body }, carryOut) => {
    const index = path.includes(':') ? -1 : numbers.findIndex((number) => body.includes(number));
    await called[index - 1]?.promise;
    return carryOut().finally(() => called[index]?.resolve());
  };
};

it.concurrent(
  'stops: who waits or rings is not called any more, who is spoken to hears it to the end; twice is once',
  async ({ expect, onTestFinished }) => {
    const [speaking, ringing, waiting] = ['+12065550100', '+12065550109', '+12065551100'];
    // The app asks for all calls at once: the two lines are for the first two. One of these rings ten times as long.
    const acsRule = inTurn([speaking, ringing, waiting]);
    const stage = await setStage(
      { instances: 2, acs: { lines: 2 }, acsRule, pace: { ringMs: 2_000, speakMs: 1_500 } },
      onTestFinished,
    );
    // The stop comes in the middle of the message. If it comes late, the app has not heard yet that the message is over.
    const told = Promise.withResolvers<void>();
    const { rule } = stage.frontDoor;
    stage.frontDoor.rule = async (request, carryOut) => {
      if (request.body.includes('PlayCompleted')) await told.promise;
      return rule(request, carryOut);
    };
    const { notification_id } = await stage.alert('ReportOfFire', [speaking, ringing, waiting]);
    const statuses = async () => (await stage.notification(notification_id)).recipients.map(({ status }) => status);
    await until(async () => (await statuses())[0] === 'speaking', 'the message is being spoken');
    expect(await statuses()).toEqual(['speaking', 'ringing', 'waiting']);
    const state = await stage.stop(notification_id);
    expect(state.recipients.at(-1)).toMatchObject({ status: 'stopped' });
    await stage.stop(notification_id);
    told.resolve();

    const isHeard = async () => (await stage.notification(notification_id)).recipients[0]?.status === 'heard';
    await until(isHeard, 'the message was heard');
    const over = await stage.notification(notification_id);
    expect(over).toMatchObject({
      status: 'stopped',
      recipients: [{ status: 'heard' }, { status: 'stopped' }, { status: 'stopped', attempts: [] }],
    });
    const spokenTo = await stage.callEnds(speaking);
    expect(spokenTo).toMatchObject({ spoken: [messageOf('ReportOfFire')], speeches: [{ isComplete: true }] });
    const rang = await stage.callEnds(ringing);
    expect(rang).toMatchObject({ endedBy: 'app', spoken: [] });
    expect(rang.answeredAt).toBeUndefined();
    expect(stage.callsTo(waiting)).toEqual([]);
    expect(await stage.stop(notification_id)).toEqual(over);
    // It wakes nobody.
    expect(stage.logged('recipient not reached')).toEqual([]);
    stage.endsWell();
  },
);
