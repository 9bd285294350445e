import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('waits when ACS refuses for its limits, then calls once', async () => {
  const stage = await setStage();
  const answer = await stage.alert('ConfirmedFire', ['+12065550337']);
  expect(answer).toMatchObject({ status: 202, calls: [{ status: 'placed' }] });

  const call = await stage.callEnds('+12065550337');
  expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
  stage.endsWell();
});
