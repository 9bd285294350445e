import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once and hangs up once when events come out of order, and ignores CallConnected after the end', async () => {
  const stage = await setStage();
  const call = await stage.alertOnce('ReportOfFire', '+12065550322', messageOf('ReportOfFire'));
  expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'heard' });
  stage.endsWell();
});
