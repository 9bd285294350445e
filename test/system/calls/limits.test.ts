import { expect, it, onTestFinished } from 'vitest';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { checkedFetch } from '../../harness/checked-fetch.ts';
import { messageOf, setStage } from './stage.ts';

it('calls only numbers that PHONE_ALLOWED_PREFIXES allows, by test calls too', async () => {
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
  const testCall = await stage.fetch(`${stage.url}/api/test-call`, { method: 'POST', body: '["+442071838750"]' });
  expect(testCall.status).toBe(502);
  expect(stage.callees().has('+442071838750')).toBe(false);
});

it('places no more than CALLS_PER_DAY calls, whatever instances are asked at the same time', async () => {
  const stage = await setStage({ instances: 2, environment: { CALLS_PER_DAY: '7' } });
  const ask = (index: number) => stage.alert('Custom', [`+1206555${index}100`, `+1206555${index}200`]);
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => ask(index)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(3);
  expect(refused).toHaveLength(5);
  expect(refused[0]?.detail).toMatch(
    /^The calls of this UTC day do not suffice: \d are left until \d{4}-\d\d-\d\dT00:00:00.000Z/,
  );
  expect(stage.logged('day limit reached')).toHaveLength(5);

  // One is left, for a test call just as well; after that there is none.
  const testCall = () => stage.fetch(`${stage.url}/api/test-call`, { method: 'POST', body: '["+12065559100"]' });
  expect((await testCall()).status).toBe(202);
  const last = await testCall();
  expect(last.status).toBe(429);
  expect(Number(last.headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
  expect(stage.acs.log().calls).toHaveLength(7);
});

it('counts a second call to somebody too: beyond the limit they wait, and an error says so', async () => {
  const stage = await setStage({ environment: { CALLS_PER_DAY: '1', CALL_RETRY_SECONDS: '5' } });
  const { notification_id } = await stage.alert('Custom', ['+12065550106']);
  await expect.poll(() => stage.logged('day limit reached').length, { timeout: 20_000 }).toBe(1);
  expect(await stage.notification(notification_id)).toMatchObject({
    recipients: [{ status: 'waiting', attempts: [{ outcome: 'busy' }], next_attempt_at: expect.any(String) }],
  });
  expect(stage.callsTo('+12065550106')).toHaveLength(1);
});

it('runs without any ACS setting where the phone is off, and says so', async () => {
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
    ['POST', 'AnomalyCallback'],
  ] as const) {
    const answer = await fetchChecked(`${app.url}/api/${path}`, { method, ...(method === 'POST' ? { body } : {}) });
    expect(answer.status, path).toBe(503);
    // By that the page tells it from storage that cannot answer now.
    expect(answer.headers.get('retry-after'), path).toBeNull();
    expect(await answer.text()).toContain('PHONE=off');
  }
});

it('calls as a Teams resource account in place of a number', async () => {
  const account = '11111111-2222-3333-4444-555555555555';
  const stage = await setStage({
    environment: { ACS_SOURCE_PHONE_NUMBER: '', ACS_TEAMS_RESOURCE_ACCOUNT_ID: account },
  });
  await stage.alertOnce('Anomaly', '+12065550100', messageOf('Anomaly'));
  expect(stage.callsTo('+12065550100')[0]?.from).toBe(account);
  stage.endsWell();
});
