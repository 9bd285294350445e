import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once and hangs up once when events come out of order, and ignores CallConnected after the end', async () => {
  const stage = await setStage();
  await stage.alert('ReportOfFire', ['+12065550322']);

  const call = await stage.callEnds('+12065550322');
  expect(call.spoken).toEqual([messageOf('ReportOfFire')]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  stage.endsWell();
});
