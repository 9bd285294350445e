import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('hangs up when the message fails, and says why in the record and the log', async () => {
  const stage = await setStage();
  await stage.alert('ReportOfFire', ['+12065550310']);

  const call = await stage.callEnds('+12065550310');
  expect(call.spoken).toEqual([]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  const known = { state: 'failed', code: 400, reason: 'speech refused' };
  expect(await stage.record(call.id)).toMatchObject({ subCode: 8565, ...known });
  expect(stage.logged('call hung up')).toMatchObject([{ call_id: call.id, sub_code: 8565, ...known }]);
  stage.endsWell();
});
