import { readFile } from 'node:fs/promises';

import { expect, it } from 'vitest';
import { z } from 'zod';

import { readSettings, settingSchemas, type SettingProblem, SettingsError } from '../../src/settings.ts';

/** Settings of the Functions host itself. */
const HOST_SETTINGS = new Set(['FUNCTIONS_WORKER_RUNTIME', 'AzureWebJobsStorage']);

const example = async (): Promise<Readonly<Record<string, string>>> => {
  const text = await readFile(new URL('../../local.settings.json.example', import.meta.url), 'utf8');
  return z
    .strictObject({ IsEncrypted: z.literal(false), Values: z.record(z.string(), z.string()) })
    .parse(JSON.parse(text)).Values;
};

const problemsOf = (values: Readonly<Record<string, string>>): readonly SettingProblem[] => {
  try {
    readSettings(values);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
};

it('names every setting of the service and no other', async () => {
  const named = Object.keys(await example()).filter((name) => !HOST_SETTINGS.has(name));

  expect(named.sort()).toEqual(Object.keys(settingSchemas).sort());
});

it('copied as it is, lacks only the values of the own ACS resource', async () => {
  const values = await example();

  const problems = problemsOf(values);

  expect(problems.map(({ setting }) => setting).sort()).toEqual([
    'ACS_COGNITIVE_SERVICES_ENDPOINT',
    'ACS_CONNECTION_STRING',
    'ACS_SOURCE_PHONE_NUMBER',
  ]);
});

it('shows the defaults as they are', async () => {
  const values = await example();
  const own = {
    ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
    ACS_SOURCE_PHONE_NUMBER: '+12065550199',
    ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
  };
  const required = {
    ...own,
    SERVICE_NAME: values['SERVICE_NAME'],
    TABLES_CONNECTION_STRING: values['TABLES_CONNECTION_STRING'],
    CALLBACK_BASE_URL: values['CALLBACK_BASE_URL'],
  };

  expect(readSettings({ ...values, ...own })).toEqual(readSettings(required));
});
