import { it } from 'vitest';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { checkedFetch } from '../../harness/contract.ts';
import { setStage } from '../../harness/phone-stage.ts';

const NUMBER = '+12065550100';

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
