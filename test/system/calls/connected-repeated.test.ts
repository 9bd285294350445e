import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once when CallConnected comes three times at once', async () => {
  const stage = await setStage();
  await stage.alert('PointOfInterest', ['+12065550320']);

  const call = await stage.callEnds('+12065550320');
  expect(call.spoken).toEqual([messageOf('PointOfInterest')]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  stage.endsWell();
});
