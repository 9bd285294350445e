import * as z from 'zod';

import { ALERT_TYPE_NAMES, type AlertType, findAlertType } from '../calls/model/alert-types.ts';
import { parsePhoneNumber, PHONE_NUMBER_PATTERN, type PhoneNumber } from '../calls/model/phone-number.ts';

/** The most recipients of one request, after removing repeated ones. */
const MAX_RECIPIENTS = 50;

/** The most a body that names recipients may have, in bytes. */
export const MAX_RECIPIENTS_BYTES = 64 * 1024;

/** The sentence about a recipient that is not a phone number. */
export const NOT_A_NUMBER = 'must be a phone number in E.164 form, as +12065550100';

const SOME_NUMBERS = 'must name at least one phone number';

const recipient = z.string({ error: 'must be a string' }).trim().regex(PHONE_NUMBER_PATTERN, NOT_A_NUMBER);

const distinctNumbers = (texts: readonly string[]): readonly PhoneNumber[] => [
  ...new Set(texts.flatMap((text) => parsePhoneNumber(text) ?? [])),
];

/** The phone numbers of a request: each trimmed, repeated ones once, in their order. */
export const recipientsSchema = z
  .array(recipient, { error: 'must be an array of phone numbers' })
  .min(1, SOME_NUMBERS)
  .transform(distinctNumbers)
  .refine((numbers) => numbers.length <= MAX_RECIPIENTS, `must name at most ${MAX_RECIPIENTS} phone numbers`)
  .meta({
    description: `Phone numbers in E.164 form, 1 to ${MAX_RECIPIENTS}; spaces around them and repeated ones are dropped.`,
    examples: [['+12065550100', '+12065550101']],
  });

/** The recipients of a notification, in waves; a flat list is one wave. */
export interface Waves {
  readonly waves: readonly (readonly PhoneNumber[])[];
  /** Whether they were a list of lists. */
  readonly areWaves: boolean;
}

const wrongElement = ({ input }: { readonly input?: unknown }): string => {
  if (!Array.isArray(input)) return NOT_A_NUMBER;
  return input.length === 0 ? SOME_NUMBERS : `has one that ${NOT_A_NUMBER}`;
};

/** Phone numbers, or lists of them: each number trimmed, repeated ones once, in their order. */
export const wavesSchema = z
  .array(z.union([recipient, z.array(recipient).min(1, SOME_NUMBERS)], { error: wrongElement }), {
    error: 'must be an array of phone numbers, or of lists of them',
  })
  .min(1, SOME_NUMBERS)
  .transform((list, context): Waves => {
    const areWaves = list.some((one) => Array.isArray(one));
    list.forEach((input, index) => {
      if (!areWaves || Array.isArray(input)) return;
      const message = 'must be a list of phone numbers, as others are';
      context.addIssue({ code: 'custom', message, path: [index], input });
    });
    const seen = new Set<string>();
    const waves = (areWaves ? list.map((one) => [one].flat()) : [list.flat()]).map((texts) =>
      distinctNumbers(texts).filter((number) => !seen.has(number) && seen.add(number)),
    );
    if (seen.size > MAX_RECIPIENTS) context.addIssue(`must name at most ${MAX_RECIPIENTS} phone numbers`);
    // A wave of numbers that were all in an earlier one has nobody to call.
    return { waves: waves.filter(({ length }) => length > 0), areWaves };
  })
  .meta({
    description: `Phone numbers in E.164 form, 1 to ${MAX_RECIPIENTS}; spaces around them and repeated ones are dropped. With \`confirm\`, a list of lists is waves.`,
    examples: [
      ['+12065550100', '+12065550101'],
      [['+12065550100'], ['+12065550101', '+12065550102']],
    ],
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
