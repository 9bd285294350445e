import { expect, it, onTestFinished } from 'vitest';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { checkedFetch } from '../../harness/checked-fetch.ts';
import { setStage } from '../../harness/phone-stage.ts';

it('calls only numbers that PHONE_ALLOWED_PREFIXES allows, by test calls too; none of them is a 422', async () => {
  const stage = await setStage({ environment: { PHONE_ALLOWED_PREFIXES: '+1206,+64' } });
  const answer = await stage.alert('Custom', ['+12065550100', '+442071838750', '+6421000000']);
  const not = expect.stringContaining('PHONE_ALLOWED_PREFIXES');
  expect(answer).toMatchObject({
    status: 202,
    calls: [{ status: 'placed' }, { status: 'failed', reason: not }, { status: 'placed' }],
  });
  expect(await stage.completed(answer.notification_id)).toMatchObject({
    recipients: [{}, { status: 'failed', attempts: [{ outcome: 'refused', reason: not }] }, {}],
  });
  expect((await stage.alert('Custom', ['+442071838750'])).status).toBe(422);
  const testCall = await stage.fetch(`${stage.url}/api/test-call`, { method: 'POST', body: '["+442071838750"]' });
  expect(testCall.status).toBe(422);
  expect(stage.callsTo('+442071838750')).toEqual([]);
});

it("calls those first in the list if the day's calls do not reach for all, whatever instances are asked", async () => {
  const stage = await setStage({ instances: 2, environment: { CALLS_PER_DAY: '10' } });
  const numbers = Array.from({ length: 6 }, (_, index) => `+1206555${index}100`);
  const first = await stage.alert('Anomaly', numbers);
  const second = await stage.alert('Anomaly', numbers);
  expect(first.calls?.map(({ status }) => status)).toEqual(Array(6).fill('placed'));
  expect(second.calls?.map(({ status }) => status)).toEqual([
    'placed',
    'placed',
    'failed',
    'failed',
    'failed',
    'failed',
  ]);
  expect(second.calls?.[2]?.reason).toContain('CALLS_PER_DAY');
  expect((await stage.alert('Anomaly', numbers)).status).toBe(422);
  // A fifth is kept for what is urgent.
  const fire = await stage.alert('ConfirmedFire', numbers);
  expect(fire.calls?.map(({ status }) => status)).toEqual(['placed', 'placed', 'failed', 'failed', 'failed', 'failed']);
  expect(stage.acs.log().calls).toHaveLength(10);
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
