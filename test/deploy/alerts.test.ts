import { expect, inject, it, onTestFinished } from 'vitest';

import { freePort } from '../../infra/emulators/free-port.ts';
import { VERSION } from '../../src/version.ts';
import { startApp, testEnvironment } from '../harness/app.ts';
import { until } from '../harness/until.ts';
import { cloudEvent } from '../http/cloud-event.ts';

// What the alerts' queries compare is in the code (queries.test.ts). Here the app writes the lines that no test of a behaviour looks at.

const started = async (overrides: Readonly<Record<string, string>>) => {
  const app = await startApp({ environment: testEnvironment(overrides), runsSchedules: false });
  onTestFinished(() => app.stop());
  return {
    ask: async (path: string, body?: unknown): Promise<number> => {
      const posted = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
      return (await fetch(`${app.url}/api/${path}`, body === undefined ? {} : posted)).status;
    },
    /** The log lines of an event, once there are so many: what the app wrote before its answer may be read after it. */
    logged: async (event: string, count = 1): Promise<readonly unknown[]> => {
      const lines = () => [...app.output().matchAll(new RegExp(`\\{"event":"${event}".*`, 'g'))];
      await until(() => lines().length >= count, `${count} × ${event}`);
      return lines().map(([line]) => JSON.parse(line) as unknown);
    },
  };
};

const notification = (...recipients: readonly string[]) => ({ channel: 'phone', alert_type: 'Custom', recipients });

it('the lines have the fields that the alerts read', async () => {
  // Nothing answers where the tests' ACS should be.
  const { ask, logged } = await started({ CALLS_PER_DAY: '1' });
  expect(await logged('app started')).toEqual([{ event: 'app started', version: VERSION, node: process.version }]);
  for (const date of ['2026-11-19', '2026-11-20', '2026-11-20']) {
    expect(await ask('events', [cloudEvent({ data: { ts_utc: `${date}T08:00:00Z` } })])).toBe(200);
  }
  expect(await logged('events recorded', 3)).toMatchObject([{ recorded: 1 }, { recorded: 1 }, { recorded: 0 }]);

  expect(await ask('notifications', notification('+12065550400', '+12065550500'))).toBe(202);
  expect(await logged('day limit reached')).toHaveLength(1);
  expect(await logged('no line free')).toMatchObject([{ reason: 'unreachable' }]);
});

it('failed-requests counts what storage did not take, and no 503 of the health check or of a phone that is off', async () => {
  const nobody = `:${await freePort()}/devstoreaccount1`;
  const storage = inject('tablesConnectionString').replace(/:\d+\/devstoreaccount1/, nobody);
  const { ask, logged } = await started({ TABLES_CONNECTION_STRING: storage, PHONE: 'off' });
  expect(await ask('health')).toBe(503);
  expect(await ask('notifications', notification('+12065550400'))).toBe(503);
  expect(await ask('analytics/day')).toBe(503);
  expect(await logged('storage unavailable')).toHaveLength(1);
});
