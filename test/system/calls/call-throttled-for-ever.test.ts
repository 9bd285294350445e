import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

it('has somebody wait at no cost while the line is throttled, and says why', async () => {
  const stage = await setStage();
  const answer = await stage.alert('ConfirmedFire', ['+12065550331']);
  expect(answer).toMatchObject({
    status: 202,
    calls: [{ recipient: '+12065550331', status: 'waiting', reason: 'throttled' }],
  });
  expect(stage.logged('no line free')).toMatchObject([{ recipient: '+1206•••••31', code: 429, reason: 'throttled' }]);
  expect(await stage.notification(answer.notification_id)).toMatchObject({
    status: 'in_progress',
    recipients: [{ recipient: '+1206•••••31', status: 'waiting', attempts: [] }],
  });
  stage.endsWell();
});
