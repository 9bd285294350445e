import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { settingSchemas } from '../../src/settings.ts';

const SCRIPT = fileURLToPath(new URL('../../infra/azure/check-values.ts', import.meta.url));
const PARAMETERS = new URL('../../infra/azure/main.parameters.json', import.meta.url);

/** Runs the check as azd does, with these values in the environment. */
const check = (values: Readonly<Record<string, string>>, ...options: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--experimental-strip-types', '--no-warnings', SCRIPT, ...options],
    { env: values, encoding: 'utf8' },
  );
  return { status, printed: stdout, lines: stderr.trim().split('\n') };
};

/** What a line is about. */
const nameIn = (line: string): string => line.split(':')[0] ?? '';

describe('the check before provisioning', () => {
  it('is content with no values at all, and with right ones', () => {
    const right = {
      PHONE: 'existing',
      ACS_RESOURCE_NAME: 'acs-ridge',
      ACS_RESOURCE_GROUP: 'rg-phones',
      SERVICE_NAME: 'Ridge Watch, Öst',
      SWEEP_SCHEDULE: '*/30 * * * * *',
      EVENT_RETENTION_DAYS: '36500',
      TABLES_PREFIX: 'ridge2',
      PHONE_ALLOWED_PREFIXES: '+1206, +64',
      CALL_ATTEMPTS: '10',
      MAXIMUM_INSTANCE_COUNT: '1',
      VNET_ENABLED: 'true',
      ALERT_SMS: '1 2065550100,64 211234567',
      BUDGET_AMOUNT: '50',
      BUDGET_START_MONTH: '2026-11',
    };
    for (const values of [{}, right]) expect(check(values)).toEqual({ status: 0, printed: '', lines: [''] });
  });

  it('names all that is wrong at once, without the values, and what is missing', () => {
    const wrong = {
      CALL_ATTEMPTS: 'three',
      CALLS_PER_DAY: '1e3',
      MAXIMUM_INSTANCE_COUNT: '0',
      COUNTER_SHARDS: '65',
      DELETE_LOCK: 'yes',
      VNET_ENABLED: '1',
      OPERATOR_MAY_REPAIR: 'True',
      STORAGE_SKU: 'LRS',
      PHONE_ALLOWED_PREFIXES: '+',
      ALERT_SMS: '+12065550100',
      ALERT_VOICE: '1 206-555-0100',
      ALERT_WEBHOOK: 'http://example.org',
      BUDGET_START_MONTH: '2026-13',
      CALL_RING_SECONDS: ' 30 ',
      CALL_RETENTION_DAYS: '30,40',
      EVENT_RETENTION_DAYS: '99999',
      ACS_SOURCE_PHONE_NUMBER: '12065550100',
      SWEEP_SCHEDULE: 'often',
      TABLES_PREFIX: 'ridge-watch',
      DETECTION_CATEGORIES: 'fire;smoke',
      SERVICE_NAME: 'The "Ridge" Watch',
      ALERT_EMAIL: 'ops@example.org\n',
      LOG_DAILY_CAP_GB: ' 2',
    };
    const { status, lines } = check(wrong);
    expect(status).toBe(1);
    expect(lines.at(-1)).toContain('Nothing was provisioned.');
    expect(lines.slice(0, -1).map(nameIn).toSorted()).toEqual(Object.keys(wrong).toSorted());
    expect(lines).toContain('COUNTER_SHARDS: must be a whole number from 1 to 64');

    expect(check({ PHONE: 'existing', PHONE_ALLOWED_PREFIXES: '+1206' }).lines.map(nameIn)).toEqual([
      'ACS_RESOURCE_NAME',
      'ACS_RESOURCE_GROUP',
      'Nothing was provisioned. Correct the values with',
    ]);
    const callers = {
      ACS_SOURCE_PHONE_NUMBER: '+12065550100',
      ACS_TEAMS_RESOURCE_ACCOUNT_ID: '11111111-2222-3333-4444-555555555555',
    };
    expect(check(callers).lines[0]).toMatch(/^ACS_TEAMS_RESOURCE_ACCOUNT_ID: cannot be set together/);
    const missing = check({ PHONE: 'new', BUDGET_AMOUNT: '5', CALL_ATTEMPTS: '11' });
    expect(missing.lines.map(nameIn)).toEqual([
      'CALL_ATTEMPTS',
      'PHONE_ALLOWED_PREFIXES',
      'BUDGET_START_MONTH',
      'Nothing was provisioned. Correct the values with',
    ]);
  });

  it('has the rule of the app itself for each of its settings that are values here', () => {
    const settings = [...readFileSync(PARAMETERS, 'utf8').matchAll(/\$\{([A-Z_]+)/g)].flatMap(([, name = '']) =>
      name in settingSchemas && name !== 'PHONE' ? [name] : [],
    );
    expect(settings.length).toBeGreaterThan(15);
    const lines = check(Object.fromEntries(settings.map((name) => [name, '~'.repeat(201)]))).lines;
    expect(lines.map(nameIn)).toEqual(expect.arrayContaining(settings));
  });

  it('prints the parameters as a deployment without azd takes them', () => {
    const values = { AZURE_ENV_NAME: 'ridge', CALL_ATTEMPTS: '5', ALERT_EMAIL: 'a@b.example' };
    expect(JSON.parse(check(values, '--parameters').printed)).toMatchObject({
      parameters: {
        environmentName: { value: 'ridge' },
        callAttempts: { value: 5 },
        callRetrySeconds: { value: 60 },
        alertEmail: { value: 'a@b.example' },
        deleteLock: { value: 'true' },
        sweepSchedule: { value: '*/30 * * * * *' },
      },
    });
  });
});
