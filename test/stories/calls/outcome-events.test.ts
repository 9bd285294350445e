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
  const about = { notification_id, alert_type: 'ConfirmedFire', reference: 'ridge-04' };
  const final = (index: number) => ({
    source: '/notifications',
    type: 'Notification.RecipientFinal',
    subject: notification_id,
    data: expect.objectContaining({
      ...about,
      index,
      recipient: over.recipients[index]?.recipient,
      status: over.recipients[index]?.status,
    }),
  });
  expect(published).toContainEqual(expect.objectContaining(final(0)));
  expect(published).toContainEqual(expect.objectContaining(final(1)));
  expect(published).toContainEqual(
    expect.objectContaining({ type: 'Notification.Completed', subject: notification_id, data: over }),
  );
  expect(JSON.stringify(published)).not.toMatch(/\+\d{7}/);
  stage.endsWell();
});

it('is not held up by a topic that hangs', async () => {
  const stage = await setStage({ publishesOutcomes: true, environment: { SWEEP_SCHEDULE: '*/1 * * * * *' } });
  stage.acs.topic.mood = 'hangs';
  const { notification_id } = await stage.alert('Custom', ['+12065550100']);
  expect(await stage.completed(notification_id, 5_000)).toMatchObject({ recipients: [{ status: 'heard' }] });
  expect((await stage.callEnds('+12065550100')).endedBy).toBe('app');
  stage.endsWell();
});
