import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('lets the message be heard when ACS took it and only its answer was lost', async () => {
  const stage = await setStage();
  await stage.alert('Custom', ['+12065550315']);

  const call = await stage.callEnds('+12065550315');
  expect(call.spoken).toEqual([messageOf('Custom')]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  stage.endsWell();
});
