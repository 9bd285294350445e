import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { localDefaults } from '../../infra/local/local-defaults.ts';
import { mergeSettings, readSettingsFile, unknownNames, withoutLocalParts } from '../../infra/local/local-settings.ts';
import { readSettings } from '../../src/settings.ts';

describe('settings from several sources', () => {
  it('the first source that gives a setting wins, and an empty value gives nothing', () => {
    expect(
      mergeSettings(
        { SERVICE_NAME: 'A', TABLES_PREFIX: ' ' },
        { SERVICE_NAME: 'B', TABLES_PREFIX: 'b' },
        { COUNTER_SHARDS: '2' },
      ),
    ).toEqual({ SERVICE_NAME: 'A', TABLES_PREFIX: 'b', COUNTER_SHARDS: '2' });
  });

  it('an endpoint in the environment puts the connection string of the file out, and the other way round', () => {
    expect(
      mergeSettings(
        { TABLES_ENDPOINT: 'https://t.example', ACS_CONNECTION_STRING: 'c' },
        { TABLES_CONNECTION_STRING: 'x', ACS_ENDPOINT: 'https://a.example', SERVICE_NAME: 'B' },
      ),
    ).toEqual({ TABLES_ENDPOINT: 'https://t.example', ACS_CONNECTION_STRING: 'c', SERVICE_NAME: 'B' });
  });

  it('a Teams resource account puts the number of a local run out, and the app takes the rest', () => {
    const acs = {
      connectionString: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
      issuer: 'i',
      keysUrl: 'k',
      resourceId: 'r',
      topic: { endpoint: 'http://127.0.0.1:9/topic', key: 'dGVzdA==' },
    };
    const parts = { tablesConnectionString: 'UseDevelopmentStorage=true', acs };
    const account = '6f2b1f2e-8c5d-4f0e-9c7a-0d1e2f3a4b5c';
    const settings = mergeSettings({ ACS_TEAMS_RESOURCE_ACCOUNT_ID: account }, localDefaults(7071, parts, false));
    expect(settings).not.toHaveProperty('ACS_SOURCE_PHONE_NUMBER');
    expect(readSettings(settings).phone).toMatchObject({ caller: { teamsResourceAccountId: account } });
  });

  it('two alternatives in one source are both kept, for the app to refuse', () => {
    const both = { ACS_CONNECTION_STRING: 'c', ACS_ENDPOINT: 'https://a.example' };

    expect(mergeSettings(both)).toEqual(both);
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

describe('a settings file', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'local-settings-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('that is not there: an error that names the file', async () => {
    await expect(readSettingsFile(join(directory, 'none.json'))).rejects.toThrow('none.json does not exist.');
  });

  it('may have settings of the Functions host; a name that nobody knows is told', () => {
    const host = { FUNCTIONS_WORKER_RUNTIME: 'node', AzureWebJobsStorage: '', WEBSITE_TIME_ZONE: 'UTC' };
    expect(unknownNames({ ...host, SERVICE_NAME: 'A', DETECTION_CATEGORYS: 'fire' })).toEqual(['DETECTION_CATEGORYS']);
  });

  it('gives its Values', async () => {
    const path = join(directory, 'right.json');
    await writeFile(path, '{ "IsEncrypted": false, "Values": { "SERVICE_NAME": "A" }, "Host": { "CORS": "*" } }');

    expect(await readSettingsFile(path)).toEqual({ SERVICE_NAME: 'A' });
  });

  it.each([
    ['not JSON', '{ "Values": '],
    ['a number among the values', '{ "Values": { "COUNTER_SHARDS": 4 } }'],
  ])('%s: an error that names the file', async (_case, text) => {
    const path = join(directory, 'wrong.json');
    await writeFile(path, text);

    await expect(readSettingsFile(path)).rejects.toThrow(`${path} is not a settings file`);
  });
});
