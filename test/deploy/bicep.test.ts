import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { ALERT_TYPES } from '../../src/calls/alert-types.ts';
import { BICEP_FOLDER, bicepFile, bicepFiles, descendants, keysOf, readBicep, textOf, valueAt } from './bicep-files.ts';
import { alertQueries } from './kql.ts';

/** Built-in functions that the files use; a misspelt one is in no such list. */
const FUNCTIONS = new Set(
  'empty environment filter guid loadTextContent map resourceGroup split string subscription subscriptionResourceId toLower trim union uniqueString'.split(
    ' ',
  ),
);

/** Built-in roles, by the names that the files' variables have. Ids from the reference of Azure's built-in roles. */
const ROLES = new Map([
  ['cognitiveServicesUser', 'a97b65f3-24c7-4388-baec-2e87135dc908'],
  ['communicationAndEmailServiceOwner', '09976791-48a7-449e-bb21-39d1a415f350'],
  ['eventGridDataSender', 'd5a91429-5739-47e2-a06b-3470a27159e7'],
  ['monitoringMetricsPublisher', '3913510d-42f4-4e42-8a64-420c390055eb'],
  ['storageBlobDataContributor', 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'],
  ['storageBlobDataOwner', 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'],
  ['storageTableDataContributor', '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'],
  ['storageTableDataReader', '76199698-9eea-4c19-bc75-cec21354c6b6'],
]);

/** The functions that may decorate a parameter. */
const DECORATORS = new Set('allowed description maxLength maxValue metadata minLength minValue secure'.split(' '));

/** The node of a literal of each type that a parameter may have. */
const LITERALS = new Map([
  ['string', 'string'],
  ['int', 'number'],
  ['bool', 'boolean'],
  ['array', 'array'],
  ['object', 'object'],
]);

const isId = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text);

describe('reading Bicep', () => {
  it.each([["var a = 'x\n"], ["var a = { b: 'x' "], ['var a = [1)\n'], ["var a = '${b'\n"], ['parm a string\n']])(
    'refuses %j',
    (text) => {
      expect(() => readBicep(`var before = 1\n${text}`)).toThrow(/^line \d is not Bicep$/);
    },
  );

  it('finds names inside interpolations, and takes keys and properties for what they are', () => {
    const { references } = readBicep("var a = { key: '${b.c}-x' }\nvar d = e ? f : g\n");

    expect(references.map(({ path, line }) => `${line}: ${path.join('.')}`)).toEqual([
      '1: b.c',
      '2: e',
      '2: f',
      '2: g',
    ]);
  });

  it('knows what a loop or a lambda binds, inside it only', () => {
    const { references } = readBicep('var a = [for b in c: { d: map(b, e => e.f) }]\nvar g = [b, e]\n');

    expect(references.map(({ path }) => path.join('.'))).toEqual(['c', 'b', 'e']);
  });

  it('knows the index of a loop as well', () => {
    const { references } = readBicep('var a = [for (b, i) in c: { d: b[i] }]\nvar e = i\n');

    expect(references.map(({ path }) => path.join('.'))).toEqual(['c', 'i']);
  });
});

describe.each([...bicepFiles()])('%s', (path, file) => {
  const { params, variables, resources, modules, outputs, declarations, references, calledFunctions, root } = file;

  it('refers only to what it declares', () => {
    expect(references.filter((reference) => !declarations.includes(reference.path[0] ?? ''))).toEqual([]);
  });

  it('declares no name twice, and no key twice in an object', () => {
    expect(declarations.filter((name, index) => declarations.indexOf(name) !== index)).toEqual([]);
    for (const object of descendants(root).filter(({ type }) => type === 'object')) {
      const keys = keysOf(object);
      expect(keys).toEqual([...new Set(keys)]);
    }
  });

  it('uses everything it declares, except resources', () => {
    const used = new Set(references.map((reference) => reference.path[0]));

    expect([...params.keys(), ...variables.keys()].filter((name) => !used.has(name))).toEqual([]);
  });

  it('calls only functions that Bicep has', () => {
    expect([...file.decorators].filter((name) => !DECORATORS.has(name))).toEqual([]);
    expect([...calledFunctions].filter((name) => !FUNCTIONS.has(name))).toEqual([]);
  });

  it('takes no boolean from azd, which would take the default for what it cannot read', () => {
    if (path !== 'main.bicep') return;
    expect([...params].filter(([, { type }]) => type === 'bool')).toEqual([]);
    for (const name of ['vnetEnabled', 'deleteLock', 'operatorMayRepair']) {
      expect({ name, decorators: params.get(name)?.decorators }).toEqual({
        name,
        decorators: expect.arrayContaining(['allowed']),
      });
    }
  });

  it('gives a parameter a default of its type', () => {
    for (const [name, { type, defaultValue }] of params) {
      if (defaultValue === undefined || defaultValue.type === 'member_expression') continue;
      expect({ name, literal: defaultValue.type }).toEqual({ name, literal: LITERALS.get(type) });
    }
  });

  it('gives every module the parameters it declares, no others, and reads only its outputs', () => {
    for (const [symbol, module] of modules) {
      const target = bicepFile(new URL(module.path, `file:///${path}`).pathname.slice(1));
      expect({ symbol, params: module.params.toSorted() }).toEqual({
        symbol,
        params: [...target.params.keys()].toSorted(),
      });
      for (const [, member, name = ''] of references.map((each) => each.path).filter(([first]) => first === symbol)) {
        expect({ symbol, member, name, exists: target.outputs.has(name) }).toEqual({
          symbol,
          member: 'outputs',
          name,
          exists: true,
        });
      }
    }
  });

  it('names a dated version of every resource type', () => {
    // Diagnostic settings have had no version since that is not a preview.
    const preview = 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview';
    const types = [...resources.values()].map(({ type }) => type).filter((type) => type !== preview);
    expect(types.filter((type) => !/^Microsoft\.\w+(\/\w+)+@20\d\d-\d\d-\d\d$/.test(type))).toEqual([]);
  });

  it('gives roles by the ids that have their names', () => {
    const ids = descendants(root).filter(({ type, text }) => type === 'string_content' && isId(text));
    const roles = [...variables].filter(([, value]) => isId(textOf(value)));
    expect(ids).toHaveLength(roles.length);
    for (const [name, value] of roles) expect({ name, id: textOf(value) }).toEqual({ name, id: ROLES.get(name) });

    const assignments = [...resources.values()].filter(({ type }) => type.includes('roleAssignments'));
    for (const { body } of assignments) {
      const role = valueAt(body, 'properties', 'roleDefinitionId')?.text;
      expect(role).toMatch(/^subscriptionResourceId\('Microsoft.Authorization\/roleDefinitions', \w+\)$/);
      expect(roles.map(([name]) => name)).toContain(/(\w+)\)$/.exec(role ?? '')?.[1]);
    }
  });

  it('puts no secret into its outputs and asks for no key', () => {
    for (const [name, value] of outputs) {
      expect(`${name} = ${value.text}`).not.toMatch(
        /connectionstring|instrumentationkey|listkeys|accesskey|password|secret/i,
      );
    }
    expect([...calledFunctions].filter((name) => /^list/i.test(name))).toEqual([]);
    // One key is read, for the header that Event Grid brings; see below.
    expect(file.text.match(/\.list\w*\(/g) ?? []).toEqual(path === 'event-feed.bicep' ? ['.listKeys('] : []);
  });

  it('takes keys as secure parameters only', () => {
    for (const [name, { decorators }] of params) {
      const isSecret = /key(?!Name)|secret|password|connectionstring|webhook/i.test(name);
      expect({ name, isSecure: decorators.includes('secure') }).toEqual({ name, isSecure: isSecret });
    }
  });
});

describe('main.parameters.json', () => {
  const { parameters } = z
    .object({ parameters: z.record(z.string(), z.object({ value: z.string() })) })
    .parse(JSON.parse(readFileSync(new URL('main.parameters.json', BICEP_FOLDER), 'utf8')));
  const { params } = bicepFile('main.bicep');

  it('gives every parameter of main.bicep and no others', () => {
    expect(Object.keys(parameters).toSorted()).toEqual([...params.keys()].toSorted());
  });

  it('takes each from the azd environment, with the default of main.bicep where there is one', () => {
    for (const [name, { value }] of Object.entries(parameters)) {
      const [, , fallback] = /^\$\{([A-Z_]+)(?:=(.*))?\}$/.exec(value) ?? [];
      const declared = params.get(name)?.defaultValue;
      expect({ name, fallback }).toEqual({ name, fallback: declared && textOf(declared) });
    }
  });
});

/** The text of a property of a resource: `valueIn('modules/storage.bicep', 'account', 'properties', 'minimumTlsVersion')`. */
const valueIn = (path: string, symbol: string, ...keys: readonly string[]): string | undefined =>
  valueAt(bicepFile(path).resources.get(symbol)?.body, ...keys)?.text;

const hostJson = z
  .object({
    logging: z.object({
      logLevel: z.record(z.string(), z.string()),
      applicationInsights: z.object({ samplingSettings: z.record(z.string(), z.unknown()) }),
    }),
  })
  .parse(JSON.parse(readFileSync(new URL('../../host.json', BICEP_FOLDER), 'utf8')));

/** The level of a category: that of the longest name that it begins with. */
const levelOf = (category: string): string | undefined => {
  const names = Object.keys(hostJson.logging.logLevel).filter((name) => category.startsWith(name));
  return hostJson.logging.logLevel[names.toSorted((a, b) => b.length - a.length)[0] ?? 'default'];
};

describe('what is deployed', () => {
  it.each([
    ['allowSharedKeyAccess', 'false'],
    ['allowBlobPublicAccess', 'false'],
    ['minimumTlsVersion', "'TLS1_2'"],
    ['supportsHttpsTrafficOnly', 'true'],
  ])('the storage account has %s: %s', (key, expected) => {
    expect(valueIn('modules/storage.bicep', 'account', 'properties', key)).toBe(expected);
  });

  it('has both tables, with the prefix', () => {
    expect(bicepFile('modules/storage.bicep').text).toContain("for table in ['analytics', 'calls']");
    expect(valueIn('modules/storage.bicep', 'tables', 'name')).toBe("'${tablesPrefix}${table}'");
  });

  it.each([
    ['modules/communication-new.bicep', 'communication', ['properties', 'disableLocalAuth'], 'true'],
    ['modules/speech.bicep', 'speech', ['properties', 'disableLocalAuth'], 'true'],
    ['modules/monitoring.bicep', 'workspace', ['properties', 'features', 'disableLocalAuth'], 'true'],
    ['modules/monitoring.bicep', 'insights', ['properties', 'DisableLocalAuth'], 'true'],
    ['modules/app.bicep', 'noPasswordsForScm', ['properties', 'allow'], 'false'],
    ['modules/app.bicep', 'noPasswordsForFtp', ['properties', 'allow'], 'false'],
    ['event-feed.bicep', 'topic', ['properties', 'disableLocalAuth'], 'true'],
    ['modules/outcomes.bicep', 'topic', ['properties', 'disableLocalAuth'], 'true'],
  ])('takes no keys: %s, %s', (path, symbol, keys, expected) => {
    expect(valueIn(path, symbol, ...keys)).toBe(expected);
  });

  it('runs Node 24 on Flex Consumption over https only, and none of what that plan has left behind', () => {
    expect(valueIn('modules/app.bicep', 'plan', 'sku', 'name')).toBe("'FC1'");
    expect(valueIn('modules/app.bicep', 'site', 'properties', 'functionAppConfig', 'runtime', 'name')).toBe("'node'");
    expect(valueIn('modules/app.bicep', 'site', 'properties', 'functionAppConfig', 'runtime', 'version')).toBe("'24'");
    expect(valueIn('modules/app.bicep', 'site', 'properties', 'httpsOnly')).toBe('true');
    const keys = new Set(descendants(bicepFile('modules/app.bicep').root).flatMap((node) => keysOf(node)));
    const leftBehind = [
      'FUNCTIONS_WORKER_RUNTIME',
      'WEBSITE_RUN_FROM_PACKAGE',
      'linuxFxVersion',
      'ftpsState',
      'alwaysOn',
    ];
    expect(leftBehind.filter((key) => keys.has(key))).toEqual([]);
  });

  it('makes nothing of the phone where it is off', () => {
    const { text } = bicepFile('main.bicep');
    expect(text).toContain("param phone string = 'off'");
    for (const [module, condition] of [
      ['newCommunication', "phone == 'new'"],
      ['existingCommunication', "phone == 'existing'"],
      ['speech', "phone != 'off'"],
    ]) {
      expect(text).toMatch(new RegExp(`^module ${module} '[^']+' = if \\(${condition}\\) \\{$`, 'm'));
    }
    for (const type of ['Microsoft.Communication', 'Microsoft.CognitiveServices']) {
      const files = [...bicepFiles()].filter(([, file]) => file.text.includes(`'${type}/`)).map(([path]) => path);
      expect(
        files.filter((path) => !/^modules\/(communication-new|communication-existing|speech)\.bicep$/.test(path)),
      ).toEqual([]);
    }
  });

  it('switches the phone on only where there is a caller', () => {
    const { variables, text } = bicepFile('main.bicep');
    expect(variables.get('hasCaller')?.text).toBe('!empty(acsSourcePhoneNumber) || !empty(acsTeamsResourceAccountId)');
    expect(variables.get('isPhoneOn')?.text).toBe("phone != 'off' && hasCaller && !empty(phoneAllowedPrefixes)");
    expect(text).toContain("    phone: isPhoneOn ? 'on' : 'off'\n");
  });

  it('gives the operator roles that can be taken back: not below the lock of the account', () => {
    for (const symbol of ['operatorReadsTables', 'operatorRepairsTables']) {
      expect({ symbol, scope: valueIn('modules/storage.bicep', symbol, 'scope') }).toEqual({
        symbol,
        scope: undefined,
      });
    }
  });

  it('says of every principal what it is', () => {
    const assignments = [...bicepFiles().values()].flatMap(({ resources }) =>
      [...resources.values()].filter(({ type }) => type.includes('roleAssignments')),
    );
    expect(assignments.length).toBeGreaterThan(6);
    for (const { body } of assignments) expect(valueAt(body, 'properties', 'principalType')?.text).toBeDefined();
  });

  it('gives no role to whoever happens to deploy', () => {
    expect(readFileSync(new URL('main.parameters.json', BICEP_FOLDER), 'utf8')).not.toContain('AZURE_PRINCIPAL_ID');
  });

  it('lets Event Grid bring its key as a secret header, and in no address', () => {
    const delivery = bicepFile('event-feed.bicep').resources.get('delivery')?.body;
    const destination = valueAt(delivery, 'properties', 'destination', 'properties');
    expect(valueAt(destination, 'endpointUrl')?.text).toBe('eventsUrl');
    const header = valueAt(destination, 'deliveryAttributeMappings')?.text.replaceAll(/\s+/g, ' ');
    expect(header).toContain("name: 'x-functions-key' type: 'Static'");
    expect(header).toContain('value: recordEvents.listKeys()[functionKeyName] isSecret: true');
  });

  it('closes storage to the internet with VNET_ENABLED, and locks it against deletion', () => {
    expect(valueIn('modules/storage.bicep', 'account', 'properties', 'publicNetworkAccess')).toBe(
      "isPrivate ? 'Disabled' : 'Enabled'",
    );
    expect(valueIn('modules/storage.bicep', 'lock', 'properties', 'level')).toBe("'CanNotDelete'");
    expect(bicepFile('modules/network.bicep').variables.get('services')?.text).toBe("['blob', 'table']");
    expect(valueIn('modules/app.bicep', 'site', 'properties', 'virtualNetworkSubnetId')).toBe(
      'empty(subnetId) ? null : subnetId',
    );
  });

  it('bounds what the log may cost', () => {
    expect(valueIn('modules/monitoring.bicep', 'workspace', 'properties', 'workspaceCapping', 'dailyQuotaGb')).toBe(
      'dailyCapGb',
    );
    expect(hostJson.logging.applicationInsights.samplingSettings).toMatchObject({
      isEnabled: true,
      excludedTypes: 'Exception;Trace',
      maxSamplingPercentage: 10,
      maxTelemetryItemsPerSecond: 1,
    });
  });

  it('logs nothing of a request without a key but what the service itself has to say', () => {
    const callbacks = ALERT_TYPES.map(({ callbackPath }) => callbackPath);
    for (const name of ['Health', 'Dashboard', 'OpenApi', 'DeliveryHandshake', ...callbacks]) {
      // "Executing …" and "Executed …" of the host.
      expect({ name, level: levelOf(`Function.${name}`) }).toEqual({ name, level: 'Warning' });
    }
    for (const name of ['RecordEvents', 'Sweep', ...callbacks]) {
      expect({ name, level: levelOf(`Function.${name}.User`) }).toEqual({ name, level: 'Information' });
    }
    expect([levelOf('Function.Sweep'), levelOf('Host.Results'), levelOf('Microsoft.AspNetCore')]).toEqual([
      'Information',
      'Information',
      'Warning',
    ]);
  });

  it('asks no alert about requests, which are sampled', () => {
    expect(alertQueries().filter(({ text }) => /\brequests\b/.test(text))).toEqual([]);
  });

  it('sends logs and metrics of tables, Communication Services and Event Grid to the workspace', () => {
    const scopes = [...bicepFiles().values()].flatMap(({ resources }) =>
      [...resources.values()]
        .filter(({ type }) => type.includes('diagnosticSettings'))
        .map(({ body }) => valueAt(body, 'scope')?.text ?? ''),
    );
    expect(scopes.toSorted()).toEqual(['communication', 'communication', 'tableService', 'topic', 'topic']);
  });

  it('says that it was not compiled where it was written', () => {
    expect(bicepFile('main.bicep').text).toContain('were not compiled');
  });
});
