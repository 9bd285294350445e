import { expect, it } from 'vitest';
import { z } from 'zod';

import { readSettings, settingSchemas } from '../../src/settings.ts';
import { readText } from '../docs/markdown.ts';

const { Values: values } = z
  .strictObject({ IsEncrypted: z.literal(false), Values: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readText('local.settings.json.example')));

/** The values that only the owner of an ACS resource knows. */
const OWN = {
  ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
  ACS_SOURCE_PHONE_NUMBER: '+12065550199',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
};

it('local.settings.json.example has each setting of the service, and two of the Functions host', () => {
  const ofHost = ['FUNCTIONS_WORKER_RUNTIME', 'AzureWebJobsStorage'];
  expect(Object.keys(values).toSorted()).toEqual([...Object.keys(settingSchemas), ...ofHost].toSorted());
});

it('local.settings.json.example is enough for counting; with the phone on, it lacks only the values of ACS', () => {
  expect(readSettings(values)).toMatchObject({ phone: undefined, phoneLacks: Object.keys(OWN) });
  const on = { ...values, PHONE: 'on' };
  const problems = Object.keys(OWN).map((setting) => expect.objectContaining({ setting }));
  expect(() => readSettings(on)).toThrow(expect.objectContaining({ problems }));
  // Its other values are the defaults.
  const { SERVICE_NAME, TABLES_CONNECTION_STRING, CALLBACK_BASE_URL } = values;
  const required = { SERVICE_NAME, TABLES_CONNECTION_STRING, CALLBACK_BASE_URL };
  expect(readSettings({ ...on, ...OWN })).toEqual(readSettings({ ...required, ...OWN }));
});
