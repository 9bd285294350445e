import * as z from 'zod';

import { ALERT_TYPE_NAMES, type AlertType, findAlertType } from '../calls/model/alert-types.ts';
import { parsePhoneNumber, PHONE_NUMBER_PATTERN, type PhoneNumber } from '../calls/model/phone-number.ts';
import type { FaultCode } from './problem-types.ts';
import { fault } from './route/faults.ts';

/** The most recipients of one request, after removing repeated ones. */
export const MAX_RECIPIENTS = 50;

/** The most a body that names recipients may have, in bytes. */
export const MAX_RECIPIENTS_BYTES = 64 * 1024;

/** The sentence about a recipient that is not a phone number. */
export const NOT_A_NUMBER = 'must be a phone number in E.164 form, as +12065550100';

const SOME_NUMBERS = 'must name at least one phone number';

/** What the description shows; spaces around a number are taken as well. */
const described = z.string().regex(new RegExp(PHONE_NUMBER_PATTERN.source.replaceAll('\\d', '[0-9]')));

const recipient = z.string({ error: 'must be a string' }).trim().regex(PHONE_NUMBER_PATTERN, NOT_A_NUMBER);

const distinctNumbers = (texts: readonly string[]): readonly PhoneNumber[] => [
  ...new Set(texts.flatMap((text) => parsePhoneNumber(text) ?? [])),
];

const TOO_MANY = `must name at most ${MAX_RECIPIENTS} phone numbers`;
const A_LIST_RULE = `Phone numbers in E.164 form, 1 to ${MAX_RECIPIENTS}; spaces around them and repeated ones are dropped.`;

/** The phone numbers of a request: each trimmed, repeated ones once, in their order. */
export const recipientsSchema = z
  .array(recipient, { error: 'must be an array of phone numbers' })
  .min(1, SOME_NUMBERS)
  .transform((texts, context) => {
    const numbers = distinctNumbers(texts);
    if (numbers.length > MAX_RECIPIENTS) context.addIssue(fault('too_many', TOO_MANY));
    return numbers;
  });

/** A list of recipients, as the description shows it. */
export const describedRecipients = z
  .array(described)
  .min(1)
  .max(MAX_RECIPIENTS)
  .meta({ description: A_LIST_RULE, examples: [['+12065550100', '+12065550101']] });

/** Recipients in waves, as the description shows them. */
export const describedWaves = z
  .array(z.array(described).min(1).max(MAX_RECIPIENTS))
  .min(1)
  .max(MAX_RECIPIENTS)
  .meta({
    description: `Waves, the first one first. ${A_LIST_RULE} All waves together have at most ${MAX_RECIPIENTS}, and the last one begins before NOTIFICATION_DEADLINE_MINUTES.`,
    examples: [[['+12065550100'], ['+12065550101', '+12065550102']]],
  });

/** The recipients of a notification, in waves; a flat list is one wave. */
export interface Waves {
  readonly waves: readonly (readonly PhoneNumber[])[];
  /** Whether they were a list of lists. */
  readonly areWaves: boolean;
}

/**
 * Phone numbers, or lists of them: each number trimmed, repeated ones once, in their order. A wrong number is named by its position among all
 * of them.
 */
export const wavesSchema = z
  .array(z.unknown(), { error: 'must be an array of phone numbers, or of lists of them' })
  .min(1, SOME_NUMBERS)
  .transform((list, context): Waves => {
    const areWaves = list.some((one) => Array.isArray(one));
    const seen = new Set<PhoneNumber>();
    let index = 0;
    const wrong = (code: FaultCode, detail: string, path: PropertyKey[], at?: number) =>
      context.addIssue({ ...fault(code, detail, { path, ...(at !== undefined && { index: at }) }), input: list });
    const numberAt = (value: unknown, path: PropertyKey[]): readonly PhoneNumber[] => {
      const at = index;
      index += 1;
      const number = typeof value === 'string' ? parsePhoneNumber(value) : undefined;
      if (number === undefined) wrong(value === '' ? 'empty' : 'invalid', NOT_A_NUMBER, path, at);
      if (number === undefined || seen.has(number)) return [];
      seen.add(number);
      return [number];
    };
    const waves = list.map((one, position): readonly PhoneNumber[] => {
      if (!areWaves) return numberAt(one, [position]);
      if (!Array.isArray(one)) {
        wrong('invalid', 'must be a list of phone numbers, as others are', [position], index);
        index += 1;
        return [];
      }
      if (one.length === 0) wrong('empty', SOME_NUMBERS, [position]);
      return one.flatMap((value: unknown, within) => numberAt(value, [position, within]));
    });
    if (seen.size > MAX_RECIPIENTS) wrong('too_many', TOO_MANY, []);
    // A wave of numbers that were all in an earlier one has nobody to call.
    return { waves: areWaves ? waves.filter(({ length }) => length > 0) : [waves.flat()], areWaves };
  });

/** The name of an alert type. */
export const alertTypeName = z
  .enum(ALERT_TYPE_NAMES, { error: `must be one of ${ALERT_TYPE_NAMES.join(', ')}` })
  .meta({ description: 'What is reported; it decides what is said.', examples: ['ConfirmedFire'] });

/** The alert type of a name that {@link alertTypeName} has checked. */
export const alertTypeOf = (name: z.output<typeof alertTypeName>): AlertType => {
  const alertType = findAlertType(name);
  if (alertType === undefined) throw new TypeError('an alert type without a row');
  return alertType;
};
