import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once when CallConnected comes three times at the same time', async () => {
  const stage = await setStage();
  const call = await stage.alertOnce('PointOfInterest', '+12065550320', messageOf('PointOfInterest'));
  expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'heard' });
  stage.endsWell();
});
