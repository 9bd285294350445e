import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('asks again when a hang-up fails or its answer is lost, and closes the line', async () => {
  const stage = await setStage();
  await stage.alert('BurnJob', ['+12065550340', '+12065550341']);

  for (const number of ['+12065550340', '+12065550341']) {
    const call = await stage.callEnds(number);
    expect(call.state).toBe('ended');
    expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  }
  expect(stage.logged('hang-up failed')).toEqual([]);
  stage.endsWell();
});
