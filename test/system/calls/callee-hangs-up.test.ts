import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('sends no further requests but a hang-up when the callee hangs up during the message', async () => {
  const stage = await setStage();
  const { notification_id } = await stage.alert('BurnJob', ['+12065550312']);

  const call = await stage.callEnds('+12065550312');
  expect(call.spoken).toEqual([messageOf('BurnJob')]);
  expect(call.requests.play).toBe(1);
  expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'cut_short' });
  // They count as reached.
  expect(await stage.completed(notification_id)).toMatchObject({
    recipients: [{ status: 'heard', attempts: [{ outcome: 'cut_short', reason: 'the callee hung up' }] }],
  });
  // PlayCanceled and CallDisconnected come together. A hang-up that is answered 404/8522 (call not found) is a success.
  expect(stage.logged('hang-up failed')).toEqual([]);
  const { refused, calls } = stage.acs.log();
  expect(refused.filter(({ request }) => !request.endsWith(':terminate'))).toEqual([]);
  expect(calls.map(({ state }) => state)).toEqual(['ended']);
});
