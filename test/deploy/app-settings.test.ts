import { describe, expect, it } from 'vitest';

import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { readSettings, settingSchemas } from '../../src/settings.ts';
import { readText } from '../docs/markdown.ts';
import { AZURE, declarationsOf, declared, defaultOf, propertiesIn } from './bicep-files.ts';

const APP = 'modules/app.bicep';
const appSettings = propertiesIn(declared(APP, 'resource settings'));

/** Settings of the Functions host and of Azure's SDKs, which src/settings.ts does not read. */
const FOREIGN = /^(AzureWebJobsStorage__|FUNCTIONS_|APPLICATIONINSIGHTS_|AZURE_)/;
const given = [...appSettings.keys()].filter((name) => !FOREIGN.test(name));
const leftOut = [...readText(AZURE + APP).matchAll(/^ +\/\/ - ([A-Z_]+) \(.+\)$/gm)].map(([, name = '']) => name);

/** The values by Bicep of the settings that have no default. */
const SAMPLES: Readonly<Record<string, string>> = {
  SERVICE_NAME: 'Ridge Watch',
  TABLES_ENDPOINT: 'https://st123.table.core.windows.net/',
  ACS_ENDPOINT: 'https://acs-123.unitedstates.communication.azure.com',
  ACS_SOURCE_PHONE_NUMBER: '+12065550100',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://cog-123.cognitiveservices.azure.com/',
  ACS_RESOURCE_ID: '11111111-2222-3333-4444-555555555555',
  CALLBACK_BASE_URL: 'https://func-123.azurewebsites.net',
  PHONE: 'on',
};

/** The default of the parameter of main.bicep for a setting. */
const deployedDefault = (setting: string): string => {
  const parameter = setting.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return declarationsOf('main.bicep')
    .flatMap((each) => (each.name === parameter ? [defaultOf(each) ?? ''] : []))
    .join();
};

describe('the settings that are deployed', () => {
  it('are all those of the service, each given or left out for a stated reason, and none that it requires', () => {
    expect([...given, ...leftOut].toSorted()).toEqual(Object.keys(settingSchemas).toSorted());
    const settings = readSettings(
      Object.fromEntries(given.map((name) => [name, SAMPLES[name] ?? deployedDefault(name)])),
    );
    expect(settings.tables.connection).toEqual({ endpoint: SAMPLES['TABLES_ENDPOINT'] });
    expect(settings.phone).toMatchObject({ connection: { endpoint: SAMPLES['ACS_ENDPOINT'] } });
  });

  it('have the defaults of the service', () => {
    const compared = Object.entries(settingSchemas).flatMap(([name, schema]) => {
      const { success, data } = schema.safeParse(undefined);
      const text = deployedDefault(name);
      // PHONE is off until there is a resource and a caller: main.bicep's parameter of that name is another choice. A deployment begins with
      // the calls of a small team.
      if (name === 'PHONE' || name === 'CALLS_PER_DAY') return [];
      return text === '' || !success || data === undefined ? [] : [{ name, data, deployed: schema.parse(text) }];
    });
    expect(compared.length).toBeGreaterThanOrEqual(9);
    for (const { name, data, deployed } of compared) expect({ name, value: deployed }).toEqual({ name, value: data });
    expect(deployedDefault('CALLS_PER_DAY')).toBe('100');
  });

  it('name the secrets of Twilio by references to the key vault, and nothing of ACS with Twilio', () => {
    for (const name of ['TWILIO_API_KEY_SECRET', 'TWILIO_AUTH_TOKEN', 'TWILIO_SECONDARY_AUTH_TOKEN']) {
      const secret = `\${twilioVaultUri}secrets/${name.toLowerCase().replaceAll('_', '-')}`;
      expect(appSettings.get(name)).toContain(`'@Microsoft.KeyVault(SecretUri=${secret})'`);
    }
    expect(declared('main.bicep', 'var hasCaller')).toContain('!empty(twilioSourcePhoneNumber)');
    const passed = propertiesIn(declared('main.bicep', 'module app'));
    // The app also gets the endpoint of ACS, so the provider is always named.
    expect(passed.get('phoneProvider')).toBe("isTwilio ? 'twilio' : usesCommunication ? 'acs' : ''");
    expect(passed.get('acsSourcePhoneNumber')).toBe("usesCommunication ? acsSourcePhoneNumber : ''");
  });

  it('let the host take a body a little larger than the largest that the service takes', () => {
    const limit = Number(appSettings.get('FUNCTIONS_REQUEST_BODY_SIZE_LIMIT')?.replaceAll("'", ''));
    expect(limit).toBeGreaterThan(MAX_EVENTS_BYTES);
    expect(limit).toBeLessThanOrEqual(MAX_EVENTS_BYTES + 1024 * 1024);
  });

  it('reach storage, Application Insights and ACS with the identity of the app, never with a key', () => {
    expect(Object.fromEntries(appSettings)).toMatchObject({
      AzureWebJobsStorage__credential: "'managedidentity'",
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: "'ClientId=${identityClientId};Authorization=AAD'",
      AZURE_CLIENT_ID: 'identityClientId',
    });
    expect(appSettings.has('AzureWebJobsStorage')).toBe(false);
    expect([...appSettings.values()].join()).not.toMatch(/AccountKey|accesskey|listKeys/i);
  });
});
