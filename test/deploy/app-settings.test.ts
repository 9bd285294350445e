import { describe, expect, it } from 'vitest';

import { readSettings, settingSchemas } from '../../src/settings.ts';
import { bicepFile, keysOf, textOf, valueAt } from './bicep-files.ts';

const appSettings = bicepFile('modules/app.bicep').resources.get('settings')?.body;
const given = keysOf(valueAt(appSettings, 'properties'));
const leftOut = [...(appSettings?.text ?? '').matchAll(/^ +\/\/ not set: ([A-Z_]+) \(.+\)$/gm)].flatMap(
  ([, name]) => name ?? [],
);
const own = Object.keys(settingSchemas);

/** Settings of the Functions host and of Azure's SDKs, which are no business of src/settings.ts. */
const FOREIGN = /^(AzureWebJobsStorage__|APPLICATIONINSIGHTS_|AZURE_)/;

describe('the settings that are deployed', () => {
  it('are all those of the service, each given or left out for a stated reason', () => {
    expect([...given.filter((name) => !FOREIGN.test(name)), ...leftOut].toSorted()).toEqual(own.toSorted());
  });

  it('leave out none that is required', () => {
    const values: Record<string, string> = {
      SERVICE_NAME: 'Ridge Watch',
      CACHE_TS_UTC_WINDOW_SECONDS: '86400',
      DETECTION_CATEGORIES: 'fire,smoke,structure',
      COUNTER_SHARDS: '1',
      EVENT_RETENTION_DAYS: '',
      TABLES_ENDPOINT: 'https://st123.table.core.windows.net/',
      TABLES_PREFIX: '',
      ACS_ENDPOINT: 'https://acs-123.unitedstates.communication.azure.com',
      ACS_SOURCE_PHONE_NUMBER: '+12065550100',
      ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://cog-123.cognitiveservices.azure.com/',
      PHONE: 'on',
      ACS_TEAMS_RESOURCE_ACCOUNT_ID: '',
      CALL_ATTEMPTS: '3',
      CALL_RETRY_SECONDS: '60',
      NOTIFICATION_DEADLINE_MINUTES: '30',
      PHONE_ALLOWED_PREFIXES: '',
      CALLS_PER_DAY: '1000',
      SWEEP_SCHEDULE: '*/30 * * * * *',
      CALL_RETENTION_DAYS: '90',
      ACS_RESOURCE_ID: '11111111-2222-3333-4444-555555555555',
      CALLBACK_BASE_URL: 'https://func-123.azurewebsites.net',
    };
    expect(given.filter((name) => !FOREIGN.test(name)).toSorted()).toEqual(Object.keys(values).toSorted());
    const settings = readSettings(values);
    expect(settings.tables).toEqual({ connection: { endpoint: values['TABLES_ENDPOINT'] }, prefix: '' });
    expect(settings.phone?.connection).toEqual({ endpoint: values['ACS_ENDPOINT'] });
  });

  it('have the defaults of the service where nobody says otherwise', () => {
    const { params } = bicepFile('main.bicep');
    const defaultOf = (parameter: string) => textOf(params.get(parameter)?.defaultValue);
    const settings = readSettings({
      SERVICE_NAME: 'Ridge Watch',
      TABLES_ENDPOINT: 'https://st123.table.core.windows.net/',
      ACS_ENDPOINT: 'https://acs-123.unitedstates.communication.azure.com',
      ACS_SOURCE_PHONE_NUMBER: '+12065550100',
      ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://cog-123.cognitiveservices.azure.com/',
      CALLBACK_BASE_URL: 'https://func-123.azurewebsites.net',
    });
    expect(defaultOf('detectionCategories')).toBe(settings.detectionCategories.join(','));
    expect(defaultOf('cacheTsUtcWindowSeconds')).toBe(String(settings.windowSeconds));
    expect(defaultOf('counterShards')).toBe(String(settings.counterShards));
    expect(defaultOf('eventRetentionDays')).toBe(String(settings.eventRetentionDays ?? ''));
    expect(defaultOf('tablesPrefix')).toBe(settings.tables.prefix);
    expect(defaultOf('callAttempts')).toBe(String(settings.phone?.attempts));
    expect(defaultOf('callRetrySeconds')).toBe(String((settings.phone?.retryMs ?? 0) / 1_000));
    expect(defaultOf('notificationDeadlineMinutes')).toBe(String((settings.phone?.deadlineMs ?? 0) / 60_000));
    expect(defaultOf('callsPerDay')).toBe(String(settings.phone?.callsPerDay));
    expect(defaultOf('sweepSchedule')).toBe(settings.phone?.sweepSchedule);
    expect(defaultOf('callRetentionDays')).toBe(String((settings.phone?.retentionMs ?? 0) / 86_400_000));
  });

  it('reach storage, Application Insights and ACS with the identity of the app, never with a key', () => {
    expect(given).toContain('AzureWebJobsStorage__credential');
    expect(given).not.toContain('AzureWebJobsStorage');
    expect(valueAt(appSettings, 'properties', 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING')?.text).toBe(
      "'ClientId=${identityClientId};Authorization=AAD'",
    );
    expect(valueAt(appSettings, 'properties', 'AZURE_CLIENT_ID')?.text).toBe('identityClientId');
    expect(appSettings?.text).not.toMatch(/AccountKey|accesskey|listKeys/i);
  });
});
