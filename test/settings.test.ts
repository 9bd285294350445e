import { describe, expect, it } from 'vitest';

import { readSettings } from '../src/settings.ts';
import { SettingsError } from '../src/settings/settings-error.ts';

type Environment = Readonly<Record<string, string>>;

const KEY = 'c2VjcmV0';
const ACCOUNT = `AccountName=a;AccountKey=${KEY}`;
const TABLES = `DefaultEndpointsProtocol=https;${ACCOUNT};EndpointSuffix=core.windows.net`;
const ACS = `endpoint=https://calls.communication.azure.com/;accesskey=${KEY}`;
const URL = 'https://a.example.org';
const GUID = '6b9e0d0c-0000-4000-8000-000000000000';
const LOCAL_TABLES = `DefaultEndpointsProtocol=http;${ACCOUNT};TableEndpoint=http://127.0.0.1:10002/a`;
const EMULATOR = 'UseDevelopmentStorage=true';
const LOCAL_ACS = `endpoint=http://localhost:9/;accesskey=${KEY}`;
const SIGNED_TABLES = 'TableEndpoint=https://a.table.core.windows.net;SharedAccessSignature=sv=2024';
const UNRESOLVED = '@Microsoft.KeyVault(SecretUri=https://v.example/secrets/x)';

const BASE = { SERVICE_NAME: 'Ridge Watch', TABLES_CONNECTION_STRING: TABLES };
const WITH_ACS = {
  ...BASE,
  ACS_CONNECTION_STRING: ACS,
  ACS_SOURCE_PHONE_NUMBER: '+12065550199',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.cognitiveservices.azure.com/',
  CALLBACK_BASE_URL: 'https://watch.example.org/',
};
const TWILIO = {
  TWILIO_ACCOUNT_SID: `AC${'1'.repeat(32)}`,
  TWILIO_API_KEY_SID: `SK${'2'.repeat(32)}`,
  TWILIO_API_KEY_SECRET: 'a-secret-key',
  TWILIO_AUTH_TOKEN: 'a-token-of-twilio',
  TWILIO_SOURCE_PHONE_NUMBER: '+12065550198',
};
const WITH_TWILIO = { ...BASE, ...TWILIO, CALLBACK_BASE_URL: URL };

/** Settings, each with the setting that it excludes. */
const INSTEAD_OF: Readonly<Record<string, string>> = {
  TABLES_ENDPOINT: 'TABLES_CONNECTION_STRING',
  ACS_ENDPOINT: 'ACS_CONNECTION_STRING',
  ACS_TEAMS_RESOURCE_ACCOUNT_ID: 'ACS_SOURCE_PHONE_NUMBER',
};

/** A valid environment in which a setting has an effect. */
const around = (setting: string): Environment => ({
  ...(setting.startsWith('TWILIO_') ? WITH_TWILIO : WITH_ACS),
  [INSTEAD_OF[setting] ?? '']: '',
});

/** The names of the refused settings. The error prints no value. */
const refused = (environment: Environment): readonly string[] => {
  try {
    readSettings(environment);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const names = [...new Set(error.problems.map(({ setting }) => setting))].toSorted();
    expect(error.message).toMatch(/^The app cannot start:\n/);
    for (const name of names) expect(error.message).toContain(`\n  ${name}: `);
    for (const value of Object.values(environment))
      expect(value.trim().length > 8 && `${error.stack}`.includes(value.trim()), `prints ${value}`).toBe(false);
    return names;
  }
  return [];
};

/** A part of the settings, by a path such as `phone.attempts`. */
const partOf = (environment: Environment, path: string): unknown =>
  path.split('.').reduce<unknown>((part, step) => Reflect.get(Object(part), step), readSettings(environment));

it.each<[setting: string, path: string, fallback: number | undefined, least: number, most: number, unit?: number]>([
  ['CACHE_TS_UTC_WINDOW_SECONDS', 'windowSeconds', 86_400, 1, 366 * 86_400],
  ['COUNTER_SHARDS', 'counterShards', 1, 1, 64],
  ['EVENT_RETENTION_DAYS', 'eventRetentionDays', undefined, 1, 36_500],
  ['CALL_ATTEMPTS', 'phone.attempts', 3, 1, 10],
  ['CALL_RETRY_SECONDS', 'phone.retryMs', 60, 5, 3_600, 1_000],
  ['NOTIFICATION_DEADLINE_MINUTES', 'phone.deadlineMs', 30, 1, 1_440, 60_000],
  ['CALL_RING_SECONDS', 'phone.ringMs', 60, 15, 110, 1_000],
  ['CALLS_PER_DAY', 'phone.callsPerDay', 1_000, 1, 100_000],
  ['CALLS_AT_ONCE', 'phone.callsAtOnce', 2, 1, 100],
  ['CALL_RETENTION_DAYS', 'callRetentionMs', 90, 2, 3_650, 86_400_000],
  ['TWILIO_CALLS_PER_SECOND', 'phone.twilio.callsPerSecond', 1, 1, 100],
])('%s is %s: by default %d, from %d to %d', (setting, path, fallback, least, most, unit = 1) => {
  const environment = around(setting);
  expect(partOf(environment, path)).toBe(fallback === undefined ? undefined : fallback * unit);
  for (const value of [least, most]) {
    expect(partOf({ ...environment, [setting]: ` ${value} ` }, path)).toBe(value * unit);
  }
  for (const wrong of [least - 1, most + 1, -5, 1.5, '1e1', '0x10', 'one', '7 days']) {
    expect([wrong, refused({ ...environment, [setting]: String(wrong) })]).toEqual([wrong, [setting]]);
  }
});

const categories = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`);
const webhookSecret = (bytes: number) => `whsec_${Buffer.alloc(bytes, 'k').toString('base64')}`;
const longBase = `https://${'a'.repeat(492)}`;

it('texts have defaults', () => {
  const tokenIssuer = 'https://acscallautomation.communication.azure.com';
  expect(readSettings({ PATH: '/usr/bin', ...WITH_ACS })).toMatchObject({
    serviceName: 'Ridge Watch',
    detectionCategories: ['fire', 'smoke', 'structure'],
    tables: { connection: { connectionString: TABLES }, prefix: '' },
    phoneLacks: [],
    sweepSchedule: '*/30 * * * * *',
    phone: {
      connection: { connectionString: ACS },
      caller: { phoneNumber: '+12065550199' },
      cognitiveServicesEndpoint: WITH_ACS.ACS_COGNITIVE_SERVICES_ENDPOINT,
      tokenIssuer,
      tokenKeysUrl: `${tokenIssuer}/calling/keys`,
      callbackBaseUrl: 'https://watch.example.org',
    },
  });
  const { TWILIO_ACCOUNT_SID: accountSid, TWILIO_API_KEY_SID: apiKeySid, TWILIO_API_KEY_SECRET: apiKeySecret } = TWILIO;
  const account = {
    accountSid,
    apiKeySid,
    apiKeySecret,
    authTokens: [TWILIO.TWILIO_AUTH_TOKEN],
    source: '+12065550198',
  };
  const defaults = { callsPerSecond: 1, voice: 'Polly.Joanna', apiBaseUrl: 'https://api.twilio.com' };
  expect(partOf(WITH_TWILIO, 'phone.twilio')).toEqual({ ...account, ...defaults });
});

it.each<[setting: string, path: string, ...right: string[]]>([
  ['SERVICE_NAME', 'serviceName', 'x'.repeat(200)],
  ['BACKUP_CONTAINER_URL', 'backupContainerUrl', `${URL}/backups?sig=x`, 'http://127.0.0.1:1/account/backups'],
  ['TABLES_CONNECTION_STRING', 'tables.connection.connectionString', EMULATOR, LOCAL_TABLES, SIGNED_TABLES],
  ['TABLES_ENDPOINT', 'tables.connection.endpoint', URL],
  ['TABLES_PREFIX', 'tables.prefix', 'a', `x${'1'.repeat(49)}`],
  ['ACS_CONNECTION_STRING', 'phone.connection.connectionString', LOCAL_ACS, `EndPoint=${URL};AccessKey=${KEY};`],
  ['ACS_ENDPOINT', 'phone.connection.endpoint', URL],
  ['ACS_SOURCE_PHONE_NUMBER', 'phone.caller.phoneNumber', '+123456789012345'],
  ['ACS_TEAMS_RESOURCE_ACCOUNT_ID', 'phone.caller.teamsResourceAccountId', GUID],
  ['ACS_COGNITIVE_SERVICES_ENDPOINT', 'phone.cognitiveServicesEndpoint', URL],
  ['ACS_RESOURCE_ID', 'phone.resourceId', GUID],
  ['ACS_TOKEN_ISSUER', 'phone.tokenIssuer', 'http://127.0.0.1:8/'],
  ['ACS_TOKEN_KEYS_URL', 'phone.tokenKeysUrl', 'https://keys.invalid/a'],
  ['CALLBACK_BASE_URL', 'phone.callbackBaseUrl', longBase, 'http://[::1]:7071'],
  ['EVENT_TOPIC_ENDPOINT', 'phone.topic.endpoint', URL],
  ['SWEEP_SCHEDULE', 'sweepSchedule', '0 */5 * * * 1-5'],
  ['TWILIO_VOICE', 'phone.twilio.voice', 'x'.repeat(60)],
  ['TWILIO_API_BASE_URL', 'phone.twilio.apiBaseUrl', URL],
])('%s may be as %s is: %s', (setting, path, ...right) => {
  for (const given of right) expect(partOf({ ...around(setting), [setting]: given }, path)).toBe(given);
});

it.each<[setting: string, given: string, path: string, value: unknown]>([
  ['SERVICE_NAME', ' A & B ', 'serviceName', 'A & B'],
  ['DETECTION_CATEGORIES', categories(64).join(','), 'detectionCategories', categories(64)],
  ['DETECTION_CATEGORIES', 'smoke, fog ,smoke,Fire_2', 'detectionCategories', ['smoke', 'fog', 'Fire_2']],
  ['PHONE', 'off', 'phone', undefined],
  ['ACS_TOKEN_ISSUER', 'http://127.0.0.1:8/', 'phone.tokenKeysUrl', 'http://127.0.0.1:8/calling/keys'],
  ['CALLBACK_BASE_URL', 'http://localhost:7071//', 'phone.callbackBaseUrl', 'http://localhost:7071'],
  ['TEST_CALLBACK_BASE_URL', `${URL}/x/`, 'phone.testCallbackBaseUrl', `${URL}/x`],
  ['PHONE_ALLOWED_PREFIXES', ' +1, +64 ,+1', 'phone.allowedPrefixes', ['+1', '+64']],
  ['TWILIO_SECONDARY_AUTH_TOKEN', 'next', 'phone.twilio.authTokens', [TWILIO.TWILIO_AUTH_TOKEN, 'next']],
])('%s %j is %s: %j', (setting, given, path, value) => {
  expect(partOf({ ...around(setting), [setting]: given }, path)).toEqual(value);
});

it.each<[setting: string, ...wrong: string[]]>([
  ['SERVICE_NAME', '   ', 'x'.repeat(201), 'Ridge\nWatch', '\u3164', 'a\u202Eb'],
  ['DETECTION_CATEGORIES', ',', 'fire,,smoke', 'fire,sm oke', 'fire;smoke', categories(65).join(',')],
  ['BACKUP_CONTAINER_URL', 'http://a.example.org/backups', `${URL}/`, `${URL}/a/b/c`, 'backups'],
  ['TABLES_CONNECTION_STRING', URL, 'AccountName=cameras', 'AccountName=cameras;AccountKey=not base64!'],
  ['TABLES_CONNECTION_STRING', `DefaultEndpointsProtocol=http;${ACCOUNT}`, `${ACCOUNT};TableEndpoint=http://a.org/a`],
  ['TABLES_ENDPOINT', 'http://127.0.0.1/', 'a.example.org'],
  ['TABLES_PREFIX', '1st', 'a-b', 'x'.repeat(51)],
  ['PHONE', 'maybe'],
  ['PHONE_PROVIDER', 'vonage'],
  ['ACS_CONNECTION_STRING', URL, `endpoint=${URL}`, `endpoint=${URL};accesskey=#`, 'endpoint=http://a/;accesskey=c2Vj'],
  ['ACS_ENDPOINT', 'http://127.0.0.1/'],
  ['ACS_SOURCE_PHONE_NUMBER', '2065550199', '+1 206 555 0199', '+02065550199', '+1234567890123456'],
  ['ACS_TEAMS_RESOURCE_ACCOUNT_ID', 'x'],
  ['ACS_COGNITIVE_SERVICES_ENDPOINT', 'speech.cognitiveservices.azure.com', 'http://127.0.0.1/'],
  ['ACS_RESOURCE_ID', 'two words'],
  ['ACS_TOKEN_ISSUER', 'http://issuer.example.org', 'issuer'],
  ['ACS_TOKEN_KEYS_URL', 'file:///etc/keys'],
  ['CALLBACK_BASE_URL', `${longBase}a`, `${URL}/&`, `${URL}/?x=1`, 'https://user:secret@watch.example.org'],
  ['CALLBACK_BASE_URL', 'http://watch.example.org', 'http://127.0.0.1.example.org'],
  ['TEST_CALLBACK_BASE_URL', 'ftp://tunnel.example.org', 'tunnel'],
  ['PHONE_ALLOWED_PREFIXES', '1,64', '+1,,+64', '+', '+1,+'],
  ['EVENT_TOPIC_ENDPOINT', 'http://a.invalid'],
  ['SWEEP_SCHEDULE', '1 2 3 4 5', 'every minute of the day now', '60 * * * * *', '0 0 0 0 * *', '0 0 0 * * 7'],
  ['TWILIO_ACCOUNT_SID', 'AC1', TWILIO.TWILIO_API_KEY_SID],
  ['TWILIO_API_KEY_SID', TWILIO.TWILIO_ACCOUNT_SID],
  ['TWILIO_API_KEY_SECRET', UNRESOLVED, 'two words'],
  ['TWILIO_AUTH_TOKEN', UNRESOLVED],
  ['TWILIO_SECONDARY_AUTH_TOKEN', UNRESOLVED],
  ['TWILIO_SOURCE_PHONE_NUMBER', '12065550198'],
  ['TWILIO_VOICE', 'a b', 'x'.repeat(61)],
  ['TWILIO_API_BASE_URL', 'http://api.example'],
])('%s may not be one of %j', (setting, ...wrong) => {
  for (const value of wrong) {
    expect([value, refused({ ...around(setting), [setting]: value })]).toEqual([value, [setting]]);
  }
});

it('an outcome webhook has an https URL and a secret of 24 to 64 bytes; a topic may have a key', () => {
  const given = (bytes: number) => ({
    ...WITH_ACS,
    OUTCOME_WEBHOOK_URL: URL,
    OUTCOME_WEBHOOK_SECRET: webhookSecret(bytes),
  });
  for (const bytes of [24, 25, 26, 64])
    expect(partOf(given(bytes), 'phone.webhook')).toEqual({ url: URL, secret: webhookSecret(bytes) });
  for (const bytes of [23, 65]) expect(refused(given(bytes))).toEqual(['OUTCOME_WEBHOOK_SECRET']);
  const wrong = { OUTCOME_WEBHOOK_SECRET: KEY.repeat(4), OUTCOME_WEBHOOK_URL: 'http://a.invalid' };
  expect(refused({ ...WITH_ACS, ...wrong })).toEqual(['OUTCOME_WEBHOOK_SECRET', 'OUTCOME_WEBHOOK_URL']);
  const topic = { EVENT_TOPIC_ENDPOINT: URL, EVENT_TOPIC_KEY: 'a-key' };
  expect(partOf({ ...WITH_TWILIO, ...topic }, 'phone.topic')).toEqual({ endpoint: URL, key: 'a-key' });
});

describe('settings together', () => {
  const acs = ['ACS_COGNITIVE_SERVICES_ENDPOINT', 'ACS_CONNECTION_STRING', 'ACS_SOURCE_PHONE_NUMBER'];
  const WITHOUT_ACCOUNT = { TWILIO_ACCOUNT_SID: '', TWILIO_API_KEY_SECRET: '', TWILIO_API_KEY_SID: '' };
  it.each<[what: string, environment: Environment, ...refused: string[]]>([
    ['none', {}, ...acs, 'CALLBACK_BASE_URL', 'SERVICE_NAME', 'TABLES_CONNECTION_STRING'],
    ['empty ones', { ...WITH_ACS, SERVICE_NAME: ' ', CALLBACK_BASE_URL: '' }, 'CALLBACK_BASE_URL', 'SERVICE_NAME'],
    ['no phone', BASE, ...acs, 'CALLBACK_BASE_URL'],
    ['PHONE=off', { ...BASE, PHONE: 'off' }],
    ['many wrong ones', { ...WITH_ACS, COUNTER_SHARDS: '65', PHONE: 'x' }, 'COUNTER_SHARDS', 'PHONE'],
    ['two storages', { ...WITH_ACS, TABLES_ENDPOINT: URL }, 'TABLES_ENDPOINT'],
    ['two ACS connections', { ...WITH_ACS, ACS_ENDPOINT: URL }, 'ACS_ENDPOINT'],
    ['two callers', { ...WITH_ACS, ACS_TEAMS_RESOURCE_ACCOUNT_ID: GUID }, 'ACS_TEAMS_RESOURCE_ACCOUNT_ID'],
    ['ACS by its connection string, and Twilio', { ...WITH_ACS, ...TWILIO }, 'PHONE_PROVIDER'],
    ['ACS by its endpoint, and Twilio', { ...WITH_TWILIO, ACS_ENDPOINT: URL }, 'PHONE_PROVIDER'],
    ['Twilio by name alone', { ...WITH_ACS, PHONE_PROVIDER: 'twilio' }, ...Object.keys(TWILIO).toSorted()],
    ['a part of Twilio', { ...WITH_TWILIO, ...WITHOUT_ACCOUNT }, ...Object.keys(WITHOUT_ACCOUNT).toSorted()],
    ['a key without its topic', { ...WITH_ACS, EVENT_TOPIC_KEY: 'x' }, 'EVENT_TOPIC_ENDPOINT'],
    ['a webhook alone', { ...BASE, PHONE: 'off', OUTCOME_WEBHOOK_URL: URL }, 'OUTCOME_WEBHOOK_SECRET'],
    ['a secret alone', { ...WITH_TWILIO, OUTCOME_WEBHOOK_SECRET: webhookSecret(24) }, 'OUTCOME_WEBHOOK_URL'],
  ])('%s', (_what, environment, ...names) => {
    expect(refused(environment)).toEqual(names);
  });

  it('the named provider places the calls; with the phone off the settings that it lacks are named', () => {
    for (const provider of ['acs', 'twilio']) {
      const { phone = {} } = readSettings({ ...WITH_ACS, ...TWILIO, PHONE_PROVIDER: provider });
      expect('twilio' in phone).toBe(provider === 'twilio');
    }
    expect(readSettings({ ...BASE, PHONE: 'off' }).phoneLacks.toSorted()).toEqual([...acs, 'CALLBACK_BASE_URL']);
  });
});
