import { readdirSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { SCENARIOS } from '../../infra/emulators/phone-network/scenarios.ts';
import { ALERT_TYPES } from '../../src/calls/model/alert-types.ts';
import { settingSchemas } from '../../src/settings.ts';
import { readText, ROOT, tableOf } from './markdown.ts';

const DEPLOY_PAGE = 'infra/azure/README.md';

/** Names of environment variables in a text. */
const variablesIn = (text: string): readonly string[] => text.match(/\b[A-Z]+(?:_[A-Z]+)+\b|\bPHONE\b/g) ?? [];

/** How the table may state the default of a setting. */
const defaultsOf = (name: string): readonly string[] => {
  const schema = new Map(Object.entries(settingSchemas)).get(name);
  const { success, data } = schema?.safeParse(undefined) ?? { success: false };
  if (!success) return ['required'];
  if (data === undefined) return ['none', 'empty', 'one required', 'one, for the phone', 'for the phone', "ACS's own"];
  return URL.canParse(String(data)) ? ["ACS's own", "Twilio's own"] : [String(data)];
};

describe('the settings in src/settings/README.md', () => {
  const rows = tableOf('src/settings/README.md', 'All settings');
  const documented = new Map(
    rows.flatMap(([names = '', stated = '']) => variablesIn(names).map((name) => [name, stated])),
  );

  it('are those of the service, with its defaults', () => {
    expect([...documented.keys()].toSorted()).toEqual(Object.keys(settingSchemas).toSorted());
    for (const [name, stated] of documented)
      expect({ name, may: defaultsOf(name) }).toEqual({ name, may: expect.arrayContaining([stated]) });
  });
});

it('src/calls/README.md has the alert types of the service', () => {
  expect(tableOf('src/calls/README.md', 'Alert types')).toEqual(
    ALERT_TYPES.map(({ name, callbackPath, phrase }) => [name, `/api/${callbackPath}`, phrase]),
  );
});

it('infra/README.md has numbers of the simulator, with what they do there', () => {
  const rows = [...readText('infra/README.md').matchAll(/^- `(\d\d)`: (.+)$/gm)].map(([, digits, name]) => [
    digits,
    name,
  ]);
  expect(rows.length).toBeGreaterThan(20);
  expect(SCENARIOS.map(({ digits, name }) => [digits, name])).toEqual(expect.arrayContaining(rows));
});

describe('infra/azure/README.md', () => {
  it('has the values that a deployment takes', () => {
    const taken = [...readText('infra/azure/main.parameters.json').matchAll(/"\$\{([A-Z_]+)/g)].flatMap(
      ([, name]) => name ?? [],
    );
    const explained = tableOf(DEPLOY_PAGE, 'Values to set').flatMap(([names = '']) => variablesIn(names));
    expect(explained.length).toBeGreaterThan(10);
    // azd itself sets the values that begin with AZURE_.
    expect(explained.toSorted()).toEqual(taken.filter((name) => !name.startsWith('AZURE_')).toSorted());
  });

  it('has the alerts that fire', () => {
    const fires = [
      ...readText('infra/azure/modules/alerts.bicep').matchAll(
        /name: '(?:\$\{prefix\}-)?([a-z-]+)'\n {4}description|Alerts@[\d-]+' = \{\n {2}name: '\$\{prefix\}-([a-z-]+)'/g,
      ),
    ].flatMap(([, rule, metric]) => rule ?? metric ?? []);
    const explained = tableOf(DEPLOY_PAGE, 'Operate').flatMap(
      ([signal = '']) => /^alert (\S+)$/.exec(signal)?.[1] ?? [],
    );
    expect(explained.length).toBeGreaterThan(3);
    expect(explained.toSorted()).toEqual(fires.toSorted());
  });

  it('explains log lines that the code writes', () => {
    const sources = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => readText(`src/${path}`))
      .join('\n');
    const explained = tableOf(DEPLOY_PAGE, 'Logs').flatMap(([names = '']) => names.split(', '));
    expect(explained.length).toBeGreaterThan(5);
    expect(explained.filter((name) => !sources.includes(`'${name}'`))).toEqual([]);
  });
});
