import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it.each([
  ['refuses to speak', '+12065550313', 'speech in a bad format'],
  ['answers 500 to a request to speak', '+12065550314', 'answered 500'],
])('hangs up when ACS %s, without a second request', async (_what, number, reason) => {
  const stage = await setStage();
  const call = await stage.alertOnce('Custom', number);
  expect(await stage.record(call.id)).toMatchObject({
    state: 'ended',
    outcome: 'unknown',
    reason: `message not played: ${reason}`,
  });
  expect(stage.logged('message not played')).toHaveLength(1);
  stage.endsWell();
});
