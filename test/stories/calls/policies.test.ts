import { expect, it, onTestFinished } from 'vitest';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { checkedFetch } from '../../harness/contract.ts';
import { setStage } from '../../harness/phone-stage.ts';

it("calls only allowed numbers, and of them those first in the list if the day's calls do not reach for all", async () => {
  const stage = await setStage({ environment: { PHONE_ALLOWED_PREFIXES: '+1206,+64', CALLS_PER_DAY: '2' } });
  const numbers = ['+12065550100', '+442071838750', '+6421000000', '+12065551100'];
  const answer = await stage.alert('ConfirmedFire', numbers);
  const [not, enough] = ['PHONE_ALLOWED_PREFIXES', 'CALLS_PER_DAY'].map((name) => expect.stringContaining(name));
  expect(answer).toMatchObject({
    status: 202,
    calls: [{ status: 'placed' }, { status: 'failed', reason: not }, { status: 'placed' }, { reason: enough }],
  });
  expect(await stage.completed(answer.notification_id)).toMatchObject({
    recipients: [{}, { status: 'failed', attempts: [{ outcome: 'refused', reason: not }] }, {}, { status: 'failed' }],
  });
  expect((await stage.alert('Custom', ['+12065551100'])).status).toBe(422);
  expect(stage.acs.log().calls).toHaveLength(2);
});

it('runs without any ACS setting if the phone is off, and says so', async () => {
  const { SERVICE_NAME = '', TABLES_CONNECTION_STRING = '', TABLES_PREFIX = '' } = testEnvironment();
  const environment = { SERVICE_NAME, TABLES_CONNECTION_STRING, TABLES_PREFIX, PHONE: 'off' };
  const app = await startApp({ environment });
  onTestFinished(() => app.stop());
  const fetchChecked = await checkedFetch(app.url);
  expect((await fetchChecked(`${app.url}/api/health`)).status).toBe(200);
  expect((await fetchChecked(`${app.url}/api/analytics/day`)).status).toBe(200);
  const body = JSON.stringify({ channel: 'phone', alert_type: 'Custom', recipients: ['+12065550100'] });
  for (const [method, path] of [
    ['POST', 'notifications'],
    ['GET', 'notifications'],
    ['GET', 'notifications/fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de'],
    ['POST', 'notifications/fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de/stop'],
    ['POST', 'AnomalyCallback'],
  ] as const) {
    const answer = await fetchChecked(`${app.url}/api/${path}`, { method, ...(method === 'POST' ? { body } : {}) });
    expect(answer.status, path).toBe(503);
    // By that the page tells it from storage that cannot answer now.
    expect(answer.headers.get('retry-after'), path).toBeNull();
    expect(await answer.text()).toContain('PHONE=off');
  }
});
