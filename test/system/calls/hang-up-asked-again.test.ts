import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('repeats a request to hang up that fails or whose answer is lost, and ends the call', async () => {
  const stage = await setStage();
  await stage.alert('BurnJob', ['+12065550340', '+12065550341']);

  for (const number of ['+12065550340', '+12065550341']) {
    const call = await stage.callEnds(number);
    expect(call.state).toBe('ended');
    expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'heard' });
  }
  expect(stage.logged('hang-up failed')).toEqual([]);
  stage.endsWell();
});
