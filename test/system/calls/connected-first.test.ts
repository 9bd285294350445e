import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once when CallConnected comes before the answer to the request that placed the call', async () => {
  const stage = await setStage();
  const call = await stage.alertOnce('ConfirmedFire', '+12065550323', messageOf('ConfirmedFire'));
  // The answer to the request still found its way into the record.
  expect(await stage.record(call.id)).toMatchObject({ recipient: '+1206•••••23', placedAt: expect.any(Date) });
  expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'heard' });
  stage.endsWell();
});
