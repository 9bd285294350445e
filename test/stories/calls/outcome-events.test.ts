import { expect, it } from 'vitest';

import { setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

it('publishes what is final as CloudEvents, with masked numbers', async () => {
  const stage = await setStage({ publishesOutcomes: true });
  const { notification_id } = await stage.alert('ConfirmedFire', ['+12065550100', '+12065550104'], {
    reference: 'ridge-04',
  });
  const over = await stage.completed(notification_id);
  await until(() => stage.acs.log().published.length >= 3, 'the outcomes are published');
  const { published } = stage.acs.log();
  expect(new Set(published.map(({ id }) => id)).size).toBe(3);
  const about = { source: '/notifications', subject: notification_id };
  for (const [index, { recipient, status }] of over.recipients.entries()) {
    const own = { notification_id, alert_type: 'ConfirmedFire', reference: 'ridge-04', index, recipient, status };
    const final = { ...about, type: 'Notification.RecipientFinal', data: expect.objectContaining(own) };
    expect(published).toContainEqual(expect.objectContaining(final));
  }
  const completed = { ...about, type: 'Notification.Completed', data: over };
  expect(published).toContainEqual(expect.objectContaining(completed));
  expect(JSON.stringify(published)).not.toMatch(/\+\d{7}/);
  stage.endsWell();
});

it('is not held up by a topic that hangs', async () => {
  const environment = { SWEEP_SCHEDULE: '*/1 * * * * *' };
  const stage = await setStage({ publishesOutcomes: true, environment });
  stage.acs.topic.mood = 'hangs';
  const { notification_id } = await stage.alert('Custom', ['+12065550100']);
  expect(await stage.completed(notification_id)).toMatchObject({ recipients: [{ status: 'heard' }] });
  expect(stage.logged('outcomes not published'), 'publishing is not given up yet').toEqual([]);
  expect((await stage.callEnds('+12065550100')).endedBy).toBe('app');
  stage.endsWell();
});
