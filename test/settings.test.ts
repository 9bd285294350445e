import { describe, expect, it } from 'vitest';

import { ALERT_TYPES } from '../src/calls/model/alert-types.ts';
import { longestTwiml, MOST_TWIML_CHARACTERS } from '../src/calls/providers/twilio/twiml.ts';
import { callMessage, MAX_DETAILS_CHARACTERS } from '../src/calls/rules/message.ts';
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

const GUID = '6b9e0d0c-0000-4000-8000-000000000000';
const TOPIC = 'https://outcomes.westeurope-1.eventgrid.azure.net/api/events';
const DAY_MS = 86_400_000;
const ACCOUNT = `AccountName=a;AccountKey=${KEY}`;
const LOCAL_TABLES = `DefaultEndpointsProtocol=http;${ACCOUNT};TableEndpoint=http://127.0.0.1:10002/a`;
const SIGNED_TABLES = 'TableEndpoint=https://a.table.core.windows.net;SharedAccessSignature=sv=2024';
const NOT_BASE64 = 'AccountName=cameras;AccountKey=not base64!';
const YEAR = String(366 * 86_400);
const categories = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`).join(',');

const withSettings = (more: Readonly<Record<string, string | undefined>>) => readSettings({ ...REQUIRED, ...more });

const refusal = (environment: Readonly<Record<string, string | undefined>>): SettingsError => {
  try {
    readSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return error;
  }
  throw new Error('was not refused');
};

/** The names of the settings that are refused. */
const refused = (environment: Readonly<Record<string, string | undefined>>): readonly string[] =>
  [...new Set(refusal(environment).problems.map(({ setting }) => setting))].toSorted();

describe('settings', () => {
  it('have defaults where they are not required', () => {
    expect(readSettings(REQUIRED)).toEqual({
      serviceName: 'Ridge Watch',
      windowSeconds: 86_400,
      detectionCategories: ['fire', 'smoke', 'structure'],
      counterShards: 1,
      eventRetentionDays: undefined,
      backupContainerUrl: undefined,
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
        callsAtOnce: 2,
        sweepSchedule: '*/30 * * * * *',
        retentionMs: 90 * DAY_MS,
        ringMs: 60_000,
        topic: undefined,
        webhook: undefined,
      },
      phoneLacks: [],
      sweep: { sweepSchedule: '*/30 * * * * *', retentionMs: 90 * DAY_MS },
    });
  });

  it.each<[given: Record<string, string>, settings: object]>([
    [{ SERVICE_NAME: '  Ridge & Valley  ', PATH: '/usr/bin' }, { serviceName: 'Ridge & Valley' }],
    [{ CACHE_TS_UTC_WINDOW_SECONDS: '3600' }, { windowSeconds: 3_600 }],
    [{ DETECTION_CATEGORIES: 'smoke, fog ,smoke,Fire_2' }, { detectionCategories: ['smoke', 'fog', 'Fire_2'] }],
    [
      { COUNTER_SHARDS: '64', EVENT_RETENTION_DAYS: '30' },
      { counterShards: 64, eventRetentionDays: 30 },
    ],
    [
      { TABLES_CONNECTION_STRING: '', TABLES_ENDPOINT: 'https://a.table.core.windows.net', TABLES_PREFIX: 'Stage1' },
      { tables: { connection: { endpoint: 'https://a.table.core.windows.net' }, prefix: 'Stage1' } },
    ],
    [
      { ACS_CONNECTION_STRING: '', ACS_ENDPOINT: 'https://calls.communication.azure.com' },
      { phone: { connection: { endpoint: 'https://calls.communication.azure.com' } } },
    ],
    [
      { ACS_SOURCE_PHONE_NUMBER: '', ACS_TEAMS_RESOURCE_ACCOUNT_ID: GUID },
      { phone: { caller: { teamsResourceAccountId: GUID } } },
    ],
    [
      { ACS_RESOURCE_ID: GUID, ACS_TOKEN_ISSUER: 'http://127.0.0.1:8/' },
      {
        phone: {
          resourceId: GUID,
          tokenIssuer: 'http://127.0.0.1:8/',
          tokenKeysUrl: 'http://127.0.0.1:8/calling/keys',
        },
      },
    ],
    [{ ACS_TOKEN_KEYS_URL: 'https://keys.invalid/a' }, { phone: { tokenKeysUrl: 'https://keys.invalid/a' } }],
    [{ CALLBACK_BASE_URL: 'http://localhost:7071//' }, { phone: { callbackBaseUrl: 'http://localhost:7071' } }],
    [{ TEST_CALLBACK_BASE_URL: 'https://a.invalid/x/' }, { phone: { testCallbackBaseUrl: 'https://a.invalid/x' } }],
    [{ CALL_ATTEMPTS: '5', CALL_RETRY_SECONDS: '5' }, { phone: { attempts: 5, retryMs: 5_000 } }],
    [
      { NOTIFICATION_DEADLINE_MINUTES: '1440', CALL_RING_SECONDS: '15' },
      { phone: { deadlineMs: DAY_MS, ringMs: 15_000 } },
    ],
    [{ EVENT_TOPIC_ENDPOINT: TOPIC }, { phone: { topic: { endpoint: TOPIC, key: undefined } } }],
    [
      { EVENT_TOPIC_ENDPOINT: TOPIC, EVENT_TOPIC_KEY: 'a-key' },
      { phone: { topic: { endpoint: TOPIC, key: 'a-key' } } },
    ],
    [
      { PHONE_ALLOWED_PREFIXES: ' +1, +64 ,+1', CALLS_PER_DAY: '12' },
      { phone: { allowedPrefixes: ['+1', '+64'], callsPerDay: 12 } },
    ],
    [{ CALLS_AT_ONCE: '100' }, { phone: { callsAtOnce: 100 } }],
    [{ SWEEP_SCHEDULE: '0 */5 * * * 1-5' }, { sweep: { sweepSchedule: '0 */5 * * * 1-5' } }],
    [{ CALL_RETENTION_DAYS: '7' }, { sweep: { retentionMs: 7 * DAY_MS }, phone: { retentionMs: 7 * DAY_MS } }],
  ])('are taken as they are given: %o', (given, settings) => {
    expect(withSettings(given)).toMatchObject(settings);
  });

  it('are those of Twilio where it is configured, or named; both and none named is an error', () => {
    const { SERVICE_NAME, TABLES_CONNECTION_STRING, CALLBACK_BASE_URL } = REQUIRED;
    const common = { SERVICE_NAME, TABLES_CONNECTION_STRING, CALLBACK_BASE_URL };
    const twilio = {
      TWILIO_ACCOUNT_SID: `AC${'1'.repeat(32)}`,
      TWILIO_API_KEY_SID: `SK${'2'.repeat(32)}`,
      TWILIO_API_KEY_SECRET: 'a-secret',
      TWILIO_AUTH_TOKEN: 'a-token',
      TWILIO_SOURCE_PHONE_NUMBER: '+12065550198',
    };
    const settings = { callsPerSecond: 1, voice: 'Polly.Joanna', authTokens: ['a-token'], source: '+12065550198' };
    const own = { twilio: { ...settings, apiBaseUrl: 'https://api.twilio.com' } };
    expect(readSettings({ ...common, ...twilio }).phone).toMatchObject(own);
    const fast = { ...common, ...twilio, TWILIO_CALLS_PER_SECOND: '100' };
    expect(readSettings(fast).phone).toMatchObject({ twilio: { callsPerSecond: 100 } });
    const rotated = { ...common, ...twilio, TWILIO_SECONDARY_AUTH_TOKEN: 'the-next' };
    expect(readSettings(rotated).phone).toMatchObject({ twilio: { authTokens: ['a-token', 'the-next'] } });
    expect(readSettings({ ...REQUIRED, ...twilio, PHONE_PROVIDER: 'twilio' }).phone).toMatchObject(own);
    expect(readSettings({ ...REQUIRED, ...twilio, PHONE_PROVIDER: 'acs' }).phone).toHaveProperty('connection');
    const { ACS_CONNECTION_STRING: _, ...acs } = { ...REQUIRED, ACS_ENDPOINT: 'https://calls.communication.azure.com' };
    for (const both of [REQUIRED, acs]) expect(refused({ ...both, ...twilio })).toEqual(['PHONE_PROVIDER']);
    expect(refused({ ...common, PHONE_PROVIDER: 'twilio' })).toEqual(Object.keys(twilio).toSorted());
    const reference = '@Microsoft.KeyVault(SecretUri=https://v.example/secrets/x)';
    for (const [name, wrong] of [
      ['PHONE_PROVIDER', 'vonage'],
      ['TWILIO_ACCOUNT_SID', 'AC1'],
      ['TWILIO_API_KEY_SID', `AC${'1'.repeat(32)}`],
      ['TWILIO_API_KEY_SECRET', reference],
      ['TWILIO_AUTH_TOKEN', reference],
      ['TWILIO_SOURCE_PHONE_NUMBER', '12065550198'],
      ['TWILIO_CALLS_PER_SECOND', '0'],
      ['TWILIO_CALLS_PER_SECOND', '101'],
      ['TWILIO_VOICE', 'a b'],
      ['TWILIO_SECONDARY_AUTH_TOKEN', reference],
      ['TWILIO_API_BASE_URL', 'http://api.example'],
    ] as const) {
      expect(refused({ ...common, ...twilio, [name]: wrong })).toEqual([name]);
    }
  });

  it('leave room for the longest message in a call request to Twilio, all of it escaped', () => {
    const name = '&'.repeat(200);
    const base = `https://${'a'.repeat(492)}`;
    const voice = 'x'.repeat(60);
    expect(() => withSettings({ SERVICE_NAME: name, TWILIO_VOICE: voice })).not.toThrow();
    const longest = { details: '&'.repeat(MAX_DETAILS_CHARACTERS), confirm: true };
    const lengths = ALERT_TYPES.map((type) => longestTwiml(callMessage(name, type, longest), base, voice));
    expect(Math.max(...lengths)).toBeLessThanOrEqual(MOST_TWIML_CHARACTERS);
  });

  it('need nothing of ACS where the phone is off', () => {
    const { phone } = readSettings({ SERVICE_NAME: 'Ridge Watch', TABLES_CONNECTION_STRING: TABLES, PHONE: 'off' });
    expect(phone).toBeUndefined();
  });
});

describe('wrong settings stop the app, each named, none printed', () => {
  it.each<[setting: string, right: readonly string[], ...wrong: (string | undefined)[]]>([
    ['SERVICE_NAME', ['x'.repeat(200)], undefined, '   ', 'x'.repeat(201), 'Ridge\nWatch'],
    ['CACHE_TS_UTC_WINDOW_SECONDS', ['1', YEAR], '0', '-5', '1.5', '1e3', '0x10', 'day', String(Number(YEAR) + 1)],
    ['DETECTION_CATEGORIES', [categories(64)], ',', 'fire,,smoke', 'fire,sm oke', 'fire;smoke', categories(65)],
    ['COUNTER_SHARDS', ['1'], '0', '65', 'one', '4 shards'],
    ['EVENT_RETENTION_DAYS', ['1', '36500'], '0', '36501', '1.5'],
    ['TABLES_CONNECTION_STRING', ['UseDevelopmentStorage=true', LOCAL_TABLES, SIGNED_TABLES], undefined],
    ['TABLES_CONNECTION_STRING', [], 'https://cameras.table.core.windows.net', 'AccountName=cameras'],
    ['TABLES_CONNECTION_STRING', [], NOT_BASE64, `DefaultEndpointsProtocol=http;${ACCOUNT}`],
    ['TABLES_CONNECTION_STRING', [], `${ACCOUNT};TableEndpoint=http://cameras.example.org/a`],
    // Together with TABLES_CONNECTION_STRING.
    ['TABLES_ENDPOINT', [], 'https://cameras.table.core.windows.net'],
    ['TABLES_PREFIX', ['a'], '1st', 'a-b', 'x'.repeat(51)],
    [
      'ACS_CONNECTION_STRING',
      [`endpoint=http://localhost:9/;accesskey=${KEY}`, `EndPoint=https://a/;AccessKey=${KEY};`],
    ],
    ['ACS_CONNECTION_STRING', [], undefined, 'https://calls.example.org', 'endpoint=https://calls.example.org/'],
    [
      'ACS_CONNECTION_STRING',
      [],
      `endpoint=http://calls.example.org/;accesskey=${KEY}`,
      'endpoint=https://a/;accesskey=#',
    ],
    ['ACS_ENDPOINT', [], 'https://calls.communication.azure.com'],
    ['ACS_SOURCE_PHONE_NUMBER', ['+123456789012345'], undefined, '2065550199', '+1 206 555 0199', '+02065550199'],
    ['ACS_SOURCE_PHONE_NUMBER', [], '+1234567890123456'],
    // Together with ACS_SOURCE_PHONE_NUMBER.
    ['ACS_TEAMS_RESOURCE_ACCOUNT_ID', [], GUID],
    ['ACS_COGNITIVE_SERVICES_ENDPOINT', [], undefined, 'speech.cognitiveservices.azure.com', 'http://127.0.0.1/'],
    ['ACS_RESOURCE_ID', [GUID], 'two words'],
    ['ACS_TOKEN_ISSUER', [], 'http://issuer.example.org'],
    ['ACS_TOKEN_KEYS_URL', [], 'file:///etc/keys'],
    ['CALLBACK_BASE_URL', [`https://${'a'.repeat(492)}`], `https://${'a'.repeat(493)}`, 'https://watch.example.org/&'],
    ['CALLBACK_BASE_URL', ['http://[::1]:7071'], undefined, 'http://watch.example.org', 'http://127.0.0.1.example.org'],
    ['CALLBACK_BASE_URL', [], 'https://watch.example.org/?x=1', 'https://user:secret@watch.example.org'],
    ['TEST_CALLBACK_BASE_URL', [], 'ftp://tunnel.example.org', 'tunnel'],
    ['PHONE', ['on'], 'maybe'],
    ['CALL_ATTEMPTS', ['1', '10'], '0', '11'],
    ['CALL_RETRY_SECONDS', ['5', '3600'], '4', '3601'],
    ['NOTIFICATION_DEADLINE_MINUTES', ['1', '1440'], '0', '1441'],
    ['PHONE_ALLOWED_PREFIXES', [], '1,64', '+1,,+64', '+', '+1,+'],
    ['CALL_RING_SECONDS', ['15', '110'], '14', '111'],
    ['EVENT_TOPIC_ENDPOINT', [], 'http://outcomes.example.org/api/events'],
    ['CALLS_PER_DAY', ['1', '100000'], '0', '100001'],
    ['CALLS_AT_ONCE', ['1', '100'], '0', '101', 'two'],
    ['SWEEP_SCHEDULE', [], '1 2 3 4 5', 'every minute of the day now', '60 * * * * *', '0 0 0 0 * *', '0 0 0 * * 7'],
    ['CALL_RETENTION_DAYS', ['2', '3650'], '1', '3651'],
  ])('%s, but none of %j', (setting, right, ...wrong) => {
    for (const value of right) expect(() => withSettings({ [setting]: value })).not.toThrow();
    for (const value of wrong) {
      const { problems, message } = refusal({ ...REQUIRED, [setting]: value });
      const named = [...new Set(problems.map((problem) => problem.setting))];
      expect({ value, named }).toEqual({ value, named: [setting] });
      expect(message).toContain(`  ${setting}: `);
      const printable = (value ?? '').trim();
      expect(printable.length > 8 && message.includes(printable), 'the value is printed').toBe(false);
    }
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
