import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { settingSchemas } from '../../src/settings.ts';

const SCRIPT = fileURLToPath(new URL('../../infra/azure/check-values.ts', import.meta.url));
const PARAMETERS = readFileSync(new URL('../../infra/azure/main.parameters.json', import.meta.url), 'utf8');

/** Runs the check as azd does, with these values in the environment; the names of the lines that it prints. */
const check = (values: Readonly<Record<string, string>>, ...options: readonly string[]) => {
  const args = ['--experimental-strip-types', '--no-warnings', SCRIPT, ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env: values, encoding: 'utf8' });
  return { status, printed: stdout, said: stderr, names: stderr.match(/^[A-Z_]+(?=:)/gm) ?? [] };
};

it('is content with right values, and prints them as a deployment without azd takes them', () => {
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

it('names all that is wrong or missing at once, without the values, also every setting of the app by its own rule', () => {
  const settings = [...PARAMETERS.matchAll(/\$\{([A-Z_]+)/g)].flatMap(([, name = '']) =>
    name in settingSchemas && name !== 'PHONE' ? [name] : [],
  );
  const ofApp = Object.fromEntries(settings.map((name) => [name, '~'.repeat(201)]));
  const wrong = {
    ...ofApp,
    PHONE: 'existing',
    MAXIMUM_INSTANCE_COUNT: '0',
    DELETE_LOCK: 'yes',
    OPERATOR_MAY_REWRITE: 'True',
    ALERT_SMS: '+12065550100',
    ALERT_VOICE: '1 206-555-0100',
    ALERT_WEBHOOK: 'http://example.org',
    ALERT_EMAIL: 'ops@example.org\n',
    BUDGET_AMOUNT: '5',
    LOG_DAILY_CAP_GB: ' 2',
  };
  const { status, said, names } = check(wrong);
  expect([status, said]).toEqual([1, expect.stringContaining('Nothing was provisioned.')]);
  const faulty = Object.keys(wrong).filter((name) => !['PHONE', 'BUDGET_AMOUNT'].includes(name));
  const missing = ['ACS_RESOURCE_NAME', 'ACS_RESOURCE_GROUP', 'BUDGET_START_MONTH', 'ACS_TEAMS_RESOURCE_ACCOUNT_ID'];
  expect(new Set(names)).toEqual(new Set([...faulty, ...missing]));
  expect(said).toContain('MAXIMUM_INSTANCE_COUNT: must be a whole number from 1 to 1000');
  expect(said).not.toMatch(/~~|example\.org|206-555/);

  expect(check({ PHONE: 'new' }).names).toEqual(['PHONE_ALLOWED_PREFIXES']);
});
