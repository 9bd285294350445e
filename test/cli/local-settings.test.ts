import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { countersFrom } from '../../infra/cli/chosen-storage.ts';
import {
  isOnThisMachine,
  mergeSettings,
  nameWarnings,
  readSettingsFile,
  withoutLocalParts,
} from '../../infra/cli/start/local-settings.ts';
import { ownDirectory } from '../harness/own-directory.ts';

const ENDPOINT = { TABLES_ENDPOINT: 'https://account.table.core.windows.net' };
/** The settings of a file for func start. */
const EMULATOR = { TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true' };

it('the first source that gives a setting wins, an empty value gives nothing, and of two alternatives that of the first source counts', () => {
  const first = { SERVICE_NAME: 'A', TABLES_PREFIX: ' ', ...ENDPOINT, ACS_TEAMS_RESOURCE_ACCOUNT_ID: 'a' };
  const second = { SERVICE_NAME: 'B', TABLES_PREFIX: 'b', TABLES_CONNECTION_STRING: 'x', ACS_SOURCE_PHONE_NUMBER: 'x' };
  expect(mergeSettings(first, second)).toEqual({ ...first, TABLES_PREFIX: 'b' });
  // For the app to refuse.
  const both = { ACS_CONNECTION_STRING: 'c', ACS_ENDPOINT: 'https://a.example' };
  expect(mergeSettings(both)).toEqual(both);
});

it("a file's own Azurite, address and defaults are not those of a local run; everything else in it is", () => {
  const local = { ...EMULATOR, CALLBACK_BASE_URL: 'http://localhost:7071', CALL_RETRY_SECONDS: '60' };
  const kept = { SERVICE_NAME: 'A', CALL_ATTEMPTS: '2' };
  expect(withoutLocalParts({ ...local, ...kept })).toEqual(kept);
  const real = { TABLES_CONNECTION_STRING: 'AccountName=a;AccountKey=aa==', CALLBACK_BASE_URL: 'https://a.example' };
  expect(withoutLocalParts(real)).toEqual(real);
});

it('a settings file gives its Values; one that is missing or wrong is named in the error', async () => {
  const path = join(ownDirectory(), 'own.json');
  await expect(readSettingsFile(path)).rejects.toThrow('own.json does not exist.');
  await writeFile(path, '{ "IsEncrypted": false, "Values": { "SERVICE_NAME": "A" }, "Host": { "CORS": "*" } }');
  expect(await readSettingsFile(path)).toEqual({ SERVICE_NAME: 'A' });
  for (const [wrong, complaint] of [
    ['{ "Values":\n{ "A": "secret" "B": "c" }', 'own.json is not valid JSON (line 2 column 17).'],
    ['{ "Values": secret }', 'own.json is not valid JSON.'],
    ['{ "Values": { "COUNTER_SHARDS": 4 } }', 'must contain only strings. Invalid: Values.COUNTER_SHARDS.'],
  ] as const) {
    await writeFile(path, wrong);
    await expect(readSettingsFile(path)).rejects.toThrow(complaint);
    await expect(readSettingsFile(path)).rejects.not.toThrow('secret');
  }
});

it('an unknown name in a settings file, and a misspelt setting in the environment, get a warning', () => {
  const host = { FUNCTIONS_WORKER_RUNTIME: 'node', AzureWebJobsStorage: '', WEBSITE_TIME_ZONE: 'UTC' };
  const file = { ...host, SERVICE_NAME: 'A', OTHER: 'x' };
  const close = { DETECTION_CATEGORY: 'x', PHONES: 'x', COUNTER_SHARD: '1', service_name: 'x' };
  const environment = { ...close, ...host, SERVICE_NAME: 'A', HOME: '/', PATH: '/bin', CALLS: '1', LANGUAGE: 'en' };
  expect(nameWarnings('own.json', file, environment)).toEqual([
    'own.json has OTHER, which is not a setting of this service.',
    'DETECTION_CATEGORY is not a setting of this service. Did you mean DETECTION_CATEGORIES?',
    'PHONES is not a setting of this service. Did you mean PHONE?',
    'COUNTER_SHARD is not a setting of this service. Did you mean COUNTER_SHARDS?',
    'service_name is not a setting of this service. Did you mean SERVICE_NAME?',
  ]);
});

it.each([
  [{}, true],
  [EMULATOR, true],
  [{ TABLES_CONNECTION_STRING: 'AccountName=a;TableEndpoint=http://127.0.0.1:10002/a' }, true],
  [{ TABLES_CONNECTION_STRING: 'AccountName=a;TableEndpoint=https://127.0.0.1.a.example/' }, false],
  [{ TABLES_CONNECTION_STRING: 'AccountName=a;AccountKey=YQ==' }, false],
])('%j: the tables are on this machine: %s', (settings, expected) => {
  expect(isOnThisMachine(settings)).toBe(expected);
});

const on = (port: number) => `AccountName=a;AccountKey=YQ==;TableEndpoint=http://127.0.0.1:${port}/a`;
const FROM_ENVIRONMENT = { TABLES_CONNECTION_STRING: on(1) };
const FROM_FILE = { TABLES_CONNECTION_STRING: on(2) };
const RUN = { tables: { TABLES_CONNECTION_STRING: on(3), TABLES_PREFIX: 'run' } };

it.each([
  ['the environment', FROM_ENVIRONMENT, FROM_FILE, RUN, { connectionString: on(1) }],
  ['the environment, by its endpoint', ENDPOINT, FROM_FILE, RUN, { endpoint: ENDPOINT.TABLES_ENDPOINT }],
  ['the settings file', {}, FROM_FILE, RUN, { connectionString: on(2) }],
  ['the local run', {}, {}, RUN, { connectionString: on(3) }],
  ['the local run, not the emulator of the file', {}, EMULATOR, RUN, { connectionString: on(3) }],
  [
    'the emulator of the file, if nothing runs',
    {},
    EMULATOR,
    undefined,
    { connectionString: EMULATOR.TABLES_CONNECTION_STRING },
  ],
])('the storage that a command works on is the one of %s', (_, environment, file, run, connection) => {
  expect(countersFrom(environment, file, 7071, run).storage.connection).toEqual(connection);
});

it.each([
  [{ ...ENDPOINT, ...FROM_FILE }, undefined, 'TABLES_ENDPOINT cannot be set together with TABLES_CONNECTION_STRING'],
  [{ TABLES_CONNECTION_STRING: 'secret' }, undefined, /^TABLES_CONNECTION_STRING must be a storage connection string/],
  [{}, undefined, 'There is no local run on port 7071'],
  [{}, {}, 'The local run on port 7071 uses the storage that its own environment variables name.'],
])('with %j and the run %j a command names no storage: %s', (environment, run, complaint) => {
  expect(() => countersFrom(environment, {}, 7071, run)).toThrow(complaint);
});

it.each([
  [{}, {}, 'runanalytics'],
  [{ COUNTER_SHARDS: '8' }, {}, 'runanalytics8'],
  [{}, { COUNTER_SHARDS: '4' }, 'runanalytics4'],
  [{}, { COUNTER_SHARDS: '' }, 'runanalytics'],
])('with the environment %j a command works on the table of the local run %j: %s', (environment, run, tableName) => {
  const tables = { ...RUN.tables, ...run };
  expect(countersFrom(environment, { COUNTER_SHARDS: '1' }, 7071, { tables }).tableName).toBe(tableName);
});
