import { expect, it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

it('stops: who waits or rings is not called any more, who is spoken to hears it to the end; twice is once', async () => {
  // One of them rings ten times as long.
  const stage = await setStage({ instances: 2, acs: { lines: 2 }, pace: { ringMs: 2_000 } });
  // Until the app hears that the message is over, it is being spoken for the app.
  const told = Promise.withResolvers<void>();
  const { rule } = stage.frontDoor;
  stage.frontDoor.rule = async (request, carryOut) => {
    if (request.body.includes('PlayCompleted')) await told.promise;
    return rule(request, carryOut);
  };
  const [speaking, ringing, waiting] = ['+12065550100', '+12065550109', '+12065551100'];
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
