import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('does not interrupt the message when ACS speaks it and only the answer was lost', async () => {
  const stage = await setStage();
  const call = await stage.alertOnce('Custom', '+12065550315', messageOf('Custom'));
  expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'heard' });
  stage.endsWell();
});
