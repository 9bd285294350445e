import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('records that the call was blocked as spam, and does nothing more', async () => {
  const stage = await setStage();
  expect((await stage.alert('Anomaly', ['+12065550305'])).status).toBe(202);

  const call = await stage.callEnds('+12065550305');
  expect(call.spoken).toEqual([]);
  expect(call.requests).toEqual({ createCall: 1, play: 0, hangUp: 0 });
  const known = { code: 403, reason: 'blocked as spam' };
  expect(await stage.record(call.id)).toMatchObject({ state: 'failed', subCode: 510403, ...known });
  expect(stage.logged('call failed')).toMatchObject([
    { call_id: call.id, alert_type: 'Anomaly', recipient: '+*******0305', sub_code: 510403, ...known },
  ]);
  stage.endsWell();
});
