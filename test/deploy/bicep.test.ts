import { join } from 'node:path/posix';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { readText } from '../docs/markdown.ts';
import { loadBundle } from '../harness/bundled.ts';
import { AZURE, BICEP_PATHS, declarationsOf, declared, defaultOf, propertiesIn, readBicep } from './bicep-files.ts';

/** Built-in roles, by the names that the files' variables have. Ids from the reference of Azure's built-in roles. */
const ROLES: Readonly<Record<string, string>> = {
  cognitiveServicesUser: 'a97b65f3-24c7-4388-baec-2e87135dc908',
  communicationAndEmailServiceOwner: '09976791-48a7-449e-bb21-39d1a415f350',
  keyVaultSecretsUser: '4633458b-17de-408a-874b-0445c86b69e6',
  eventGridDataSender: 'd5a91429-5739-47e2-a06b-3470a27159e7',
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb',
  storageBlobDataContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  storageBlobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
  storageTableDataContributor: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
  storageBlobDataReader: '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1',
  storageTableDataReader: '76199698-9eea-4c19-bc75-cec21354c6b6',
};

const SECRET = /connectionstring|instrumentationkey|listkeys|accesskey|password|secret/i;

/** Faults that deploy without an error, but lose a value, a role or a secret. The compiler in CI finds the others. */
const faultsOf = (path: string) => {
  const text = readBicep(path);
  const declarations = declarationsOf(path);
  const of = (kind: string) => declarations.filter((each) => each.kind === kind);
  // The key of a property does not use a parameter of that name.
  const uses = (name: string) => text.match(new RegExp(String.raw`(?<!^ *|\{ |[\w.'])${name}(?![\w'])`, 'gm')) ?? [];
  return {
    'names that are not used': [...of('param'), ...of('var')].filter(({ name }) => uses(name).length < 2),
    'secrets that are not secure': of('param').filter(
      ({ name, isSecure }) => isSecure !== /key(?!Name)|secret|password|connectionstring|webhook/i.test(name),
    ),
    // azd uses the default if it cannot read a boolean.
    'booleans in main.bicep': of('param').filter((each) => path === 'main.bicep' && /^bool\b/.test(each.text)),
    'modules with other parameters than their file': of('module').filter((module) => {
      const file = join(path, '..', /'(.*?)'/.exec(module.text)?.[1] ?? '');
      const taken = declarationsOf(file).flatMap(({ kind, name }) => (kind === 'param' ? [name] : []));
      return [...propertiesIn(module.text).keys()].toSorted().join() !== taken.toSorted().join();
    }),
    'wrong ids of roles': of('var').filter(
      ({ name, text: value }) => /^= '[\da-f-]{36}'$/.test(value) && value !== `= '${ROLES[name]}'`,
    ),
    'assignments without the name of a role or the type of its principal': of('resource').filter((resource) => {
      const role = /^ +roleDefinitionId: subscriptionResourceId\('.*', (\w+)\)$/m.exec(resource.text)?.[1] ?? '';
      const isComplete = role in ROLES && /^ +principalType: /m.test(resource.text);
      return resource.text.includes("'Microsoft.Authorization/roleAssignments@") && !isComplete;
    }),
    'outputs with a secret': of('output').filter(({ name, text: value }) => SECRET.test(`${name} ${value}`)),
    // Event Grid sends one key as a header.
    'keys that are read': (text.match(/\blist\w*\(/g) ?? []).slice(path === 'event-feed.bicep' ? 1 : 0),
  };
};

describe('the Bicep files', () => {
  it.each(BICEP_PATHS)('%s has no fault', (path) => {
    for (const [fault, found] of Object.entries(faultsOf(path))) expect({ fault, found }).toEqual({ fault, found: [] });
  });

  it('get every parameter of main.bicep from the azd environment, with its own default', () => {
    const json = readText(`${AZURE}main.parameters.json`);
    const given = json.matchAll(/"(\w+)": \{ "value": "\$\{[A-Z_]+(?:=(.*))?\}" \}/g);
    const parameters = declarationsOf('main.bicep').filter(({ kind }) => kind === 'param');
    expect(Object.fromEntries([...given].map(([, name, fallback]) => [name, fallback]))).toStrictEqual(
      Object.fromEntries(parameters.map((parameter) => [parameter.name, defaultOf(parameter)])),
    );
    // A deployment would give a role to the user who runs it.
    expect(json).not.toContain('AZURE_PRINCIPAL_ID');
  });
});

const hostJson = z
  .object({
    logging: z.object({
      logLevel: z.record(z.string(), z.string()),
      applicationInsights: z.object({ samplingSettings: z.record(z.string(), z.unknown()) }),
    }),
  })
  .parse(JSON.parse(readText('host.json')));

describe('what is deployed', () => {
  it.each<[path: string, declaration: string, ...lines: string[]]>([
    ['modules/storage.bicep', 'resource account', 'allowSharedKeyAccess: false', 'allowBlobPublicAccess: false'],
    ['modules/storage.bicep', 'resource account', 'supportsHttpsTrafficOnly: true', "minimumTlsVersion: 'TLS1_2'"],
    ['modules/storage.bicep', 'resource account', "publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'"],
    [
      'modules/storage.bicep',
      'resource tables',
      "for table in [counterShards == 1 ? 'analytics' : 'analytics${counterShards}', 'calls']: {",
    ],
    ['modules/storage.bicep', 'resource lock', "'Microsoft.Authorization/locks@2020-05-01' = if (deleteLock) {"],
    ['modules/storage.bicep', 'resource lock', "level: 'CanNotDelete'"],
    ['modules/storage.bicep', 'resource tableLogs', "logs: [{ category: 'StorageDelete', enabled: true }]"],
    ['modules/storage.bicep', 'resource blobService', 'isVersioningEnabled: true'],
    [
      'modules/storage.bicep',
      'resource oldVersions',
      'actions: { version: { delete: { daysAfterCreationGreaterThan: 90 } } }',
    ],
    ['modules/alerts.bicep', 'resource health', 'RequestUrl: healthUrl', 'ExpectedHttpStatusCode: 200'],
    ['modules/alerts.bicep', 'resource rules', 'autoMitigate: !rule.perLine', 'actions: { actionGroups: [people.id] }'],
    ['modules/communication-new.bicep', 'resource communication', 'disableLocalAuth: true'],
    ['modules/speech.bicep', 'resource speech', 'disableLocalAuth: true'],
    ['modules/monitoring.bicep', 'resource workspace', 'features: { disableLocalAuth: true }'],
    ['modules/monitoring.bicep', 'resource insights', 'DisableLocalAuth: true'],
    ['modules/app.bicep', 'resource site', 'httpsOnly: true', "minTlsVersion: '1.2'", "version: '24'"],
    [
      'modules/app.bicep',
      'resource site',
      'instanceMemoryMB: 2048',
      'triggers: { http: { perInstanceConcurrency: 100 } }',
    ],
    ['modules/app.bicep', 'resource noPasswordsForScm', 'properties: { allow: false }'],
    ['modules/app.bicep', 'resource noPasswordsForFtp', 'properties: { allow: false }'],
    ['modules/vault.bicep', 'resource vault', 'enableRbacAuthorization: true'],
    ['modules/outcomes.bicep', 'resource topic', 'disableLocalAuth: true'],
    ['event-feed.bicep', 'resource topic', 'disableLocalAuth: true'],
    // Event Grid brings its key as a secret header, not in the address.
    ['event-feed.bicep', 'resource delivery', 'endpointUrl: eventsUrl', "name: 'x-functions-key'", "type: 'Static'"],
    ['event-feed.bicep', 'resource delivery', 'value: recordEvents.listKeys()[functionKeyName]', 'isSecret: true'],
    // The phone is on only with a caller and allowed prefixes, and costs nothing while it is off.
    ['main.bicep', 'param phone', "string = 'off'"],
    ['main.bicep', 'var isPhoneOn', "= phone != 'off' && hasCaller && !empty(phoneAllowedPrefixes)"],
    ['main.bicep', 'var usesCommunication', "= phone == 'new' || phone == 'existing'"],
    ['main.bicep', 'var isTwilio', "= phone == 'twilio'"],
    [
      'main.bicep',
      'module existingCommunication',
      "'modules/communication-existing.bicep' = if (phone == 'existing') {",
    ],
    ['main.bicep', 'module newCommunication', "'modules/communication-new.bicep' = if (phone == 'new') {"],
    ['main.bicep', 'module speech', "'modules/speech.bicep' = if (usesCommunication) {"],
    ['main.bicep', 'module vault', "'modules/vault.bicep' = if (isTwilio) {"],
  ])('%s has in %s: %s %s', (path, declaration, ...lines) => {
    const found = declared(path, declaration).split('\n');
    expect(found.map((line) => line.trim())).toEqual(expect.arrayContaining(lines));
  });

  it('the alert for people who were not reached stays on while the phone is off, for notifications that this ended', () => {
    const [, notReached = ''] =
      /name: 'not-reached'\n([^]*?)\n {2}\}/.exec(declared('modules/alerts.bicep', 'var logAlerts')) ?? [];
    expect(notReached).toMatch(/^ {4}enabled: true$/m);
  });

  it.each(['operatorReadsTables', 'operatorRebuildsTables'])('the lock does not keep the role %s', (role) => {
    expect(declared('modules/storage.bicep', `resource ${role}`)).not.toMatch(/^ {2}scope:/m);
  });

  it('logs the lines of the service for each HTTP function, and no lines of the host, with which outsiders could fill the log', () => {
    const pairs = loadBundle('release')
      .functions.filter(({ bindings }) => Object.values(bindings).some(({ type }) => type === 'httpTrigger'))
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
  });

  it('samples what outsiders can cause, but no log line, and bounds what requests that break off may write', () => {
    const { isEnabled, excludedTypes, ...shares } = hostJson.logging.applicationInsights.samplingSettings;
    expect([isEnabled, excludedTypes]).toEqual([true, 'Trace']);
    const share = (name: string): number => Number(shares[name]);
    // Measured on the host: each sampled exception is 13 KB, a broken request makes two, and 1.6 times the target is written.
    const [itemBytes, itemsASecond, overshoot, day] = [13_000, 2 * 200, 1.6, 86_400];
    const perSecond = share('maxTelemetryItemsPerSecond') * overshoot;
    const target = Math.max(perSecond, itemsASecond * (share('minSamplingPercentage') / 100));
    expect(target * itemBytes * day).toBeLessThan(200_000_000);
    // Until it has measured, the host samples this share; it takes two looks of 5 s, at most once in 15 minutes.
    const first = Math.max(share('maxSamplingPercentage'), share('initialSamplingPercentage')) / 100;
    expect(first * itemsASecond * 10 * itemBytes * 96).toBeLessThan(200_000_000);
  });
});
