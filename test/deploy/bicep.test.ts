import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { loadBundle } from '../harness/bundled.ts';
import { BICEP_FOLDER, type BicepFile, bicepFile, bicepFiles, textOf, valueAt } from './bicep-files.ts';

/** Built-in roles, by the names that the files' variables have. Ids from the reference of Azure's built-in roles. */
const ROLES = new Map([
  ['cognitiveServicesUser', 'a97b65f3-24c7-4388-baec-2e87135dc908'],
  ['communicationAndEmailServiceOwner', '09976791-48a7-449e-bb21-39d1a415f350'],
  ['keyVaultSecretsUser', '4633458b-17de-408a-874b-0445c86b69e6'],
  ['eventGridDataSender', 'd5a91429-5739-47e2-a06b-3470a27159e7'],
  ['monitoringMetricsPublisher', '3913510d-42f4-4e42-8a64-420c390055eb'],
  ['storageBlobDataContributor', 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'],
  ['storageBlobDataOwner', 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'],
  ['storageTableDataContributor', '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'],
  ['storageBlobDataReader', '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'],
  ['storageTableDataReader', '76199698-9eea-4c19-bc75-cec21354c6b6'],
]);

/** A dated version. The only stable version of diagnostic settings is older than its preview. */
const RESOURCE_TYPE =
  /^Microsoft\.\w+(\/\w+)+@20\d\d-\d\d-\d\d$|^Microsoft\.Insights\/diagnosticSettings@2021-05-01-preview$/;

const SECRET = /connectionstring|instrumentationkey|listkeys|accesskey|password|secret/i;

/** Faults that would fail a deployment, or give away a key or a role. CI's compiler finds the others. */
const faultsOf = (path: string, { text, params, variables, resources, modules, outputs, ...file }: BicepFile) => {
  const used = new Set(file.references.map(([name]) => name));
  const assignments = [...resources].filter(([, { type }]) => type.includes('roleAssignments'));
  return {
    'names that are not declared': file.references.filter(([name = '']) => !file.declarations.includes(name)),
    'names that are not used': [...params.keys(), ...variables.keys()].filter((name) => !used.has(name)),
    'secrets that are not secure, and booleans, whose default azd takes if it cannot read them': [...params].filter(
      ([name, { type, decorators }]) =>
        decorators.includes('secure') !== /key(?!Name)|secret|password|connectionstring|webhook/i.test(name) ||
        (path === 'main.bicep' && type === 'bool'),
    ),
    'modules with other parameters or outputs than their file': [...modules].filter(([symbol, module]) => {
      const target = bicepFile(new URL(module.path, `file:///${path}`).pathname.slice(1));
      const reads = file.references.filter(([first]) => first === symbol);
      return (
        module.params.toSorted().join() !== [...target.params.keys()].toSorted().join() ||
        reads.some(([, member, name = '']) => member !== 'outputs' || !target.outputs.has(name))
      );
    }),
    'versions without a date': [...resources.values()].filter(({ type }) => !RESOURCE_TYPE.test(type)),
    'wrong ids of roles': [...variables].filter(
      ([name, value]) => /^'[0-9a-f-]{36}'$/.test(value.text) && ROLES.get(name) !== textOf(value),
    ),
    'assignments without the name of a role or the type of its principal': assignments.filter(([, { body }]) => {
      const role = valueAt(body, 'properties', 'roleDefinitionId')?.text ?? '';
      const name = /^subscriptionResourceId\('Microsoft.Authorization\/roleDefinitions', (\w+)\)$/.exec(role)?.[1];
      return !ROLES.has(name ?? '') || valueAt(body, 'properties', 'principalType') === undefined;
    }),
    'outputs with a secret': [...outputs].filter(([name, { text: value }]) => SECRET.test(`${name} = ${value}`)),
    // Event Grid sends one key as a header.
    'keys that are read': (text.match(/\blist\w*\(/g) ?? []).slice(path === 'event-feed.bicep' ? 1 : 0),
  };
};

describe('the Bicep files', () => {
  it.each([...bicepFiles()])('%s has no fault', (path, file) => {
    for (const [fault, found] of Object.entries(faultsOf(path, file)))
      expect({ fault, found }).toEqual({ fault, found: [] });
  });

  it('get every parameter of main.bicep from the azd environment, with its own default', () => {
    const { parameters } = z
      .object({ parameters: z.record(z.string(), z.object({ value: z.string() })) })
      .parse(JSON.parse(readFileSync(new URL('main.parameters.json', BICEP_FOLDER), 'utf8')));
    const given = Object.entries(parameters).map(([name, { value }]) => {
      const [, , fallback] = /^\$\{([A-Z_]+)(?:=(.*))?\}$/.exec(value) ?? [];
      return [name, fallback];
    });
    const declared = [...bicepFile('main.bicep').params].map(([name, { defaultValue }]) => [
      name,
      defaultValue && textOf(defaultValue),
    ]);
    expect(Object.fromEntries(given)).toStrictEqual(Object.fromEntries(declared));
    // A deployment would give a role to the user who runs it.
    expect(JSON.stringify(parameters)).not.toContain('AZURE_PRINCIPAL_ID');
  });
});

/** The text of a property of a resource. */
const valueIn = (path: string, symbol: string, keys: string): string | undefined =>
  valueAt(bicepFile(path).resources.get(symbol)?.body, ...keys.split('.'))?.text;

const hostJson = z
  .object({
    logging: z.object({
      logLevel: z.record(z.string(), z.string()),
      applicationInsights: z.object({ samplingSettings: z.record(z.string(), z.unknown()) }),
    }),
  })
  .parse(JSON.parse(readFileSync(new URL('../../host.json', BICEP_FOLDER), 'utf8')));

const isHttp = ({ bindings }: { readonly bindings: Readonly<Record<string, { readonly type: string }>> }): boolean =>
  Object.values(bindings).some(({ type }) => type === 'httpTrigger');

describe('what is deployed', () => {
  it.each([
    ['modules/storage.bicep', 'account', 'properties.allowSharedKeyAccess', 'false'],
    ['modules/storage.bicep', 'account', 'properties.allowBlobPublicAccess', 'false'],
    ['modules/storage.bicep', 'account', 'properties.supportsHttpsTrafficOnly', 'true'],
    ['modules/storage.bicep', 'account', 'properties.minimumTlsVersion', "'TLS1_2'"],
    ['modules/storage.bicep', 'account', 'properties.publicNetworkAccess', "isPrivate ? 'Disabled' : 'Enabled'"],
    ['modules/communication-new.bicep', 'communication', 'properties.disableLocalAuth', 'true'],
    ['modules/speech.bicep', 'speech', 'properties.disableLocalAuth', 'true'],
    ['modules/monitoring.bicep', 'workspace', 'properties.features.disableLocalAuth', 'true'],
    ['modules/monitoring.bicep', 'insights', 'properties.DisableLocalAuth', 'true'],
    ['modules/app.bicep', 'noPasswordsForScm', 'properties.allow', 'false'],
    ['modules/app.bicep', 'noPasswordsForFtp', 'properties.allow', 'false'],
    ['modules/app.bicep', 'site', 'properties.httpsOnly', 'true'],
    ['event-feed.bicep', 'topic', 'properties.disableLocalAuth', 'true'],
    ['modules/vault.bicep', 'vault', 'properties.enableRbacAuthorization', 'true'],
    ['modules/outcomes.bicep', 'topic', 'properties.disableLocalAuth', 'true'],
    // Its key is a header, see below.
    ['event-feed.bicep', 'delivery', 'properties.destination.properties.endpointUrl', 'eventsUrl'],
  ])('takes no keys and nothing in the clear: %s, %s, %s', (path, symbol, keys, expected) => {
    expect(valueIn(path, symbol, keys)).toBe(expected);
  });

  it('has both tables, and a lock that does not keep a role of the operator', () => {
    expect(bicepFile('modules/storage.bicep').text).toContain("for table in ['analytics', 'calls']");
    for (const symbol of ['operatorReadsTables', 'operatorRewritesTables']) {
      expect(valueIn('modules/storage.bicep', symbol, 'scope')).toBeUndefined();
    }
  });

  it('has a phone only with allowed prefixes, and pays for none if it is off', () => {
    const { variables, text } = bicepFile('main.bicep');
    expect(variables.get('isPhoneOn')?.text).toBe("phone != 'off' && hasCaller && !empty(phoneAllowedPrefixes)");
    expect(text).toContain("param phone string = 'off'");
    expect(variables.get('usesCommunication')?.text).toBe("phone == 'new' || phone == 'existing'");
    expect(variables.get('isTwilio')?.text).toBe("phone == 'twilio'");
    const conditions = [...text.matchAll(/^module (\w*Communication|speech|vault) .* if \((.*)\) \{$/gm)];
    expect(conditions.map(([, module, condition]) => `${module}: ${condition}`).toSorted()).toEqual([
      "existingCommunication: phone == 'existing'",
      "newCommunication: phone == 'new'",
      'speech: usesCommunication',
      'vault: isTwilio',
    ]);
  });

  it('lets Event Grid bring its key as a secret header', () => {
    const attributes = 'properties.destination.properties.deliveryAttributeMappings';
    const header = valueIn('event-feed.bicep', 'delivery', attributes);
    expect(header?.replaceAll(/\s+/g, ' ')).toContain(
      "name: 'x-functions-key' type: 'Static' properties: { value: recordEvents.listKeys()[functionKeyName] isSecret: true",
    );
  });

  it('logs the lines of the service for each HTTP function, and no lines of the host, with which outsiders could fill the log', () => {
    const pairs = loadBundle('release')
      .functions.filter(isHttp)
      .flatMap(({ name }) => [
        [`Function.${name}`, 'None'],
        // By name: a wildcard drops all of them in Application Insights.
        [`Function.${name}.User`, 'Information'],
      ]);
    expect(pairs.length).toBeGreaterThan(30);
    expect(hostJson.logging.logLevel).toEqual({
      default: 'Warning',
      // Of CloseDays the host's lines as well: an alert asks whether it ran. Sweep runs each 30 s, and says itself that it looked.
      Function: 'Information',
      'Function.Sweep': 'None',
      'Function.Sweep.User': 'Information',
      ...Object.fromEntries(pairs),
      'Host.Function.Console': 'Information',
      'Host.Results': 'Information',
    });
    // Requests are sampled, and what the host throws over them; what the alerts ask for is not.
    const { samplingSettings } = hostJson.logging.applicationInsights;
    expect(samplingSettings).toMatchObject({ isEnabled: true, excludedTypes: 'Trace' });
  });

  it('bounds what requests that break off may write into the log', () => {
    const { samplingSettings } = hostJson.logging.applicationInsights;
    const [perSecond, least, most, initial] = [
      'maxTelemetryItemsPerSecond',
      'minSamplingPercentage',
      'maxSamplingPercentage',
      'initialSamplingPercentage',
    ].map((name) => Number(samplingSettings[name]));
    // Measured on the host: each sampled exception is 13 KB, a broken request makes two, and 1.6 times the target is written.
    const [itemBytes, itemsASecond, overshoot, day] = [13_000, 2 * 200, 1.6, 86_400];
    const target = Math.max((perSecond ?? NaN) * overshoot, itemsASecond * ((least ?? NaN) / 100));
    expect(target * itemBytes * day).toBeLessThan(200_000_000);
    // Until it has measured, the host samples this share; it takes two looks of 5 s, at most once in 15 minutes.
    const first = Math.max(most ?? NaN, initial ?? NaN) / 100;
    expect(first * itemsASecond * 10 * itemBytes * 96).toBeLessThan(200_000_000);
  });
});
