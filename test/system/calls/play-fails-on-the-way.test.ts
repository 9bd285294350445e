import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('hangs up when nobody knows whether ACS took the message, and never asks twice', async () => {
  const stage = await setStage();
  await stage.alert('Custom', ['+12065550314']);

  const call = await stage.callEnds('+12065550314');
  expect(call.spoken).toEqual([]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  expect(await stage.record(call.id)).toMatchObject({ state: 'failed', reason: 'message not played: answered 500' });
  expect(stage.logged('message not played')).toHaveLength(1);
  stage.endsWell();
});
