import { expect, it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

it('stops: who waits or rings is not called any more, who is spoken to hears it to the end; twice is once', async () => {
  const stage = await setStage({ instances: 2, acs: { lines: 2 }, pace: { ringMs: 300, speakMs: 1_500 } });
  const [speaking, ringing, waiting] = ['+12065550100', '+12065550109', '+12065551100'];
  const { notification_id } = await stage.alert('ReportOfFire', [speaking, ringing, waiting]);
  await until(() => stage.callsTo(speaking)[0]?.spoken.length === 1, 'the message is spoken');
  const state = await stage.stop(notification_id);
  expect(state.recipients.at(-1)).toMatchObject({ status: 'stopped' });
  await stage.stop(notification_id);

  const isHeard = async () => (await stage.notification(notification_id)).recipients[0]?.status === 'heard';
  await until(isHeard, 'the message was heard');
  const over = await stage.notification(notification_id);
  expect(over).toMatchObject({
    status: 'stopped',
    recipients: [{ status: 'heard' }, { status: 'stopped' }, { status: 'stopped', attempts: [] }],
  });
  expect(await stage.callEnds(speaking)).toMatchObject({
    spoken: [messageOf('ReportOfFire')],
    speeches: [{ isComplete: true }],
  });
  const rang = await stage.callEnds(ringing);
  expect(rang).toMatchObject({ endedBy: 'app', spoken: [] });
  expect(rang.answeredAt).toBeUndefined();
  expect(stage.callsTo(waiting)).toEqual([]);
  expect(await stage.stop(notification_id)).toEqual(over);
  // It wakes nobody.
  expect(stage.logged('recipient not reached')).toEqual([]);
  stage.endsWell();
});

it('stopping what is over, or unknown, or as a stranger', async () => {
  const stage = await setStage();
  const { notification_id } = await stage.alert('Custom', ['+12065550100']);
  const over = await stage.completed(notification_id);
  expect(await stage.stop(notification_id)).toEqual(over);
  const unknown = await stage.fetch(`${stage.url}/api/notifications/fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de/stop`, {
    method: 'POST',
  });
  expect(unknown.status).toBe(404);
});
