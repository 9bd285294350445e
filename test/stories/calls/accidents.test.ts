import { it } from 'vitest';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { splitOver } from '../../harness/between.ts';
import { checkedFetch } from '../../harness/contract.ts';
import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

// Every other moment of a death, and every other outage, is played in the world of calls.

it.concurrent(
  'the line is hung up by another instance than the one that spoke and was killed',
  async ({ expect, onTestFinished }) => {
    const environment = { SWEEP_SCHEDULE: '*/1 * * * * *' };
    const network = { pace: { speakMs: 1_500 } };
    const stage = await setStage({ instances: 2, environment, network }, onTestFinished);
    const [first] = stage.apps;
    // The first one that is alive.
    stage.frontDoor.rule = splitOver(stage.apps, () => 0);
    const { notification_id } = await stage.alert('Anomaly', ['+12065550100', '+12065551106']);
    await until(() => stage.callsTo('+12065550100')[0]?.spoken.length === 1, 'the message is spoken');
    first?.kill();
    const call = await stage.callEnds('+12065550100');
    expect(call).toMatchObject({ spoken: [messageOf('Anomaly')], speeches: [{ isComplete: true }] });
    const isHeard = async () => (await stage.notification(notification_id)).recipients[0]?.status === 'heard';
    await until(isHeard, 'the other instance knows that it was heard');
    expect(stage.callsTo('+12065550100')).toHaveLength(1);
  },
);

it.concurrent(
  'while storage is away, nothing is accepted, and an answered call is spoken to and hung up',
  async ({ expect, onTestFinished }) => {
    let isAway = false;
    const stage = await setStage(
      {
        tablesRule: (_, carryOut) => (isAway ? { status: 503 } : carryOut()),
        network: { pace: { ringMs: 1_500 } },
      },
      onTestFinished,
    );
    const number = '+12065550100';
    const { calls } = await stage.alert('ConfirmedFire', [number]);
    expect(calls).toMatchObject([{ status: 'placed' }]);
    isAway = true;
    expect((await stage.alert('ConfirmedFire', ['+12065551100'])).status).toBe(503);
    const call = await stage.callEnds(number);
    expect(call).toMatchObject({
      spoken: [messageOf('ConfirmedFire')],
      speeches: [{ isComplete: true }],
      endedBy: 'app',
    });
    isAway = false;
    stage.endsWell();
  },
);

it.concurrent(
  'a phone service that refuses is told at once, and keeps everybody waiting',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    stage.acs.setUpFault = 401;
    const { calls, notification_id } = await stage.alert('ConfirmedFire', ['+12065550100']);
    expect(calls).toMatchObject([{ status: 'waiting', code: 'set_up' }]);
    const attention = async (): Promise<unknown> =>
      (await stage.fetch(`${stage.url}/api/notifications?attention=true`)).json();
    expect(await attention()).toMatchObject({ phone: { usable: false }, notifications: [{ notification_id }] });
    expect(await stage.stop(notification_id)).toMatchObject({ recipients: [{ status: 'stopped' }] });
  },
);

it('runs without any setting of a phone service if the phone is off, and says so', async ({
  expect,
  onTestFinished,
}) => {
  const { SERVICE_NAME = '', TABLES_CONNECTION_STRING = '', TABLES_PREFIX = '' } = testEnvironment();
  const environment = { SERVICE_NAME, TABLES_CONNECTION_STRING, TABLES_PREFIX, PHONE: 'off' };
  const app = await startApp({ environment });
  onTestFinished(() => app.stop());
  const fetchChecked = await checkedFetch(app.url);
  expect((await fetchChecked(`${app.url}/api/analytics/day`)).status).toBe(200);
  const body = JSON.stringify({ channel: 'phone', alert_type: 'Custom', recipients: ['+12065550100'] });
  const answer = await fetchChecked(`${app.url}/api/notifications`, { method: 'POST', body });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, null]);
  expect(await answer.text()).toContain('PHONE=off');
});
