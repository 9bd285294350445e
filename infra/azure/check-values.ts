/**
 * Checks the values of the azd environment before they are used (azure.yaml, preprovision): azd takes the default of main.bicep for a number that it
 * cannot read, and says nothing. Ends with code 1 and a line for each wrong value. It prints no value, because some are secrets.
 *
 * With --parameters it prints the parameters with their values, for a deployment without azd: main.parameters.json is in azd's form.
 */
import { readFileSync } from 'node:fs';

import { settingSchemas } from '../../src/settings.ts';

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
const given = (name: string): string => process.env[name] ?? '';

/** The form of a value, and the message for a value of another form. */
type Form = readonly [form: RegExp, detail: string];

const NUMBERS: Form = [
  /^ *[1-9]\d{0,2} \d{4,14} *(, *[1-9]\d{0,2} \d{4,14} *)*$/,
  'must be numbers such as 1 2065550100',
];

/** Forms that a Bicep decorator cannot express. */
const FORMS: Readonly<Record<string, Form>> = {
  ALERT_SMS: NUMBERS,
  ALERT_VOICE: NUMBERS,
  ALERT_WEBHOOK: [/^ *https:\/\/[^\s,]+ *(, *https:\/\/[^\s,]+ *)*$/, 'must be https addresses'],
  BUDGET_START_MONTH: [/^20\d\d-(0[1-9]|1[0-2])$/, 'must be a month, as 2026-11'],
};

/** azd copies a value into a JSON file without escaping it. */
const IN_JSON: Form = [/^(?! )[^"\\\p{Cc}]*(?<! )$/u, 'must have no ", \\ or line break, and no space at its ends'];

/** The fault of a value by the rule of the app's setting of this name. Not for PHONE: the app's setting has other values. */
const settingFault = (name: string, value: string): string | undefined =>
  new Map(Object.entries(settingSchemas)).get(name === 'PHONE' ? '' : name)?.safeParse(value).error?.issues[0]?.message;

/** The fault of a value by the declaration of its parameter, with its decorators. */
const declaredFault = (type: string, decorators: string, value: string): string | undefined => {
  const allowed = /@allowed\(\[(.*?)\]\)/s.exec(decorators)?.[1]?.match(/[^\s',]+/g);
  if (allowed) return allowed.includes(value) ? undefined : `must be one of ${allowed.join(', ')}`;
  if (type !== 'int') return undefined;
  const bound = (end: string): number => Number(new RegExp(`@${end}Value\\((\\d+)\\)`).exec(decorators)?.[1] ?? NaN);
  const [least, most] = [bound('min') || 0, bound('max') || 2_147_483_647];
  const isIn = /^\d{1,10}$/.test(value) && Number(value) >= least && Number(value) <= most;
  return isIn ? undefined : `must be an integer from ${least} to ${most}`;
};

/** Parameter of main.bicep → the name of its value, and the default. */
const values = new Map(
  [...read('main.parameters.json').matchAll(/"(\w+)": \{ "value": "\$\{([A-Z_]+)(?:=(.*))?\}" \}/g)].map(
    ([, parameter = '', name = '', fallback = '']) => [parameter, { name, fallback }],
  ),
);
const parameters = [...read('main.bicep').matchAll(/((?:^@.*\n(?:^ .*\n|^\]\)\n)*)*)^param (\w+) (\w+)/gm)].map(
  ([, decorators = '', parameter = '', type = '']) => {
    const { name = '', fallback = '' } = values.get(parameter) ?? {};
    return { parameter, type, name, text: given(name) || fallback, decorators };
  },
);
const wrong = parameters.flatMap(({ name, type, decorators }) => {
  const value = given(name);
  if (value === '') return [];
  const ofForm = [IN_JSON, FORMS[name]].find((form) => form !== undefined && !form[0].test(value));
  const detail = ofForm?.[1] ?? settingFault(name, value) ?? declaredFault(type, decorators, value);
  return detail === undefined ? [] : [`${name}: ${detail}`];
});
const isExisting = given('PHONE') === 'existing';
for (const [isNeeded, name, detail] of [
  [!['', 'off'].includes(given('PHONE')), 'PHONE_ALLOWED_PREFIXES', 'is required with a phone, as +1206,+64'],
  [isExisting, 'ACS_RESOURCE_NAME', 'is required with PHONE=existing'],
  [isExisting, 'ACS_RESOURCE_GROUP', 'is required with PHONE=existing'],
  [!['', '0'].includes(given('BUDGET_AMOUNT')), 'BUDGET_START_MONTH', 'is required with BUDGET_AMOUNT, as 2026-11'],
] as const) {
  if (isNeeded && given(name) === '') wrong.push(`${name}: ${detail}`);
}
if (given('ACS_SOURCE_PHONE_NUMBER') !== '' && given('ACS_TEAMS_RESOURCE_ACCOUNT_ID') !== '') {
  wrong.push('ACS_TEAMS_RESOURCE_ACCOUNT_ID: cannot be set together with ACS_SOURCE_PHONE_NUMBER');
}

if (wrong.length > 0) {
  console.error(`${wrong.join('\n')}\nNothing was provisioned. Correct the values with: azd env set NAME VALUE`);
  process.exitCode = 1;
} else if (process.argv.includes('--parameters')) {
  const entries = parameters.map(({ parameter, type, text }) => [
    parameter,
    { value: type === 'int' ? Number(text) : text },
  ]);
  const $schema = 'https://schema.management.azure.com/schemas/2019-04-01/deploymentParameters.json#';
  console.log(JSON.stringify({ $schema, contentVersion: '1.0.0.0', parameters: Object.fromEntries(entries) }));
}
