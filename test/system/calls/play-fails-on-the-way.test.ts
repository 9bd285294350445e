import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('hangs up when ACS answers 500 to a request to speak, without a second request', async () => {
  const stage = await setStage();
  const call = await stage.alertOnce('Custom', '+12065550314');
  expect(await stage.record(call.id)).toMatchObject({
    state: 'ended',
    outcome: 'unknown',
    reason: 'message not played: answered 500',
  });
  expect(stage.logged('message not played')).toHaveLength(1);
  stage.endsWell();
});
