import { describe, expect, it } from 'vitest';

import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { readSettings, settingSchemas } from '../../src/settings.ts';
import { bicepFile, keysOf, textOf, valueAt } from './bicep-files.ts';

const appSettings = bicepFile('modules/app.bicep').resources.get('settings')?.body;
const given = keysOf(valueAt(appSettings, 'properties'));
const leftOut = [...(appSettings?.text ?? '').matchAll(/^ +\/\/ not set: ([A-Z_]+) \(.+\)$/gm)].flatMap(
  ([, name]) => name ?? [],
);
const own = Object.keys(settingSchemas);

/** Settings of the Functions host and of Azure's SDKs, which are no business of src/settings.ts. */
const FOREIGN = /^(AzureWebJobsStorage__|FUNCTIONS_|APPLICATIONINSIGHTS_|AZURE_)/;

/** The parameter of main.bicep for a setting. */
const parameterOf = (setting: string): string =>
  setting.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

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
      ACS_RESOURCE_ID: '11111111-2222-3333-4444-555555555555',
      CALLBACK_BASE_URL: 'https://func-123.azurewebsites.net',
      PHONE: 'on',
      ACS_TEAMS_RESOURCE_ACCOUNT_ID: '',
      CALL_ATTEMPTS: '3',
      CALL_RETRY_SECONDS: '60',
      CALL_RING_SECONDS: '60',
      EVENT_TOPIC_ENDPOINT: '',
      NOTIFICATION_DEADLINE_MINUTES: '30',
      PHONE_ALLOWED_PREFIXES: '',
      CALLS_PER_DAY: '1000',
      SWEEP_SCHEDULE: '*/30 * * * * *',
      CALL_RETENTION_DAYS: '90',
    };
    expect(given.filter((name) => !FOREIGN.test(name)).toSorted()).toEqual(Object.keys(values).toSorted());
    const settings = readSettings(values);
    expect(settings.tables).toEqual({ connection: { endpoint: values['TABLES_ENDPOINT'] }, prefix: '' });
    expect(settings.phone?.connection).toEqual({ endpoint: values['ACS_ENDPOINT'] });
  });

  it('have the defaults of the service where nobody says otherwise', () => {
    const { params } = bicepFile('main.bicep');
    const defaultOf = (parameter: string) => textOf(params.get(parameter)?.defaultValue);
    const compared = Object.entries(settingSchemas).flatMap(([name, schema]) => {
      const { success, data } = schema.safeParse(undefined);
      const text = defaultOf(parameterOf(name));
      // PHONE is off there until there is a resource and a caller: main.bicep's parameter of that name is another choice. And a deployment begins
      // with the calls of a small team.
      if (name === 'PHONE' || name === 'CALLS_PER_DAY') return [];
      return text === '' || !success || data === undefined ? [] : [{ name, data, deployed: schema.parse(text) }];
    });
    expect(compared.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'CACHE_TS_UTC_WINDOW_SECONDS',
        'DETECTION_CATEGORIES',
        'COUNTER_SHARDS',
        'CALL_ATTEMPTS',
        'CALL_RETRY_SECONDS',
        'CALL_RING_SECONDS',
        'NOTIFICATION_DEADLINE_MINUTES',
        'SWEEP_SCHEDULE',
        'CALL_RETENTION_DAYS',
      ]),
    );
    for (const { name, data, deployed } of compared) expect({ name, value: deployed }).toEqual({ name, value: data });
  });

  it('let the host take a body a little larger than the largest that the service takes', () => {
    const limit = Number(textOf(valueAt(appSettings, 'properties', 'FUNCTIONS_REQUEST_BODY_SIZE_LIMIT')));
    expect(limit).toBeGreaterThan(MAX_EVENTS_BYTES);
    expect(limit).toBeLessThanOrEqual(MAX_EVENTS_BYTES + 1024 * 1024);
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
