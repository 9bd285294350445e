/**
 * Checks the values of the azd environment before they are used (azure.yaml, preprovision): azd takes the default of main.bicep for a number that it
 * cannot read, and says nothing. Ends with code 1 and one line for each wrong value; it prints no value, because some are secrets.
 *
 * With --parameters it prints the parameters with their values, for a deployment without azd: main.parameters.json is in azd's form.
 *
 * A value that is a setting of the app has the setting's own rule; the others that of their parameter in main.bicep. main.parameters.json says which value is which
 * parameter's. A value counts as it is: azd trims nothing.
 */
import { readFileSync } from 'node:fs';

import { settingSchemas } from '../../src/settings.ts';

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Parameter of main.bicep → value of the azd environment, and the default where it is not set. */
const valueOf = new Map(
  [...read('main.parameters.json').matchAll(/"(\w+)": \{ "value": "\$\{([A-Z_]+)(?:=(.*))?\}" \}/g)].map(
    ([, parameter = '', name = '', fallback]) => [parameter, { name, fallback }],
  ),
);

/** What is wrong with a value; undefined where nothing is. */
type Rule = (value: string) => string | undefined;

const listed = (value: string): readonly string[] =>
  value
    .split(',')
    .map((element) => element.trim())
    .filter((element) => element !== '');

const each =
  (form: RegExp, detail: string): Rule =>
  (value) =>
    listed(value).every((element) => form.test(element)) ? undefined : detail;

/** Rules that a decorator of Bicep cannot say. */
const FORMS: Readonly<Record<string, Rule>> = {
  ALERT_SMS: each(/^[1-9]\d{0,2} \d{4,14}$/, 'must be a country code, a space and a number, as 1 2065550100'),
  ALERT_VOICE: each(/^[1-9]\d{0,2} \d{4,14}$/, 'must be a country code, a space and a number, as 1 2065550100'),
  ALERT_WEBHOOK: each(/^https:\/\/\S+$/, 'must be https addresses'),
  BUDGET_START_MONTH: (value) => (/^20\d\d-(0[1-9]|1[0-2])$/.test(value) ? undefined : 'must be a month, as 2026-11'),
};

/** azd puts a value into a JSON file as it is. */
const jsonRule: Rule = (value) => {
  if (/["\\\p{Cc}]/u.test(value))
    return 'must have no quotation marks, backslashes or line breaks: azd cannot hand them on';
  return value === value.trim() ? undefined : 'must not begin or end with a space';
};

/** The rule of the app's own setting of this name. PHONE is another choice here than there. */
const settingRule = (name: string): Rule => {
  const schema = new Map(Object.entries(settingSchemas)).get(name === 'PHONE' ? '' : name);
  return (value) => schema?.safeParse(value).error?.issues[0]?.message;
};

/** The rule that a parameter's declaration makes, with its decorators. */
const declaredRule = (type: string, decorators: string): Rule => {
  const allowed = /@allowed\(\[(.*?)\]\)/s.exec(decorators)?.[1]?.match(/[^\s',]+/g);
  if (allowed !== undefined && allowed !== null) {
    return (value) => (allowed.includes(value) ? undefined : `must be one of ${allowed.join(', ')}`);
  }
  if (type !== 'int') return () => undefined;
  const [least = '0', most = '2147483647'] = ['min', 'max'].map(
    (end) => new RegExp(`@${end}Value\\((\\d+)\\)`).exec(decorators)?.[1],
  );
  return (value) =>
    /^\d{1,10}$/.test(value) && Number(value) >= Number(least) && Number(value) <= Number(most)
      ? undefined
      : `must be a whole number from ${least} to ${most}`;
};

const environment = process.env;
const parameters = [...read('main.bicep').matchAll(/((?:^@.*\n(?:^ .*\n|^\]\)\n)*)*)^param (\w+) (\w+)/gm)].map(
  ([, decorators = '', parameter = '', type = '']) => {
    const { name = '', fallback = '' } = valueOf.get(parameter) ?? {};
    return { parameter, type, name, decorators, given: environment[name] ?? '', fallback };
  },
);
const wrong = parameters.flatMap(({ name, type, decorators, given }) => {
  if (given === '') return [];
  const rules = [jsonRule, settingRule(name), declaredRule(type, decorators), FORMS[name] ?? (() => undefined)];
  const detail = rules.map((rule) => rule(given)).find((found) => found !== undefined);
  return detail === undefined ? [] : [`${name}: ${detail}`];
});

const isGiven = (name: string): boolean => (environment[name] ?? '') !== '';
if (isGiven('PHONE') && environment['PHONE'] !== 'off' && !isGiven('PHONE_ALLOWED_PREFIXES')) {
  wrong.push(
    'PHONE_ALLOWED_PREFIXES: is required with a phone: how the numbers begin that may be called, as +1206,+64',
  );
}
if (environment['PHONE'] === 'existing') {
  for (const name of ['ACS_RESOURCE_NAME', 'ACS_RESOURCE_GROUP']) {
    if (!isGiven(name)) wrong.push(`${name}: is required with PHONE=existing`);
  }
}
if (isGiven('ACS_SOURCE_PHONE_NUMBER') && isGiven('ACS_TEAMS_RESOURCE_ACCOUNT_ID')) {
  wrong.push('ACS_TEAMS_RESOURCE_ACCOUNT_ID: cannot be set together with ACS_SOURCE_PHONE_NUMBER');
}
if (isGiven('BUDGET_AMOUNT') && environment['BUDGET_AMOUNT'] !== '0' && !isGiven('BUDGET_START_MONTH')) {
  wrong.push('BUDGET_START_MONTH: is required with BUDGET_AMOUNT, as 2026-11');
}

for (const line of wrong) console.error(line);
if (wrong.length > 0) {
  console.error('Nothing was provisioned. Correct the values with: azd env set NAME VALUE');
  process.exitCode = 1;
}

if (wrong.length === 0 && process.argv.includes('--parameters')) {
  const values = parameters.map(({ parameter, type, given, fallback }) => {
    const text = given === '' ? fallback : given;
    return [parameter, { value: type === 'int' ? Number(text) : text }];
  });
  console.log(
    JSON.stringify({
      $schema: 'https://schema.management.azure.com/schemas/2019-04-01/deploymentParameters.json#',
      contentVersion: '1.0.0.0',
      parameters: Object.fromEntries(values),
    }),
  );
}
