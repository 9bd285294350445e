import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('records that the number is invalid, and does nothing more', async () => {
  const stage = await setStage();
  expect((await stage.alert('Anomaly', ['+12065550304'])).status).toBe(202);

  const call = await stage.callEnds('+12065550304');
  expect(call.spoken).toEqual([]);
  expect(call.requests).toEqual({ createCall: 1, play: 0, hangUp: 0 });
  const known = { code: 484, reason: 'invalid number' };
  expect(await stage.record(call.id)).toMatchObject({ state: 'failed', subCode: 560484, ...known });
  expect(stage.logged('call failed')).toMatchObject([
    { call_id: call.id, alert_type: 'Anomaly', recipient: '+*******0304', sub_code: 560484, ...known },
  ]);
  stage.endsWell();
});
