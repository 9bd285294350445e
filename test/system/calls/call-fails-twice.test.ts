import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('asks again when ACS fails, and calls once', async () => {
  const stage = await setStage();
  const answer = await stage.alert('ConfirmedFire', ['+12065550335']);
  expect(answer).toMatchObject({ status: 202, calls: [{ status: 'placed' }] });

  const call = await stage.callEnds('+12065550335');
  expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
  stage.endsWell();
});
