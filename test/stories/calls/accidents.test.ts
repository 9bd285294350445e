import { it } from 'vitest';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { splitOver } from '../../harness/between.ts';
import { checkedFetch } from '../../harness/contract.ts';
import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

// The world of calls plays every other moment of a death, and every other outage.

const NUMBER = '+12065550100';

it.concurrent(
  'the instance that spoke is killed: another instance hangs up the line',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ instances: 2, network: { pace: { speakMs: 1_000 } } }, onTestFinished);
    const [first] = stage.apps;
    // All requests go to the first instance that lives.
    stage.frontDoor.rule = splitOver(stage.apps, () => 0);
    const { notification_id } = await stage.alert('Anomaly', [NUMBER]);
    await until(() => stage.callsTo(NUMBER)[0]?.spoken.length === 1, 'the message is spoken');
    first?.kill();
    expect(await stage.callEnds(NUMBER)).toMatchObject({
      spoken: [messageOf('Anomaly')],
      speeches: [{ isComplete: true }],
    });
    expect((await stage.completed(notification_id)).recipients).toMatchObject([{ status: 'heard' }]);
  },
);

it.concurrent(
  'while storage is away, an answered call is spoken to and hung up',
  async ({ expect, onTestFinished }) => {
    let isAway = false;
    const stage = await setStage(
      {
        tablesRule: (_, carryOut) => (isAway ? { status: 503 } : carryOut()),
        network: { pace: { ringMs: 500 } },
      },
      onTestFinished,
    );
    const { calls } = await stage.alert('ConfirmedFire', [NUMBER]);
    expect(calls).toMatchObject([{ status: 'placed' }]);
    isAway = true;
    expect(await stage.callEnds(NUMBER)).toMatchObject({
      spoken: [messageOf('ConfirmedFire')],
      speeches: [{ isComplete: true }],
      endedBy: 'app',
    });
    isAway = false;
    stage.endsWell();
  },
);

it.concurrent(
  'a phone service that refuses is reported at once, and keeps everybody waiting',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    await fetch(`${stage.acs.url}/set-up/401`, { method: 'POST' });
    const { calls, notification_id } = await stage.alert('ConfirmedFire', [NUMBER]);
    expect(calls).toMatchObject([{ status: 'waiting', code: 'set_up' }]);
    const answer = await stage.fetch(`${stage.url}/api/notifications?attention=true`);
    expect(await answer.json()).toMatchObject({ phone: { usable: false }, notifications: [{ notification_id }] });
    expect(await stage.stop(notification_id)).toMatchObject({ recipients: [{ status: 'stopped' }] });
  },
);

it.concurrent('PHONE=off needs no setting of a phone service', async ({ expect, onTestFinished }) => {
  const { SERVICE_NAME = '', TABLES_CONNECTION_STRING = '', TABLES_PREFIX = '' } = testEnvironment();
  const environment = { SERVICE_NAME, TABLES_CONNECTION_STRING, TABLES_PREFIX, PHONE: 'off' };
  const app = await startApp({ environment });
  onTestFinished(() => app.stop());
  const fetchChecked = await checkedFetch(app.url);
  expect((await fetchChecked(`${app.url}/api/analytics/day`)).status).toBe(200);
  const body = JSON.stringify({ channel: 'phone', alert_type: 'Custom', recipients: [NUMBER] });
  const answer = await fetchChecked(`${app.url}/api/notifications`, { method: 'POST', body });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, null]);
  expect(await answer.text()).toContain('PHONE=off');
});
