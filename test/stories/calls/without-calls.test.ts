import { expect, it, onTestFinished } from 'vitest';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { checkedFetch } from '../../harness/contract.ts';

it('PHONE=off needs no setting of a phone service', async () => {
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
