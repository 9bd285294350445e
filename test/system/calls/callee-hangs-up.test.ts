import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('asks for nothing more when the callee hangs up in the middle of the message', async () => {
  const stage = await setStage();
  await stage.alert('BurnJob', ['+12065550312']);

  const call = await stage.callEnds('+12065550312');
  expect(call.spoken).toEqual([messageOf('BurnJob')]);
  expect(call.requests.play).toBe(1);
  expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  // PlayCanceled and CallDisconnected come together; a hang-up that finds the call gone is answered 404/8522, a success.
  expect(stage.logged('hang-up failed')).toEqual([]);
  const { refused, calls } = stage.acs.log();
  expect(refused.filter(({ request }) => !request.endsWith(':terminate'))).toEqual([]);
  expect(calls.map(({ state }) => state)).toEqual(['ended']);
});
