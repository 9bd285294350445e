import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isMaskedNumber, maskPhoneNumber, parsePhoneNumber } from '../../src/calls/phone-number.ts';

const digits = (minLength: number, maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength, maxLength }).map((list) => list.join(''));

const numbers = fc.tuple(fc.integer({ min: 1, max: 9 }), digits(6, 14)).map(([first, rest]) => `+${first}${rest}`);

describe('a phone number', () => {
  it('is E.164, without the white space around it', () => {
    fc.assert(
      fc.property(numbers, (number) => {
        expect(parsePhoneNumber(number)).toBe(number);
        expect(parsePhoneNumber(` \t${number}\n`)).toBe(number);
      }),
    );
  });

  it.each(['', '+', '12065550100', '+02065550100', '+1206', '+1 206 555 0100', '+1-206-555-0100', '+1234567890123456'])(
    'is not %j',
    (text) => expect(parsePhoneNumber(text)).toBeUndefined(),
  );

  it.each([
    ['+12065550100', '+1206•••••00'],
    ['+1234567', '+•••••67'],
    ['+123456789012345', '+1234•••••••••45'],
  ])('%s is masked as %s', (text, masked) => {
    const number = parsePhoneNumber(text);
    expect(number && maskPhoneNumber(number)).toBe(masked);
  });

  it('shows four digits at its start and two at its end when it is masked, and hides five at least', () => {
    fc.assert(
      fc.property(numbers, (text) => {
        const number = parsePhoneNumber(text);
        if (number === undefined) throw new Error('not a number');
        const masked = maskPhoneNumber(number);
        expect(masked).toHaveLength(text.length);
        expect(masked.slice(-2)).toBe(text.slice(-2));
        const [, start = '', hidden = ''] = /^\+(\d*)(•+)/.exec(masked) ?? [];
        expect(text.startsWith(`+${start}`)).toBe(true);
        expect(start.length).toBeLessThanOrEqual(4);
        expect(hidden.length).toBeGreaterThanOrEqual(5);
        expect(maskPhoneNumber(masked)).toBe(masked);
        expect(isMaskedNumber(masked)).toBe(true);
        expect(isMaskedNumber(text)).toBe(false);
      }),
    );
  });
});
