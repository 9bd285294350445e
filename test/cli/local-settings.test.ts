import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { storageFrom } from '../../infra/cli/chosen-storage.ts';
import {
  isOnThisMachine,
  localDefaults,
  mergeSettings,
  nameWarnings,
  readSettingsFile,
  withoutLocalParts,
} from '../../infra/cli/start/local-settings.ts';
import { readSettings } from '../../src/settings.ts';
import { ownDirectory } from '../harness/own-directory.ts';

const ENDPOINT = { TABLES_ENDPOINT: 'https://account.table.core.windows.net' };

it('the first source that gives a setting wins, an empty value gives nothing, and of two alternatives that of the first source counts', () => {
  const first = { SERVICE_NAME: 'A', TABLES_PREFIX: ' ', ...ENDPOINT };
  const second = { SERVICE_NAME: 'B', TABLES_PREFIX: 'b', TABLES_CONNECTION_STRING: 'x' };
  expect(mergeSettings(first, second)).toEqual({ SERVICE_NAME: 'A', TABLES_PREFIX: 'b', ...ENDPOINT });
  // For the app to refuse.
  const both = { ACS_CONNECTION_STRING: 'c', ACS_ENDPOINT: 'https://a.example' };
  expect(mergeSettings(both)).toEqual(both);
});

it('a Teams resource account puts the number of a local run out, and the app takes the rest', () => {
  const simulated = {
    connectionString: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
    issuer: 'i',
    keysUrl: 'k',
    resourceId: 'r',
    topic: { endpoint: 'http://127.0.0.1:9/topic', key: 'dGVzdA==' },
  };
  const account = '6f2b1f2e-8c5d-4f0e-9c7a-0d1e2f3a4b5c';
  const defaults = localDefaults(7071, 'UseDevelopmentStorage=true', simulated, false);
  const settings = mergeSettings({ ACS_TEAMS_RESOURCE_ACCOUNT_ID: account }, defaults);
  expect(settings).not.toHaveProperty('ACS_SOURCE_PHONE_NUMBER');
  expect(readSettings(settings).phone).toMatchObject({ caller: { teamsResourceAccountId: account } });
});

it("a file's own Azurite, address and defaults are not those of a local run; everything else in it is", () => {
  const emulator = {
    TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true',
    CALLBACK_BASE_URL: 'http://localhost:7071',
  };
  const kept = { SERVICE_NAME: 'A', CALL_ATTEMPTS: '2' };
  expect(withoutLocalParts({ ...emulator, CALL_RETRY_SECONDS: '60', ...kept })).toEqual(kept);
  const real = { TABLES_CONNECTION_STRING: 'AccountName=a;AccountKey=aa==', CALLBACK_BASE_URL: 'https://a.example' };
  expect(withoutLocalParts(real)).toEqual(real);
});

it('a settings file gives its Values; one that is missing or wrong is named in the error', async () => {
  const path = join(ownDirectory(), 'own.json');
  await expect(readSettingsFile(path)).rejects.toThrow('own.json does not exist.');
  await writeFile(path, '{ "IsEncrypted": false, "Values": { "SERVICE_NAME": "A" }, "Host": { "CORS": "*" } }');
  expect(await readSettingsFile(path)).toEqual({ SERVICE_NAME: 'A' });
  for (const [wrong, complaint] of [
    ['{ "Values":\n{ "A": "secret" "B": "c" }', 'own.json is not valid JSON: line 2, column 17.'],
    ['{ "Values": ', 'own.json is not valid JSON: line 1, column 13.'],
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
  [{ TABLES_ENDPOINT: 'https://a.table.core.windows.net' }, false],
  [{ TABLES_CONNECTION_STRING: 'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=YQ==' }, false],
  [{ TABLES_CONNECTION_STRING: 'AccountName=a;TableEndpoint=https://127.0.0.1.a.example/' }, false],
  [{ TABLES_CONNECTION_STRING: 'AccountName=a;TableEndpoint=http://127.0.0.1:10002/a' }, true],
  [{ TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true' }, true],
  [{}, true],
])('%j: the tables are on this machine: %s', (settings, expected) => {
  expect(isOnThisMachine(settings)).toBe(expected);
});

/** A storage on a port. */
const on = (port: number) => ({
  TABLES_CONNECTION_STRING: `AccountName=a;AccountKey=YQ==;TableEndpoint=http://127.0.0.1:${port}/a`,
});
const RUN = { tables: { ...on(3), TABLES_PREFIX: 'run' } };
/** What a settings file names for func start. */
const EMULATOR = { TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true' };

it.each([
  ['the environment', on(1), on(2), RUN, on(1).TABLES_CONNECTION_STRING],
  ['the settings file', {}, on(2), RUN, on(2).TABLES_CONNECTION_STRING],
  ['the local run', {}, {}, RUN, on(3).TABLES_CONNECTION_STRING],
  ['the local run, not the emulator of the file', {}, EMULATOR, RUN, on(3).TABLES_CONNECTION_STRING],
  ['the emulator of the file, if nothing runs', {}, EMULATOR, undefined, EMULATOR.TABLES_CONNECTION_STRING],
])('the storage that a command works on is the one of %s', (_, environment, file, run, connectionString) => {
  expect(storageFrom(environment, file, 7071, run).connection).toEqual({ connectionString });
});

it.each([
  [{ ...ENDPOINT, ...on(1) }, undefined, 'TABLES_ENDPOINT cannot be set together with TABLES_CONNECTION_STRING'],
  [{ TABLES_CONNECTION_STRING: 'secret' }, undefined, /^TABLES_CONNECTION_STRING must be a storage connection string/],
  [{}, undefined, 'There is no local run on port 7071'],
  [{}, {}, 'The local run on port 7071 uses the storage that its own environment variables name.'],
])('exactly one valid setting names it, which is not so of %j with the run %j', (environment, run, complaint) => {
  expect(storageFrom(ENDPOINT, on(2), 7071, RUN).connection).toEqual({ endpoint: ENDPOINT.TABLES_ENDPOINT });
  expect(() => storageFrom(environment, {}, 7071, run)).toThrow(complaint);
});
