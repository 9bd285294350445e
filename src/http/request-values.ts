import * as z from 'zod';

import { idProblem, MAX_ID_LENGTH } from '../analytics/model/identifier.ts';
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

// The rule of `visible-text.ts` in ranges of the basic plane.
const REFUSED = '\\x00-\\x1f\\x7f-\\x9f\u2028-\u202E\u2066-\u2069\uFDD0-\uFDEF\uFFFE-\uFFFF';
const INVISIBLE =
  '\\x20\\xa0\\xad\u034F\u0600-\u0605\u061C\u06DD\u070F\u0890-\u0891\u08E2\u115F-\u1160\u1680\u17B4-\u17B5\u180B-\u180F' +
  '\u2000-\u200F\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB';
/** @param without further characters that are not in the text */
const visiblePattern = (without = ''): string =>
  `^[^${REFUSED}${without}]*[^${REFUSED}${INVISIBLE}${without}][^${REFUSED}${without}]*$`;

/** Characters outside the basic plane are not in this form: they count twice. */
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
 * A whole number in a query. The description has it as an integer.
 *
 * @param fallback if none is given
 */
export const wholeNumber = (least: number, most: number, fallback: number) =>
  z
    .string()
    .superRefine((text, context) => {
      const rule = `must be a whole number from ${least} to ${most}`;
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
