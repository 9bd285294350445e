import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../infra/azure/check-values.ts', import.meta.url));

const run = (values: Readonly<Record<string, string>>, ...options: readonly string[]) =>
  spawnSync(process.execPath, ['--experimental-strip-types', '--no-warnings', SCRIPT, ...options], {
    env: values,
    encoding: 'utf8',
  });

/** Runs the check as azd does, with these values in the environment; its lines, and whether it stops the provisioning. */
const check = (values: Readonly<Record<string, string>>) => {
  const { status, stderr } = run(values);
  return { stops: status !== 0, lines: stderr.trim().split('\n') };
};

describe('the check before provisioning', () => {
  it('is content with no values at all, and with right ones', () => {
    const right = {
      PHONE: 'existing',
      PHONE_ALLOWED_PREFIXES: '+1206, +64',
      CALL_ATTEMPTS: '10',
      MAXIMUM_INSTANCE_COUNT: '1',
      VNET_ENABLED: 'true',
      ALERT_SMS: '1 2065550100,64 211234567',
      BUDGET_AMOUNT: '50',
      BUDGET_START_MONTH: '2026-11',
    };
    expect(check({})).toEqual({ stops: false, lines: [''] });
    expect(check(right)).toEqual({ stops: false, lines: [''] });
  });

  it.each([
    ['CALL_ATTEMPTS', 'three', 'must be a whole number from 1 to 10'],
    ['CALL_ATTEMPTS', '11', 'must be a whole number from 1 to 10'],
    ['CALLS_PER_DAY', '1e3', 'must be a whole number from 1 to 100000'],
    ['MAXIMUM_INSTANCE_COUNT', '0', 'must be a whole number from 1 to 1000'],
    ['DELETE_LOCK', 'yes', 'must be one of true, false'],
    ['OPERATOR_MAY_REPAIR', 'True', 'must be one of true, false'],
    ['STORAGE_SKU', 'LRS', 'must be one of Standard_LRS, Standard_ZRS, Standard_GRS, Standard_GZRS'],
    ['PHONE_ALLOWED_PREFIXES', '+', 'must be beginnings of phone numbers, as +1206,+64: a bare + is none'],
    ['ALERT_SMS', '+12065550100', 'must be a country code, a space and a number, as 1 2065550100'],
    ['ALERT_VOICE', '1 206-555-0100', 'must be a country code, a space and a number, as 1 2065550100'],
    ['ALERT_WEBHOOK', 'http://example.org', 'must be https addresses'],
    ['BUDGET_START_MONTH', '2026-13', 'must be a month, as 2026-11'],
  ])('stops for %s=%s, by name and without the value', (name, value, detail) => {
    const { stops, lines } = check({ [name]: value });

    expect(stops).toBe(true);
    expect(lines[0]).toBe(`${name}: ${detail}`);
  });

  it('names all that is wrong at once, and what is missing', () => {
    const { stops, lines } = check({
      PHONE: 'new',
      CALL_ATTEMPTS: '',
      SWEEP_SCHEDULE: 'x',
      BUDGET_AMOUNT: '5',
      COUNTER_SHARDS: '65',
    });

    expect(stops).toBe(true);
    expect(lines.map((line) => line.split(':')[0])).toEqual([
      'COUNTER_SHARDS',
      'PHONE_ALLOWED_PREFIXES',
      'BUDGET_START_MONTH',
      'Nothing was provisioned. Correct the values with',
    ]);
  });

  it('prints the parameters as a deployment without azd takes them', () => {
    const { stdout } = run({ AZURE_ENV_NAME: 'ridge', CALL_ATTEMPTS: '5', ALERT_EMAIL: 'a@b.example' }, '--parameters');
    expect(JSON.parse(stdout)).toMatchObject({
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
