import { expect, it } from 'vitest';

import type { Rule } from '../../harness/between.ts';
import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

/** ACS gets the first request to call each of these numbers after the one before it. */
const inTurn = (numbers: readonly string[]): Rule => {
  const called = numbers.map(() => Promise.withResolvers<void>());
  return async ({ path, body }, carryOut) => {
    const index = path.includes(':') ? -1 : numbers.findIndex((number) => body.includes(number));
    await called[index - 1]?.promise;
    return carryOut().finally(() => called[index]?.resolve());
  };
};

it('stops: who waits or rings is not called any more, who is spoken to hears it to the end; twice is once', async () => {
  const [speaking, ringing, waiting] = ['+12065550100', '+12065550109', '+12065551100'];
  // The app asks for all calls at once: the two lines are for the first two. One of these rings ten times as long.
  const acsRule = inTurn([speaking, ringing, waiting]);
  const stage = await setStage({ instances: 2, acs: { lines: 2 }, acsRule, pace: { ringMs: 2_000, speakMs: 1_500 } });
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
});
