import { expect, it } from 'vitest';

import { CARRIED_OUT, refusal } from '../../harness/between.ts';
import { messageOf, ONE_CALL, setStage } from '../../harness/phone-stage.ts';

it('speaks and hangs up while the table cannot be used, and takes no new request', async () => {
  const stage = await setStage({ isProxied: true, pace: { ringMs: 500 } });
  const numbers = ['+12065550600', '+12065550620'];
  const { notification_id } = await stage.alert('ConfirmedFire', numbers);
  stage.tables.rule = () => refusal(503, 'ServerBusy', 1);
  const body = JSON.stringify({ channel: 'phone', alert_type: 'Anomaly', recipients: ['+12065550700'] });
  const refusing = stage.fetch(`${stage.url}/api/notifications`, { method: 'POST', body });
  for (const number of numbers) {
    const call = await stage.callEnds(number);
    expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
    expect(call.requests).toEqual(ONE_CALL);
  }
  const refused = await refusing;
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(stage.callsTo('+12065550700')).toEqual([]);

  stage.tables.rule = CARRIED_OUT;
  // Nobody is forgotten: they are looked after like calls of which nothing was heard.
  expect((await stage.notification(notification_id)).recipients).toHaveLength(2);
  stage.endsWell();
});
