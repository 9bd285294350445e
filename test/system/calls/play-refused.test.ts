import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('hangs up when ACS refuses to speak, after asking once', async () => {
  const stage = await setStage();
  await stage.alert('Custom', ['+12065550313']);

  const call = await stage.callEnds('+12065550313');
  expect(call.spoken).toEqual([]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  expect(await stage.record(call.id)).toMatchObject({
    state: 'failed',
    reason: 'message not played: speech in a bad format',
  });
  expect(stage.logged('message not played')).toHaveLength(1);
  stage.endsWell();
});
