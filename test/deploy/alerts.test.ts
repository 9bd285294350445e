import { expect, inject, it, onTestFinished } from 'vitest';

import { freePort } from '../../infra/emulators/free-port.ts';
import { startApp, testEnvironment } from '../harness/app.ts';
import { until } from '../harness/until.ts';

// Every event and field that the alerts' queries compare is in the code: queries.test.ts.

it('failed-requests counts what storage did not take, and no 503 of the health check or of a phone that is off', async () => {
  const nobody = `:${await freePort()}/devstoreaccount1`;
  const storage = inject('tablesConnectionString').replace(/:\d+\/devstoreaccount1/, nobody);
  const environment = testEnvironment({ TABLES_CONNECTION_STRING: storage, PHONE: 'off' });
  const app = await startApp({ environment, runsSchedules: false });
  onTestFinished(() => app.stop());
  for (const path of ['health', 'notifications', 'analytics/day']) {
    expect((await fetch(`${app.url}/api/${path}`)).status).toBe(503);
  }
  const lines = () => [...app.output().matchAll(/\{"event":"storage unavailable".*/g)];
  await until(() => lines().length > 0, 'the line of analytics/day');
  expect(lines()).toHaveLength(1);
});
