import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { isMaskedNumber, maskPhoneNumber, parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';

const numbers = fc.stringMatching(/^\+[1-9]\d{6,14}$/);

it('a phone number is E.164, without the white space around it; masked it shows four digits and two, and hides five at least', () => {
  fc.assert(
    fc.property(numbers, (text) => {
      const number = parsePhoneNumber(` \t${text}\n`);
      if (number === undefined) throw new Error('not a number');
      expect(number).toBe(text);
      const masked = maskPhoneNumber(number);
      const [, start = '', hidden = '', end] = /^\+(\d{0,4})(•{5,})(\d\d)$/.exec(masked) ?? [];
      expect(`+${start}${text.slice(1 + start.length, -2)}${end}`).toBe(text);
      expect(hidden).toHaveLength(text.length - start.length - 3);
      expect(maskPhoneNumber(masked)).toBe(masked);
      expect([isMaskedNumber(masked), isMaskedNumber(text)]).toEqual([true, false]);
    }),
  );
});

it.each([
  ['+12065550100', '+1206•••••00'],
  ['+1234567', '+•••••67'],
  ['+123456789012345', '+1234•••••••••45'],
])('%s is masked as %s', (text, masked) => {
  const number = parsePhoneNumber(text);
  expect(number && maskPhoneNumber(number)).toBe(masked);
});

it.each(['', '+', '12065550100', '+02065550100', '+1206', '+1 206 555 0100', '+1-206-555-0100', '+1234567890123456'])(
  '%j is no phone number',
  (text) => expect(parsePhoneNumber(text)).toBeUndefined(),
);
