import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { storageFrom } from '../../infra/local/chosen-storage.ts';
import {
  localDefaults,
  mergeSettings,
  readSettingsFile,
  unknownNames,
  withoutLocalParts,
} from '../../infra/local/local-settings.ts';
import { readSettings } from '../../src/settings.ts';
import { ownDirectory } from '../harness/own-directory.ts';

describe('settings from several sources', () => {
  const endpoint = { TABLES_ENDPOINT: 'https://t.example' };
  const acs = { ACS_CONNECTION_STRING: 'c' };
  const both = { ...acs, ACS_ENDPOINT: 'https://a.example' };

  it.each([
    [
      'the first source that gives a setting wins, and an empty value gives nothing',
      [
        { SERVICE_NAME: 'A', TABLES_PREFIX: ' ' },
        { SERVICE_NAME: 'B', TABLES_PREFIX: 'b' },
      ],
      { SERVICE_NAME: 'A', TABLES_PREFIX: 'b' },
    ],
    [
      'of two alternatives that of the first source counts',
      [
        { ...endpoint, ...acs },
        { ...both, TABLES_CONNECTION_STRING: 'x' },
      ],
      { ...endpoint, ...acs },
    ],
    ['two alternatives in one source are both kept, for the app to refuse', [both], both],
  ])('%s', (_, sources, merged) => {
    expect(mergeSettings(...sources)).toEqual(merged);
  });

  it('a Teams resource account puts the number of a local run out, and the app takes the rest', () => {
    const simulated = {
      connectionString: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
      issuer: 'i',
      keysUrl: 'k',
      resourceId: 'r',
      topic: { endpoint: 'http://127.0.0.1:9/topic', key: 'dGVzdA==' },
    };
    const tables = 'UseDevelopmentStorage=true';
    const account = '6f2b1f2e-8c5d-4f0e-9c7a-0d1e2f3a4b5c';
    const settings = mergeSettings(
      { ACS_TEAMS_RESOURCE_ACCOUNT_ID: account },
      localDefaults(7071, tables, simulated, false),
    );
    expect(settings).not.toHaveProperty('ACS_SOURCE_PHONE_NUMBER');
    expect(readSettings(settings).phone).toMatchObject({ caller: { teamsResourceAccountId: account } });
  });

  it("the file's own Azurite and address are not those of a local run; everything else in it is", () => {
    expect(
      withoutLocalParts({
        TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true',
        CALLBACK_BASE_URL: 'http://localhost:7071',
        SERVICE_NAME: 'A',
        // A local run has a default of its own.
        CALL_RETRY_SECONDS: '60',
        CALL_ATTEMPTS: '2',
      }),
    ).toEqual({ SERVICE_NAME: 'A', CALL_ATTEMPTS: '2' });
    const real = { TABLES_CONNECTION_STRING: 'AccountName=a;AccountKey=aa==', CALLBACK_BASE_URL: 'https://a.example' };
    expect(withoutLocalParts(real)).toEqual(real);
  });
});

it('a settings file gives its Values; one that is missing or wrong is named in the error', async () => {
  const path = join(ownDirectory(), 'own.json');
  await expect(readSettingsFile(path)).rejects.toThrow('own.json does not exist.');
  await writeFile(path, '{ "IsEncrypted": false, "Values": { "SERVICE_NAME": "A" }, "Host": { "CORS": "*" } }');
  expect(await readSettingsFile(path)).toEqual({ SERVICE_NAME: 'A' });
  for (const wrong of ['{ "Values": ', '{ "Values": { "COUNTER_SHARDS": 4 } }']) {
    await writeFile(path, wrong);
    await expect(readSettingsFile(path)).rejects.toThrow(`${path} is not a settings file`);
  }
});

it('a settings file may have settings of the Functions host; a name that nobody knows is told', () => {
  const host = { FUNCTIONS_WORKER_RUNTIME: 'node', AzureWebJobsStorage: '', WEBSITE_TIME_ZONE: 'UTC' };
  expect(unknownNames({ ...host, SERVICE_NAME: 'A', DETECTION_CATEGORYS: 'fire' })).toEqual(['DETECTION_CATEGORYS']);
});

describe('the storage that a command works on', () => {
  const run = { simulatorUrl: undefined, tables: { TABLES_CONNECTION_STRING: emulator('3'), TABLES_PREFIX: 'run' } };
  const given = (file: string): Record<string, string> => ({ TABLES_CONNECTION_STRING: emulator(file) });

  it('is the one that the environment names, else the settings file, else the local run', () => {
    expect(storageFrom(given('1'), given('2'), 7071, run).connection).toEqual({ connectionString: emulator('1') });
    expect(storageFrom({}, given('2'), 7071, run).connection).toEqual({ connectionString: emulator('2') });
    expect(storageFrom({}, {}, 7071, run)).toEqual({
      connection: { connectionString: emulator('3') },
      prefix: 'run',
    });
  });

  it('is that of the local run, not the emulator that a settings file names for func start', () => {
    const file = { TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true' };
    expect(storageFrom({}, file, 7071, run).connection).toEqual({ connectionString: emulator('3') });
    expect(storageFrom({}, file, 7071, undefined).connection).toEqual({
      connectionString: 'UseDevelopmentStorage=true',
    });
  });

  it('must be named by exactly one valid setting', () => {
    const endpoint = 'https://account.table.core.windows.net';
    expect(storageFrom({ TABLES_ENDPOINT: endpoint }, given('2'), 7071, run).connection).toEqual({ endpoint });
    expect(() => storageFrom({ TABLES_ENDPOINT: endpoint, ...given('1') }, {}, 7071, run)).toThrow(
      'TABLES_ENDPOINT cannot be set together with TABLES_CONNECTION_STRING',
    );
    expect(() => storageFrom({ TABLES_CONNECTION_STRING: 'secret' }, {}, 7071, run)).toThrow(
      /^TABLES_CONNECTION_STRING is not a storage connection string/,
    );
    expect(() => storageFrom({}, {}, 7071, undefined)).toThrow('There is no local run on port 7071');
    expect(() => storageFrom({}, {}, 7071, { simulatorUrl: undefined, tables: undefined })).toThrow(
      'The local run on port 7071 uses a storage that is named in its environment.',
    );
  });
});

function emulator(port: string): string {
  return `AccountName=a;AccountKey=YQ==;TableEndpoint=http://127.0.0.1:${port}/a`;
}
