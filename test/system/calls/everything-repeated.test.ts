import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once and hangs up once when every event comes twice', async () => {
  const stage = await setStage();
  const call = await stage.alertOnce('Anomaly', '+12065550321', messageOf('Anomaly'));
  expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'heard' });
  stage.endsWell();
});
