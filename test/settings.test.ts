import { describe, expect, it } from 'vitest';

import { readSettings, SettingsError, settingSchemas } from '../src/settings.ts';

const KEY = 'c2VjcmV0';

const TABLES = `DefaultEndpointsProtocol=https;AccountName=cameras;AccountKey=${KEY};EndpointSuffix=core.windows.net`;
const ACS = `endpoint=https://calls.communication.azure.com/;accesskey=${KEY}`;

const REQUIRED = {
  SERVICE_NAME: 'Ridge Watch',
  TABLES_CONNECTION_STRING: TABLES,
  ACS_CONNECTION_STRING: ACS,
  ACS_SOURCE_PHONE_NUMBER: '+12065550199',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.cognitiveservices.azure.com/',
  CALLBACK_BASE_URL: 'https://watch.example.org/',
};

const withSettings = (more: Readonly<Record<string, string | undefined>>) => readSettings({ ...REQUIRED, ...more });

const refusal = (environment: Readonly<Record<string, string | undefined>>): SettingsError => {
  try {
    readSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return error;
  }
  throw new Error('was not refused');
};

describe('settings', () => {
  it('have defaults where they are not required', () => {
    expect(readSettings(REQUIRED)).toEqual({
      serviceName: 'Ridge Watch',
      windowSeconds: 86_400,
      detectionCategories: ['fire', 'smoke', 'structure'],
      counterShards: 1,
      eventRetentionDays: undefined,
      tables: { connection: { connectionString: TABLES }, prefix: '' },
      phone: {
        connection: { connectionString: ACS },
        caller: { phoneNumber: '+12065550199' },
        cognitiveServicesEndpoint: 'https://speech.cognitiveservices.azure.com/',
        resourceId: undefined,
        tokenIssuer: 'https://acscallautomation.communication.azure.com',
        tokenKeysUrl: 'https://acscallautomation.communication.azure.com/calling/keys',
        callbackBaseUrl: 'https://watch.example.org',
        testCallbackBaseUrl: undefined,
        attempts: 3,
        retryMs: 60_000,
        deadlineMs: 1_800_000,
        allowedPrefixes: undefined,
        callsPerDay: 1_000,
        sweepSchedule: '*/30 * * * * *',
        retentionMs: 90 * 86_400_000,
        ringMs: 60_000,
        topic: undefined,
      },
      sweep: { sweepSchedule: '*/30 * * * * *', retentionMs: 90 * 86_400_000 },
    });
  });

  it('are taken as they are given', () => {
    const { tables, phone, sweep, ...others } = withSettings({
      SERVICE_NAME: '  Ridge & Valley  ',
      CACHE_TS_UTC_WINDOW_SECONDS: '3600',
      DETECTION_CATEGORIES: 'smoke, fog ,smoke,Fire_2',
      COUNTER_SHARDS: '64',
      EVENT_RETENTION_DAYS: '30',
      TABLES_CONNECTION_STRING: '',
      TABLES_ENDPOINT: 'https://cameras.table.core.windows.net',
      TABLES_PREFIX: 'Stage1',
      ACS_CONNECTION_STRING: undefined,
      ACS_ENDPOINT: 'https://calls.communication.azure.com',
      ACS_RESOURCE_ID: '6b9e0d0c-0000-4000-8000-000000000000',
      ACS_TOKEN_ISSUER: 'http://127.0.0.1:8080/',
      CALLBACK_BASE_URL: 'http://localhost:7071//',
      TEST_CALLBACK_BASE_URL: 'https://tunnel.example.org/x/',
      ACS_SOURCE_PHONE_NUMBER: '',
      ACS_TEAMS_RESOURCE_ACCOUNT_ID: '11111111-2222-3333-4444-555555555555',
      CALL_ATTEMPTS: '5',
      CALL_RETRY_SECONDS: '5',
      NOTIFICATION_DEADLINE_MINUTES: '1440',
      CALL_RING_SECONDS: '15',
      EVENT_TOPIC_ENDPOINT: 'https://outcomes.westeurope-1.eventgrid.azure.net/api/events',
      EVENT_TOPIC_KEY: 'a-key',
      PHONE_ALLOWED_PREFIXES: ' +1, +64 ,+1',
      CALLS_PER_DAY: '12',
      SWEEP_SCHEDULE: '0 */5 * * * 1-5',
      CALL_RETENTION_DAYS: '7',
      PATH: '/usr/bin',
    });
    expect(others).toEqual({
      serviceName: 'Ridge & Valley',
      windowSeconds: 3_600,
      detectionCategories: ['smoke', 'fog', 'Fire_2'],
      counterShards: 64,
      eventRetentionDays: 30,
    });
    expect(sweep).toEqual({ sweepSchedule: '0 */5 * * * 1-5', retentionMs: 7 * 86_400_000 });
    expect(tables).toEqual({ connection: { endpoint: 'https://cameras.table.core.windows.net' }, prefix: 'Stage1' });
    expect(phone).toMatchObject({
      connection: { endpoint: 'https://calls.communication.azure.com' },
      caller: { teamsResourceAccountId: '11111111-2222-3333-4444-555555555555' },
      callbackBaseUrl: 'http://localhost:7071',
      testCallbackBaseUrl: 'https://tunnel.example.org/x',
      attempts: 5,
      retryMs: 5_000,
      deadlineMs: 86_400_000,
      ringMs: 15_000,
      topic: { endpoint: 'https://outcomes.westeurope-1.eventgrid.azure.net/api/events', key: 'a-key' },
      allowedPrefixes: ['+1', '+64'],
      callsPerDay: 12,
      sweepSchedule: '0 */5 * * * 1-5',
      retentionMs: 7 * 86_400_000,
      resourceId: '6b9e0d0c-0000-4000-8000-000000000000',
      tokenIssuer: 'http://127.0.0.1:8080/',
      tokenKeysUrl: 'http://127.0.0.1:8080/calling/keys',
    });
  });

  it('need nothing of ACS where the phone is off', () => {
    const { phone } = readSettings({ SERVICE_NAME: 'Ridge Watch', TABLES_CONNECTION_STRING: TABLES, PHONE: 'off' });
    expect(phone).toBeUndefined();
  });

  it.each([
    ['TABLES_CONNECTION_STRING', 'UseDevelopmentStorage=true'],
    [
      'TABLES_CONNECTION_STRING',
      `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=${KEY};TableEndpoint=http://127.0.0.1:10002/a`,
    ],
    ['TABLES_CONNECTION_STRING', 'TableEndpoint=https://a.table.core.windows.net;SharedAccessSignature=sv=2024'],
    ['ACS_CONNECTION_STRING', `endpoint=http://localhost:9/;accesskey=${KEY}`],
    ['ACS_CONNECTION_STRING', `EndPoint=https://a.example/;AccessKey=${KEY};`],
    ['CALLBACK_BASE_URL', 'http://[::1]:7071'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', '1'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', String(366 * 86_400)],
    ['COUNTER_SHARDS', '1'],
    ['EVENT_RETENTION_DAYS', '1'],
    ['EVENT_RETENTION_DAYS', '36500'],
    ['SERVICE_NAME', 'x'.repeat(200)],
    ['DETECTION_CATEGORIES', Array.from({ length: 64 }, (_, index) => `c${index}`).join(',')],
    ['ACS_SOURCE_PHONE_NUMBER', '+123456789012345'],
    ['TABLES_PREFIX', 'a'],
  ])('may be %s=%s', (setting, value) => {
    expect(() => withSettings({ [setting]: value })).not.toThrow();
  });
});

describe('wrong settings stop the app, each named, none printed', () => {
  it.each([
    ['SERVICE_NAME', undefined],
    ['SERVICE_NAME', '   '],
    ['SERVICE_NAME', 'x'.repeat(201)],
    ['SERVICE_NAME', 'Ridge\nWatch'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', '0'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', '-5'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', '1.5'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', '1e3'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', '0x10'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', 'day'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', String(366 * 86_400 + 1)],
    ['DETECTION_CATEGORIES', ','],
    ['DETECTION_CATEGORIES', 'fire,,smoke'],
    ['DETECTION_CATEGORIES', 'fire,sm oke'],
    ['DETECTION_CATEGORIES', 'fire;smoke'],
    ['DETECTION_CATEGORIES', '__proto__'],
    ['DETECTION_CATEGORIES', `x${'y'.repeat(64)}`],
    ['DETECTION_CATEGORIES', Array.from({ length: 65 }, (_, index) => `c${index}`).join(',')],
    ['COUNTER_SHARDS', '0'],
    ['COUNTER_SHARDS', '65'],
    ['EVENT_RETENTION_DAYS', '0'],
    ['EVENT_RETENTION_DAYS', '36501'],
    ['EVENT_RETENTION_DAYS', '1.5'],
    ['COUNTER_SHARDS', 'one'],
    ['COUNTER_SHARDS', '4 shards'],
    ['TABLES_CONNECTION_STRING', undefined],
    ['TABLES_CONNECTION_STRING', 'https://cameras.table.core.windows.net'],
    ['TABLES_CONNECTION_STRING', 'AccountName=cameras'],
    ['TABLES_CONNECTION_STRING', 'AccountName=cameras;AccountKey=not base64!'],
    ['TABLES_CONNECTION_STRING', `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=${KEY}`],
    ['TABLES_CONNECTION_STRING', `AccountName=a;AccountKey=${KEY};TableEndpoint=http://cameras.example.org/a`],
    ['TABLES_ENDPOINT', 'https://cameras.table.core.windows.net'],
    ['TABLES_PREFIX', '1st'],
    ['TABLES_PREFIX', 'a-b'],
    ['TABLES_PREFIX', 'x'.repeat(51)],
    ['ACS_CONNECTION_STRING', undefined],
    ['ACS_CONNECTION_STRING', 'https://calls.communication.azure.com'],
    ['ACS_CONNECTION_STRING', 'endpoint=https://calls.communication.azure.com/'],
    ['ACS_CONNECTION_STRING', `endpoint=http://calls.example.org/;accesskey=${KEY}`],
    ['ACS_CONNECTION_STRING', 'endpoint=https://calls.example.org/;accesskey=###'],
    ['ACS_ENDPOINT', 'https://calls.communication.azure.com'],
    ['ACS_SOURCE_PHONE_NUMBER', undefined],
    ['ACS_SOURCE_PHONE_NUMBER', '2065550199'],
    ['ACS_SOURCE_PHONE_NUMBER', '+1 206 555 0199'],
    ['ACS_SOURCE_PHONE_NUMBER', '+02065550199'],
    ['ACS_SOURCE_PHONE_NUMBER', '+1234567890123456'],
    ['ACS_COGNITIVE_SERVICES_ENDPOINT', undefined],
    ['ACS_COGNITIVE_SERVICES_ENDPOINT', 'speech.cognitiveservices.azure.com'],
    ['ACS_COGNITIVE_SERVICES_ENDPOINT', 'http://127.0.0.1/'],
    ['ACS_RESOURCE_ID', 'two words'],
    ['ACS_TOKEN_ISSUER', 'http://issuer.example.org'],
    ['ACS_TOKEN_KEYS_URL', 'file:///etc/keys'],
    ['CALLBACK_BASE_URL', undefined],
    ['CALLBACK_BASE_URL', 'http://watch.example.org'],
    ['CALLBACK_BASE_URL', 'http://127.0.0.1.example.org'],
    ['CALLBACK_BASE_URL', 'https://watch.example.org/?x=1'],
    ['CALLBACK_BASE_URL', 'https://user:secret@watch.example.org'],
    ['TEST_CALLBACK_BASE_URL', 'ftp://tunnel.example.org'],
    ['TEST_CALLBACK_BASE_URL', 'tunnel'],
    ['PHONE', 'maybe'],
    // Together with ACS_SOURCE_PHONE_NUMBER.
    ['ACS_TEAMS_RESOURCE_ACCOUNT_ID', '11111111-2222-3333-4444-555555555555'],
    ['CALL_ATTEMPTS', '0'],
    ['CALL_ATTEMPTS', '11'],
    ['CALL_RETRY_SECONDS', '4'],
    ['CALL_RETRY_SECONDS', '3601'],
    ['NOTIFICATION_DEADLINE_MINUTES', '0'],
    ['NOTIFICATION_DEADLINE_MINUTES', '1441'],
    ['PHONE_ALLOWED_PREFIXES', '1,64'],
    ['PHONE_ALLOWED_PREFIXES', '+1,,+64'],
    ['PHONE_ALLOWED_PREFIXES', '+'],
    ['PHONE_ALLOWED_PREFIXES', '+1,+'],
    ['CALL_RING_SECONDS', '14'],
    ['CALL_RING_SECONDS', '111'],
    ['EVENT_TOPIC_ENDPOINT', 'http://outcomes.example.org/api/events'],
    ['CALLS_PER_DAY', '0'],
    ['SWEEP_SCHEDULE', '1 2 3 4 5'],
    ['SWEEP_SCHEDULE', 'every minute of the day now'],
    ['CALL_RETENTION_DAYS', '1'],
  ])('%s=%s', (setting, value) => {
    const { problems, message } = refusal({ ...REQUIRED, [setting]: value });
    expect([...new Set(problems.map((problem) => problem.setting))]).toEqual([setting]);
    expect(message).toContain(`  ${setting}: `);
    const printable = (value ?? '').trim();
    expect(printable.length > 8 && message.includes(printable), 'the value is printed').toBe(false);
  });

  it('all at once in one message', () => {
    const { problems, message } = refusal({ COUNTER_SHARDS: '65', TABLES_PREFIX: '-', ACS_RESOURCE_ID: 'a b' });
    const names = [
      'ACS_COGNITIVE_SERVICES_ENDPOINT',
      'ACS_CONNECTION_STRING',
      'ACS_RESOURCE_ID',
      'ACS_SOURCE_PHONE_NUMBER',
      'CALLBACK_BASE_URL',
      'COUNTER_SHARDS',
      'SERVICE_NAME',
      'TABLES_CONNECTION_STRING',
      'TABLES_PREFIX',
    ];
    expect(problems.map(({ setting }) => setting).sort()).toEqual(names);
    expect(message.split('\n')).toHaveLength(1 + names.length);
    expect(message).toMatch(/^The app cannot start:\n/);
  });

  it('without one value, whatever they hold', () => {
    const secrets = Object.fromEntries(
      Object.keys(settingSchemas).map((name) => [name, `s3cret;${name.length} \u0000 +`]),
    );
    const { message, stack } = refusal(secrets);
    expect(`${message}${stack}`).not.toContain('s3cret');
  });
});
