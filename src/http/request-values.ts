import * as z from 'zod';

import { idProblem, MAX_ID_LENGTH } from '../analytics/model/camera-event.ts';
import { type Instant, parseInstant } from '../analytics/model/instant.ts';
import { visibleFault } from '../visible-text.ts';
import { fault } from './route/faults.ts';

// The patterns of the description are read by ECMAScript with and without its flag u, Python, Go, Java and .NET. So they have no
// lookahead, no \p and no \u, and [0-9] because \d is any script's digit in some of them. A value that matches the described form is accepted.
// The service also accepts some other forms.

/** Days that exist, of the centuries whose first digit is one of these. */
const daysOf = (firstDigit: string, leapCenturies: string): string =>
  `(?:${firstDigit}[0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|` +
  `02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:${firstDigit}[0-9](?:0[48]|[2468][048]|[13579][26])|(?:${leapCenturies})00)-02-29)`;
const DAY = daysOf('[12]', '12|16|20|24|28');
const CLOCK = String.raw`[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,12})?`;
const OFFSET = '(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])';

export const DAY_PATTERN = `^${DAY}$`;

/** A date and time with an offset. */
export const TIME_PATTERN = `^${DAY}${CLOCK}${OFFSET}$`;

/** A date and time that is UTC if it has no offset. */
export const UTC_TIME_PATTERN = `^${DAY}${CLOCK}${OFFSET}?$`;

/** The same, from the year 2000 on. */
export const FRAME_TIME_PATTERN = `^${daysOf('2', '20|24|28')}${CLOCK}${OFFSET}?$`;

// The rule of `visible-text.ts` in ranges of the basic plane. Some ranges of marks include a few letters: alone they do not match.
const REFUSED = '\\x00-\\x1f\\x7f-\\x9f\u2028-\u202E\u2066-\u2069\uFDD0-\uFDEF\uFFFE-\uFFFF';
const INVISIBLE =
  '\\x20\\xa0\\xad\u0300-\u036F\u0483-\u0489\u0591-\u05C7\u0600-\u0605\u0610-\u061C\u064B-\u065F\u0670\u06D6-\u06ED\u070F-\u0711\u0730-\u074A' +
  '\u07A6-\u07B0\u07EB-\u07F3\u07FD\u0816-\u082D\u0859-\u085B\u0890-\u089F\u08CA-\u0903\u093A-\u0957\u0962\u0963\u0981-\u0983\u09BC-\u09CD' +
  '\u09D7\u09E2\u09E3\u09FE-\u0A03\u0A3C-\u0A51\u0A70-\u0A75\u0A81-\u0A83\u0ABC-\u0ACD\u0AE2\u0AE3\u0AFA-\u0B03\u0B3C-\u0B57\u0B62\u0B63' +
  '\u0B82\u0BBE-\u0BCD\u0BD7\u0C00-\u0C04\u0C3C-\u0C56\u0C62\u0C63\u0C81-\u0C83\u0CBC-\u0CD6\u0CE2\u0CE3\u0CF3\u0D00-\u0D03\u0D3B-\u0D4D' +
  '\u0D57\u0D62\u0D63\u0D81-\u0D83\u0DCA-\u0DDF\u0DF2\u0DF3\u0E31-\u0E3A\u0E47-\u0E4E\u0EB1-\u0EBC\u0EC8-\u0ECE\u0F18\u0F19\u0F35-\u0F3F' +
  '\u0F71-\u0FBC\u0FC6\u102B-\u103E\u1056-\u1074\u1082-\u108F\u109A-\u109D\u115F\u1160\u135D-\u135F\u1680\u1712-\u1715\u1732-\u1734' +
  '\u1752\u1753\u1772\u1773\u17B4-\u17D3\u17DD\u180B-\u180F\u1885\u1886\u18A9\u1920-\u193B\u1A17-\u1A1B\u1A55-\u1A7F\u1AB0-\u1AEB' +
  '\u1B00-\u1B04\u1B34-\u1B44\u1B6B-\u1B73\u1B80-\u1B82\u1BA1-\u1BAD\u1BE6-\u1BF3\u1C24-\u1C37\u1CD0-\u1CF9\u1DC0-\u1DFF\u2000-\u200F\u202F' +
  '\u205F-\u2065\u206A-\u206F\u20D0-\u20F0\u2800\u2CEF-\u2CF1\u2D7F\u2DE0-\u2DFF\u3000\u302A-\u302F\u3099\u309A\u3164\uA66F-\uA67D' +
  '\uA69E\uA69F\uA6F0\uA6F1\uA802-\uA80B\uA823-\uA82C\uA880\uA881\uA8B4-\uA8C5\uA8E0-\uA8F1\uA8FF\uA926-\uA92D\uA947-\uA953\uA980-\uA983' +
  '\uA9B3-\uA9C0\uA9E5\uAA29-\uAA36\uAA43-\uAA4D\uAA7B-\uAA7D\uAAB0-\uAAC1\uAAEB-\uAAF6\uABE3-\uABED\uFB1E\uFE00-\uFE0F\uFE20-\uFE2F\uFEFF' +
  '\uFFA0\uFFF0-\uFFFC';
/** @param without further characters to refuse */
const visiblePattern = (without = ''): string =>
  `^[^${REFUSED}${without}]*[^${REFUSED}${INVISIBLE}${without}][^${REFUSED}${without}]*$`;

/** Excludes characters outside the basic plane, because the length counts each of them twice. */
const ID_PATTERN = visiblePattern('\uD800-\uDFFF');

/** The id of a camera or an event in a request. */
export const identifier = z
  .string({ error: 'must be a string' })
  .meta({ minLength: 1, maxLength: MAX_ID_LENGTH, pattern: ID_PATTERN })
  .superRefine((text, context) => {
    const problem = idProblem(text);
    if (problem === undefined) return;
    context.addIssue(fault(text === '' ? 'empty' : text.length > MAX_ID_LENGTH ? 'too_long' : 'invalid', problem));
  });

/** A text of one line that people read: of any script, and not of invisible characters alone. */
export const visibleText = (most: number) => {
  const rule = `must be 1 to ${most} visible characters`;
  return z
    .string({ error: 'must be a string' })
    .meta({ minLength: 1, maxLength: most, pattern: visiblePattern() })
    .superRefine((text, context) => {
      if (text === '') context.addIssue(fault('empty', rule));
      else if (Array.from(text).length > most) context.addIssue(fault('too_long', rule));
      else if (visibleFault(text) !== undefined) context.addIssue(fault('invalid', rule));
    });
};

// A voice reads tags and character references aloud. An ampersand alone is a word to it.
const MARKUP = /[<>]|&#?\w+;/;

/** A visible text without markup, for speech. @param most the maximum number of characters */
export const spokenText = (most: number) =>
  visibleText(most)
    .meta({ pattern: visiblePattern('<>&') })
    .superRefine((text, context) => {
      if (MARKUP.test(text)) context.addIssue(fault('invalid', 'must be plain text without markup'));
    });

export const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false'], 'must be true or false')
    .default(fallback ? 'true' : 'false')
    .transform((text) => text === 'true');

/**
 * An integer in a query.
 *
 * @param fallback if none is given
 */
export const integer = (least: number, most: number, fallback: number) =>
  z
    .string()
    .superRefine((text, context) => {
      const rule = `must be an integer from ${least} to ${most}`;
      if (!/^(?:0|[1-9]\d{0,8})$/.test(text)) context.addIssue(fault('invalid', rule));
      else if (Number(text) < least || Number(text) > most) context.addIssue(fault('out_of_range', rule));
    })
    .optional()
    .transform((text) => (text === undefined ? fallback : Number(text)))
    .meta({ type: 'integer', minimum: least, maximum: most });

/**
 * A time in a request.
 *
 * @param form what it must be, in words
 * @param described how the description shows it
 * @param parse undefined for text that is not of that form
 */
export const instant = (
  form: string,
  described: { readonly pattern: string; readonly format?: string },
  parse: (text: string) => Instant | undefined = parseInstant,
) =>
  z
    .string({ error: `must be ${form}` })
    .meta(described)
    .transform((text, context): Instant => {
      const parsed = parse(text);
      if (parsed !== undefined) return parsed;
      context.addIssue(fault(text === '' ? 'empty' : 'invalid', `must be ${form}`));
      return z.NEVER;
    });
