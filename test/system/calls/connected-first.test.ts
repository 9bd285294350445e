import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once when CallConnected comes before the answer to the request that placed the call', async () => {
  const stage = await setStage();
  await stage.alert('ConfirmedFire', ['+12065550323']);

  const call = await stage.callEnds('+12065550323');
  expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  // The answer to the request still found its way into the record.
  expect(await stage.record(call.id)).toMatchObject({ recipient: '+*******0323', placedAt: expect.any(Date) });
  expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  stage.endsWell();
});
