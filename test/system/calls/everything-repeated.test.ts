import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once and hangs up once when every event comes twice', async () => {
  const stage = await setStage();
  await stage.alert('Anomaly', ['+12065550321']);

  const call = await stage.callEnds('+12065550321');
  expect(call.spoken).toEqual([messageOf('Anomaly')]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  stage.endsWell();
});
