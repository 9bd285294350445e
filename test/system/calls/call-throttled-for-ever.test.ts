import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('answers that the line is throttled when ACS asks to wait too long', async () => {
  const stage = await setStage();
  const answer = await stage.alert('ConfirmedFire', ['+12065550331']);
  expect(answer).toMatchObject({
    status: 502,
    calls: [{ recipient: '+12065550331', status: 'failed', reason: 'throttled' }],
  });
  expect(await stage.requestRecords()).toMatchObject([
    { state: 'failed', reason: 'throttled', recipient: '+*******0331', alertType: 'ConfirmedFire', code: 429 },
  ]);
  expect(stage.logged('call not placed')).toMatchObject([
    { recipient: '+*******0331', code: 429, reason: 'throttled' },
  ]);
  stage.endsWell();
});
