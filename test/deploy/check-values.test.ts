import { spawnSync } from 'node:child_process';

import { expect, it } from 'vitest';

import { settingSchemas } from '../../src/settings.ts';
import { readText, ROOT } from '../docs/markdown.ts';

/** Runs the check as azd does, with these values in the environment; the names of the lines that it prints. */
const check = (env: Readonly<Record<string, string>>, ...options: readonly string[]) => {
  const args = ['--experimental-strip-types', '--no-warnings', 'infra/azure/check-values.ts', ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' });
  return { status, printed: stdout, said: stderr, names: stderr.match(/^[A-Z_]+(?=:)/gm) ?? [] };
};

it('accepts right values, and prints them as a deployment without azd takes them', () => {
  const values = {
    AZURE_ENV_NAME: 'ridge',
    PHONE: 'existing',
    ACS_RESOURCE_NAME: 'acs-ridge',
    ACS_RESOURCE_GROUP: 'rg-phones',
    SERVICE_NAME: 'Ridge Watch, Öst',
    PHONE_ALLOWED_PREFIXES: '+1206, +64',
    CALLS_AT_ONCE: '100',
    ALERT_SMS: '1 2065550100,64 211234567',
    BUDGET_AMOUNT: '50',
    BUDGET_START_MONTH: '2026-11',
  };
  const { status, printed, said } = check(values, '--parameters');
  expect([status, said]).toEqual([0, '']);
  expect(JSON.parse(printed)).toMatchObject({
    parameters: {
      environmentName: { value: 'ridge' },
      callsAtOnce: { value: 100 },
      callRetrySeconds: { value: 60 },
      alertSms: { value: values.ALERT_SMS },
      deleteLock: { value: 'true' },
    },
  });
});

it('names each wrong or missing value at once, without the value; settings of the app by the rule of the app', () => {
  const taken = [...readText('infra/azure/main.parameters.json').matchAll(/\$\{([A-Z_]+)/g)].map(
    ([, name = '']) => name,
  );
  const wrong: Record<string, string> = {
    ...Object.fromEntries(taken.filter((name) => name in settingSchemas).map((name) => [name, '~'.repeat(201)])),
    MAXIMUM_INSTANCE_COUNT: '0',
    DELETE_LOCK: 'yes',
    OPERATOR_MAY_REBUILD: 'True',
    ALERT_SMS: '+12065550100',
    ALERT_VOICE: '1 206-555-0100',
    ALERT_WEBHOOK: 'http://example.org',
    ALERT_EMAIL: 'ops@example.org\n',
    LOG_DAILY_CAP_GB: ' 2',
  };
  delete wrong['PHONE'];
  const { status, said, names } = check({ ...wrong, PHONE: 'existing', BUDGET_AMOUNT: '5' });
  expect([status, said]).toEqual([1, expect.stringContaining('Nothing was provisioned.')]);
  const missing = ['ACS_RESOURCE_NAME', 'ACS_RESOURCE_GROUP', 'BUDGET_START_MONTH', 'ACS_TEAMS_RESOURCE_ACCOUNT_ID'];
  expect(new Set(names)).toEqual(new Set([...Object.keys(wrong), ...missing]));
  expect(said).toContain('MAXIMUM_INSTANCE_COUNT: must be an integer from 1 to 1000');
  expect(said).not.toMatch(/~~|example\.org|206-555/);

  expect(check({ PHONE: 'new' }).names).toEqual(['PHONE_ALLOWED_PREFIXES']);
});
