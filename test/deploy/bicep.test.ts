import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { BICEP_FOLDER, bicepFiles, readBicep } from './bicep-reading.ts';

const files = bicepFiles();
const paths = [...files.keys()];

const file = (path: string) => {
  const found = files.get(path);
  if (found === undefined) throw new Error(`there is no ${path}`);
  return found;
};

/** Built-in functions that the files use; a misspelt one is in no such list. */
const FUNCTIONS = new Set(
  'empty guid map resourceGroup split string subscription subscriptionResourceId toLower trim union uniqueString'.split(
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

describe('reading Bicep', () => {
  it('refuses text whose strings or brackets do not close', () => {
    expect(() => readBicep("var a = 'x\n")).toThrow('a string does not end');
    expect(() => readBicep("var a = { b: 'x' ")).toThrow('never closed');
    expect(() => readBicep('var a = [1)\n')).toThrow('has no partner');
    expect(() => readBicep("var a = '${b'\n")).toThrow('a string does not end');
  });

  it('finds names inside interpolations, and takes keys and properties for what they are', () => {
    const { references } = readBicep("var a = { key: '${b.c}-x' }\nvar d = e ? f : g\n");
    expect(references.map(({ path }) => path.join('.'))).toEqual(['b.c', 'e', 'f', 'g']);
  });
});

describe.each(paths)('%s', (path) => {
  const { params, variables, resources, modules, bound, references, calledFunctions, outputs, tokens, text } =
    file(path);

  it('refers only to what it declares', () => {
    const declared = new Set([...params.keys(), ...variables, ...resources.keys(), ...modules.keys(), ...bound]);
    const unknown = references.filter((reference) => !declared.has(reference.path[0] ?? ''));
    expect(unknown).toEqual([]);
  });

  it('uses everything it declares, except resources', () => {
    const used = new Set(references.map((reference) => reference.path[0]));
    expect([...params.keys(), ...variables].filter((name) => !used.has(name))).toEqual([]);
  });

  it('calls only functions that Bicep has', () => {
    const inDecorators = new Set([
      'allowed',
      'description',
      'maxLength',
      'maxValue',
      'metadata',
      'secure',
      'minLength',
      'minValue',
    ]);
    const afterAt = tokens.filter((_, index) => tokens[index - 1]?.text === '@').map((token) => token.text);
    expect(afterAt.filter((name) => !inDecorators.has(name))).toEqual([]);
    expect([...calledFunctions].filter((name) => !FUNCTIONS.has(name))).toEqual([]);
  });

  it('gives every module the parameters it declares, no others, and reads only its outputs', () => {
    for (const [symbol, module] of modules) {
      const target = file(new URL(module.path, `file:///${path}`).pathname.slice(1));
      expect({ symbol, params: module.params.toSorted() }).toEqual({
        symbol,
        params: [...target.params.keys()].toSorted(),
      });
      const read = references.filter((reference) => reference.path[0] === symbol).map((reference) => reference.path);
      for (const [, member, name = ''] of read) {
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
    for (const type of resources.values()) expect(type).toMatch(/^Microsoft\.\w+(\/\w+)+@20\d\d-\d\d-\d\d$/);
  });

  it('gives roles by the ids that have their names', () => {
    const ids = tokens.filter((token) => token.kind === 'string' && /^[0-9a-f-]{36}$/.test(token.text));
    for (const id of ids) {
      const name = tokens[tokens.indexOf(id) - 2]?.text ?? '';
      expect({ name, id: id.text }).toEqual({ name, id: ROLES.get(name) });
    }
    const assignments = [...resources.values()].filter((type) => type.includes('roleAssignments'));
    const definitions = [...calledFunctions].includes('subscriptionResourceId');
    expect(assignments.length > 0).toBe(definitions);
  });

  it('puts no secret into its outputs and asks for no key', () => {
    for (const [name, value] of outputs) {
      expect(`${name} = ${value}`).not.toMatch(
        /connectionstring|instrumentationkey|listkeys|accesskey|password|secret/i,
      );
    }
    expect([...calledFunctions].filter((name) => /^list/i.test(name))).toEqual([]);
  });

  it('takes keys as secure parameters only', () => {
    for (const name of params.keys()) {
      const isSecret = /key|secret|password|connectionstring/i.test(name);
      expect({ name, isSecret }).toEqual({
        name,
        isSecret: new RegExp(`@secure\\(\\)\\n(@.*\\n)*param ${name} `).test(text),
      });
    }
  });
});

describe('main.parameters.json', () => {
  const { parameters } = z
    .object({ parameters: z.record(z.string(), z.object({ value: z.string() })) })
    .parse(JSON.parse(readFileSync(new URL('main.parameters.json', BICEP_FOLDER), 'utf8')));

  it('gives every parameter of main.bicep and no others', () => {
    expect(Object.keys(parameters).toSorted()).toEqual([...file('main.bicep').params.keys()].toSorted());
  });

  it('takes each from the azd environment, with the default of main.bicep where there is one', () => {
    const text = file('main.bicep').text;
    for (const [name, { value }] of Object.entries(parameters)) {
      const [, , fallback] = /^\$\{([A-Z_]+)(?:=(.*))?\}$/.exec(value) ?? [];
      const [, declared] = new RegExp(`^param ${name} \\w+(?: = (.*))?$`, 'm').exec(text) ?? [];
      expect({ name, fallback }).toEqual({ name, fallback: declared?.replaceAll("'", '') });
    }
  });
});

describe('what is deployed', () => {
  const storage = file('modules/storage.bicep').text;
  const app = file('modules/app.bicep').text;

  it('has a storage account without shared keys, without public blobs, on TLS 1.2', () => {
    expect(storage).toContain('allowSharedKeyAccess: false');
    expect(storage).toContain('allowBlobPublicAccess: false');
    expect(storage).toContain("minimumTlsVersion: 'TLS1_2'");
    expect(storage).toContain('supportsHttpsTrafficOnly: true');
  });

  it('has both tables, with the prefix', () => {
    expect(storage).toContain("for table in ['analytics', 'calls']");
    expect(storage).toContain("name: '${tablesPrefix}${table}'");
  });

  it('takes no keys anywhere', () => {
    expect(file('modules/calls.bicep').text.match(/disableLocalAuth: true/g)).toHaveLength(2);
    expect(file('modules/monitoring.bicep').text.match(/disableLocalAuth: true/gi)).toHaveLength(2);
    expect(app).toContain('properties: { allow: false }');
  });

  it('runs Node 24 on Flex Consumption over https only, and none of what that plan has left behind', () => {
    expect(app).toContain("name: 'FC1'");
    expect(app).toMatch(/runtime: \{\s+name: 'node'\s+version: '24'/);
    expect(app).toContain('httpsOnly: true');
    const words = new Set(file('modules/app.bicep').tokens.map((token) => token.text));
    const leftBehind = [
      'FUNCTIONS_WORKER_RUNTIME',
      'WEBSITE_RUN_FROM_PACKAGE',
      'linuxFxVersion',
      'ftpsState',
      'alwaysOn',
    ];
    expect(leftBehind.filter((word) => words.has(word))).toEqual([]);
  });

  it('says that it was not compiled where it was written', () => {
    expect(file('main.bicep').text).toContain('were not compiled');
  });
});
