import * as fc from 'fast-check';
import EXAMPLES from 'libphonenumber-js/examples.mobile.json' with { type: 'json' };
import METADATA from 'libphonenumber-js/metadata.max.json' with { type: 'json' };
import { expect, it } from 'vitest';

import {
  isMaskedNumber,
  isPossible,
  maskPhoneNumber,
  parsePhoneNumber,
} from '../../../src/calls/model/phone-number.ts';

it.each([
  ['+1234567', '+•••••67'],
  ['+12345678', '+1•••••78'],
  ['+1234567890', '+123•••••90'],
  ['+12065550100', '+1206•••••00'],
  ['+123456789012', '+1234••••••12'],
  ['+123456789012345', '+1234•••••••••45'],
])('the number %s, without the white space around it, is masked as %s', (text, masked) => {
  const number = parsePhoneNumber(` \t${text}\n`);
  expect(number).toBe(text);
  expect([number && maskPhoneNumber(number), isMaskedNumber(masked), isMaskedNumber(text)]).toEqual([
    masked,
    true,
    false,
  ]);
  expect(isMaskedNumber(masked) && maskPhoneNumber(masked)).toBe(masked);
});

it.each(['', '+', '12065550100', '+02065550100', '+1206', '+1 206 555 0100', '+1-206-555-0100', '+1234567890123456'])(
  '%j is no phone number',
  (text) => expect(parsePhoneNumber(text)).toBeUndefined(),
);

/** A country of the library: its calling code, its trunk prefix, and the patterns of its kinds of numbers. */
interface Country {
  readonly name: string;
  readonly code: string;
  readonly trunkPrefix: string;
  readonly patterns: readonly string[];
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const { countries, nonGeographic } = METADATA;
const COUNTRIES: readonly Country[] = Object.entries({ ...countries, ...nonGeographic }).map(([name, data]) => {
  const fields = list(data);
  const patterns = list(fields[11]).map((kind) => asText(list(kind)[0]));
  return {
    name,
    code: asText(fields[0]),
    trunkPrefix: asText(fields[5]),
    patterns: patterns.filter((one) => one !== ''),
  };
});

const impossible = (tried: readonly string[]): readonly string[] =>
  tried.filter((number) => {
    const parsed = parsePhoneNumber(number);
    return parsed !== undefined && !isPossible(parsed);
  });

it('numbers of all kinds of all countries are possible, also of satellites', () => {
  const all = COUNTRIES.flatMap(({ code, patterns }) =>
    patterns.flatMap((pattern) =>
      fc
        .sample(fc.stringMatching(new RegExp(`^(?:${pattern})$`)), { numRuns: 8, seed: 7 })
        .map((one) => `+${code}${one}`),
    ),
  );
  expect(all.length).toBeGreaterThan(8_000);
  // Free numbers of Belarus: the library treats their 8 as a trunk prefix. They cannot be called from abroad.
  expect(impossible(all).filter((number) => !number.startsWith('+375810'))).toEqual([]);
});

it('a mobile number of any country is impossible with its trunk prefix after the country code', () => {
  const dialedAtHome = COUNTRIES.flatMap(({ name, code, trunkPrefix }) => {
    const example: unknown = Reflect.get(EXAMPLES, name);
    return trunkPrefix === '' || example === undefined ? [] : [`+${code}${trunkPrefix}${asText(example)}`];
  });
  expect(dialedAtHome.length).toBeGreaterThan(140);
  // In Colombia some free numbers begin with these digits, and are as long.
  const found = new Set(impossible(dialedAtHome));
  expect(dialedAtHome.filter((number) => !found.has(number))).toEqual(['+5703211234567']);
});

it.each([
  ['+4402071234567', false],
  ['+490301234567', false],
  ['+112065550100', false],
  // The first number is dialed within Argentina, the second from abroad.
  ['+54111523456789', false],
  ['+5491123456789', true],
  ['+789161234567', false],
  ['+78001234567', true],
  ['+77011234567', true],
  // The 0 belongs to the number.
  ['+390612345678', true],
  ['+3780549886377', true],
  // The library adds 0549.
  ['+378886377', true],
  ['+525512345678', true],
  ['+881631234567', true],
  ['+883510012345', true],
  // A country that is not known may exist.
  ['+99912345', true],
])('%s is possible: %s', (number, expected) => {
  expect(impossible([number])).toEqual(expected ? [] : [number]);
});
