import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('records that the line was busy, and does nothing more', async () => {
  const stage = await setStage();
  expect((await stage.alert('Anomaly', ['+12065550302'])).status).toBe(202);

  const call = await stage.callEnds('+12065550302');
  expect(call.spoken).toEqual([]);
  expect(call.requests).toEqual({ createCall: 1, play: 0, hangUp: 0 });
  const known = { code: 486, reason: 'busy' };
  expect(await stage.record(call.id)).toMatchObject({ state: 'failed', subCode: 560486, ...known });
  expect(stage.logged('call failed')).toMatchObject([
    { call_id: call.id, alert_type: 'Anomaly', recipient: '+*******0302', sub_code: 560486, ...known },
  ]);
  stage.endsWell();
});
