import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';
import { z } from 'zod';

import { readSettings, settingSchemas } from '../../src/settings.ts';

const { Values: values } = z
  .strictObject({ IsEncrypted: z.literal(false), Values: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(new URL('../../local.settings.json.example', import.meta.url), 'utf8')));

/** What only the owner of an ACS resource knows. */
const OWN = {
  ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
  ACS_SOURCE_PHONE_NUMBER: '+12065550199',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
};

it('names every setting of the service, and besides only those of the Functions host', () => {
  const ofHost = ['FUNCTIONS_WORKER_RUNTIME', 'AzureWebJobsStorage'];
  expect(Object.keys(values).toSorted()).toEqual([...Object.keys(settingSchemas), ...ofHost].toSorted());
});

it('is enough for counting as it is; with the phone on, it lacks only the values of the own ACS resource', () => {
  expect(readSettings(values)).toMatchObject({ phone: undefined, phoneLacks: Object.keys(OWN) });
  const on = { ...values, PHONE: 'on' };
  const lacking = expect.objectContaining({
    problems: Object.keys(OWN).map((setting) => expect.objectContaining({ setting })),
  });
  expect(() => readSettings(on)).toThrow(lacking);
  const required = ['SERVICE_NAME', 'TABLES_CONNECTION_STRING', 'CALLBACK_BASE_URL'].map((name) => [
    name,
    values[name],
  ]);
  expect(readSettings({ ...on, ...OWN })).toEqual(readSettings({ ...Object.fromEntries(required), ...OWN }));
});
