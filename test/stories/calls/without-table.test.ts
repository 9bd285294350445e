import { it } from 'vitest';

import { CARRIED_OUT, refusal } from '../../harness/between.ts';
import { messageOf, ONE_CALL, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

it.concurrent(
  'speaks and hangs up while the table cannot be used, and takes no new request',
  async ({ expect, onTestFinished }) => {
    const environment = { SWEEP_SCHEDULE: '*/1 * * * * *', CALL_RETRY_SECONDS: '5' };
    const stage = await setStage({ isProxied: true, pace: { ringMs: 500 }, environment }, onTestFinished);
    const [app] = stage.apps;
    if (app === undefined) throw new Error('no instance');
    const numbers = ['+12065550600', '+12065550620'];
    const { notification_id } = await stage.alert('ConfirmedFire', numbers);
    app.rule = ({ service }, carryOut) => (service === 'tables' ? refusal(503, 'ServerBusy', 1) : carryOut());
    for (const number of numbers) {
      const call = await stage.callEnds(number);
      expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
      expect(call.requests).toEqual(ONE_CALL);
    }
    const refused = await stage.fetch(`${stage.url}/api/notifications`, {
      method: 'POST',
      body: JSON.stringify({ channel: 'phone', alert_type: 'Anomaly', recipients: ['+12065550700'] }),
    });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(stage.callsTo('+12065550700')).toEqual([]);

    app.rule = CARRIED_OUT;
    // What could not be written down is not forgotten: it is looked after like a call of which nothing was heard.
    await until(
      async () => (await stage.notification(notification_id)).recipients.every(({ recipient }) => recipient !== ''),
      'the notification is there again',
    );
    stage.endsWell();
  },
);

it.concurrent(
  'speaks and hangs up although the table never answers',
  { timeout: 60_000 },
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ isProxied: true, pace: { ringMs: 500 } }, onTestFinished);
    const [app] = stage.apps;
    if (app === undefined) throw new Error('no instance');
    await stage.alert('Custom', ['+12065550300']);
    app.rule = ({ service }, carryOut) => (service === 'tables' ? new Promise(() => undefined) : carryOut());
    const call = await stage.callEnds('+12065550300');
    expect(call.spoken).toEqual([messageOf('Custom')]);
    expect(call.requests).toEqual(ONE_CALL);
    stage.endsWell();
  },
);
