import { expect, it } from 'vitest';
import { parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { whyNotCallable } from '../../../src/calls/rules/policy.ts';

it.each<[number: string, prefixes: readonly string[] | undefined, why: string | undefined]>([
  ['+12065550100', undefined, undefined],
  ['+12065550100', ['+64', '+1'], undefined],
  ['+12065550100', ['+64', '+1212'], 'not_allowed'],
  ['+12065550100', ['+12065550100'], undefined],
  ['+120655501', undefined, 'impossible_number'],
  ['+1206555010000', ['+44'], 'impossible_number'],
  // A country that is not known may exist.
  ['+99912345', undefined, undefined],
])('%s may be called where %j are allowed; if not: %s', (text, prefixes, why) => {
  const number = parsePhoneNumber(text);
  if (number === undefined) throw new Error('malformed');
  expect(whyNotCallable(number, prefixes)).toBe(why);
});
