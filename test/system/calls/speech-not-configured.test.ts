import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('hangs up when speech is not configured, and says so', async () => {
  const stage = await setStage();
  await stage.alert('ReportOfFire', ['+12065550311']);

  const call = await stage.callEnds('+12065550311');
  expect(call.spoken).toEqual([]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  const known = { state: 'failed', code: 400, reason: 'speech not configured' };
  expect(await stage.record(call.id)).toMatchObject({ subCode: 8567, ...known });
  expect(stage.logged('call hung up')).toMatchObject([{ call_id: call.id, sub_code: 8567, ...known }]);
  stage.endsWell();
});
