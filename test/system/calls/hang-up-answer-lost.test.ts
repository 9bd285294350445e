import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('asks again when the answer to a hang-up is lost, and closes the line', async () => {
  const stage = await setStage();
  await stage.alert('BurnJob', ['+12065550340']);

  const call = await stage.callEnds('+12065550340');
  expect(call.state).toBe('ended');
  expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  expect(stage.logged('hang-up failed')).toEqual([]);
  stage.endsWell();
});
