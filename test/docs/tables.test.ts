import { expect, it } from 'vitest';

import { SCENARIOS } from '../../infra/emulators/phone-network/scenarios.ts';
import { ALERT_TYPES } from '../../src/calls/model/alert-types.ts';
import { settingSchemas } from '../../src/settings.ts';
import { pathsOf, readMarkdown, readText, sourceTexts, tableOf } from './markdown.ts';

const OPERATE_PAGE = 'infra/azure/operate.md';

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

it('src/settings/README.md has the settings of the service, with their defaults', () => {
  const documented = tableOf('src/settings/README.md', 'All settings').flatMap(([names = '', stated = '']) =>
    variablesIn(names).map((name) => ({ name, stated })),
  );
  expect(documented.map(({ name }) => name).toSorted()).toEqual(Object.keys(settingSchemas).toSorted());
  expect(documented.filter(({ name, stated }) => !defaultsOf(name).includes(stated))).toEqual([]);
});

it('src/calls/README.md has the alert types of the service', () => {
  expect(tableOf('src/calls/README.md', 'Alert types')).toEqual(ALERT_TYPES.map(({ name, phrase }) => [name, phrase]));
  // The page gives one form for all of them.
  expect(ALERT_TYPES.map(({ callbackPath }) => callbackPath)).toEqual(ALERT_TYPES.map(({ name }) => `${name}Callback`));
});

it('infra/README.md has numbers of the simulator, with their effect', () => {
  const rows = [...readText('infra/README.md').matchAll(/^- `(\d\d)`: (.+)$/gm)].map(([, ...row]) => row);
  expect(rows.length).toBeGreaterThan(10);
  expect(SCENARIOS.map(({ digits, name }) => [digits, name])).toEqual(expect.arrayContaining(rows));
});

it('infra/azure/README.md has the values that a deployment takes', () => {
  const taken = readText('infra/azure/main.parameters.json').matchAll(/"\$\{([A-Z_]+)/g);
  const [, settings = ''] = /These \[settings\][^:]*:([^]*?)\.\n/.exec(readText('infra/azure/README.md')) ?? [];
  const explained = [
    ...tableOf('infra/azure/README.md', 'Values').map(([name = '']) => name),
    ...variablesIn(settings),
  ];
  // azd itself sets the values that begin with AZURE_.
  const names = [...taken].flatMap(([, name = '']) => (name.startsWith('AZURE_') ? [] : [name]));
  expect(explained.toSorted()).toEqual(names.toSorted());
});

it('infra/azure/README.md has every allowed word of a value', () => {
  const parameters = readText('infra/azure/main.bicep').matchAll(/@allowed\(\[(.*)\]\)\n(?:@.*\n)*param (\w+)/g);
  const names = new Map(
    [...readText('infra/azure/main.parameters.json').matchAll(/"(\w+)": \{\s*"value": "\$\{([A-Z_]+)/g)].map(
      ([, parameter = '', name = '']) => [parameter, name],
    ),
  );
  const rows = new Map(tableOf('infra/azure/README.md', 'Values').map(([name = '', meaning = '']) => [name, meaning]));
  const missing = [...parameters].flatMap(([, words = '', parameter = '']) => {
    const meaning = rows.get(names.get(parameter) ?? '');
    const allowed = words.match(/\w+/g) ?? [];
    // A switch is explained by one of its two words.
    if (meaning === undefined || allowed.every((word) => /^(?:true|false|on|off)$/.test(word))) return [];
    return allowed.flatMap((word) => (meaning.includes(word) ? [] : [`${parameter}: ${word}`]));
  });
  expect(names.size).toBeGreaterThan(40);
  expect(missing).toEqual([]);
});

it('infra/azure/operate.md has the alerts that fire', () => {
  const fires = readText('infra/azure/modules/alerts.bicep').matchAll(
    /name: '(?:\$\{prefix\}-)?([a-z-]+)'\n {4}description|Alerts@[\d-]+' = \{\n {2}name: '\$\{prefix\}-([a-z-]+)'/g,
  );
  const explained = ['People', 'Service', 'Data'].flatMap((heading) =>
    tableOf(OPERATE_PAGE, heading).flatMap(([signal = '']) => /^[a-z-]+$/.exec(signal) ?? []),
  );
  expect(explained.toSorted()).toEqual([...fires].map(([, rule, metric]) => rule ?? metric ?? '').toSorted());
  expect(explained.length).toBeGreaterThan(3);
});

it('infra/azure/operate.md explains log lines that the code writes', () => {
  const explained = tableOf(OPERATE_PAGE, 'Logs').flatMap(([names = '']) => names.split(', '));
  const sources = sourceTexts();
  expect(explained.filter((name) => !sources.includes(`'${name}'`))).toEqual([]);
});

/** Code of several plain words that is not a command: a log line, or a reason in it. */
const LOG_LINE = /^(?!(?:npm|azd?|func) )[a-z-]+(?: [a-z-]+)+$/;

it('all pages name log lines that the code writes', () => {
  const sources = sourceTexts();
  const named = pathsOf('**/*.md').flatMap((page) =>
    readMarkdown(page).code.flatMap((code) => (LOG_LINE.test(code) ? [`${page}: ${code}`] : [])),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((one) => !sources.includes(`'${one.replace(/^.*: /, '')}'`))).toEqual([]);
});
