import * as z from 'zod';

import { ALERT_TYPE_NAMES } from '../calls/model/alert-types.ts';
import type { Callee } from '../calls/model/notification-request.ts';
import { parsePhoneNumber, PHONE_NUMBER_PATTERN, type PhoneNumber } from '../calls/model/phone-number.ts';
import { visibleText } from './request-values.ts';
import { fault } from './route/faults.ts';

/** The maximum number of recipients of a request, after removing repeated ones. */
export const MAX_RECIPIENTS = 50;

/** A camera or a link. */
export const referenceText = visibleText(100);

/** The maximum size of a body with recipients, in bytes. */
export const MAX_RECIPIENTS_BYTES = 64 * 1024;

const NOT_A_NUMBER = 'must be a phone number in E.164 form, such as +12065550100';
const SOME_NUMBERS = 'must name at least one phone number';
const TOO_MANY = `must name at most ${MAX_RECIPIENTS} phone numbers`;
const LIST_RULE = `1 to ${MAX_RECIPIENTS} phone numbers in E.164 form; spaces around them and repeated ones are dropped.`;

const numberText = z
  .string({ error: NOT_A_NUMBER })
  // Spaces around it are accepted.
  .meta({ pattern: PHONE_NUMBER_PATTERN.source.replaceAll('\\d', '[0-9]') })
  .transform((text, context): PhoneNumber => {
    const number = parsePhoneNumber(text);
    if (number !== undefined) return number;
    context.addIssue(NOT_A_NUMBER);
    return z.NEVER;
  });

const recipient = z.xor(
  [
    numberText.transform((number): Callee => ({ number })),
    z
      .strictObject({
        number: numberText,
        name: visibleText(60).meta({ description: 'Shown with the masked number, never spoken.', examples: ['Ana'] }),
      })
      .meta({ id: 'NamedRecipient' }),
  ],
  { error: NOT_A_NUMBER },
);

/** The callees of all waves. A repeated number stays in its first wave only. */
const distinct = (waves: readonly (readonly Callee[])[], context: z.RefinementCtx): readonly (readonly Callee[])[] => {
  const seen = new Set<PhoneNumber>();
  const once = waves.map((wave) =>
    wave.filter(({ number }) => {
      const isNew = !seen.has(number);
      seen.add(number);
      return isNew;
    }),
  );
  if (seen.size > MAX_RECIPIENTS) context.addIssue(fault('too_many', TOO_MANY));
  // A wave whose numbers are all in earlier waves is dropped.
  return once.filter(({ length }) => length > 0);
};

/** A flat list of recipients → one wave. */
export const recipientList = z
  .array(recipient, { error: 'must be an array of phone numbers, or of arrays of them' })
  .min(1, SOME_NUMBERS)
  .meta({
    maxItems: MAX_RECIPIENTS,
    description: LIST_RULE,
    examples: [['+12065550100', { number: '+12065550101', name: 'Ana' }]],
  })
  .transform((callees, context) => distinct([callees], context));

export const recipientWaves = z
  .array(
    z
      .array(recipient, { error: 'must be an array of phone numbers, like the other waves' })
      .min(1, SOME_NUMBERS)
      .meta({ maxItems: MAX_RECIPIENTS }),
  )
  .min(1, SOME_NUMBERS)
  .meta({
    maxItems: MAX_RECIPIENTS,
    description: `Waves in order. All waves together: ${LIST_RULE} The last wave begins before NOTIFICATION_DEADLINE_MINUTES.`,
    examples: [[['+12065550100'], ['+12065550101', '+12065550102']]],
  })
  .transform(distinct);

export const alertTypeName = z
  .enum(ALERT_TYPE_NAMES, { error: `must be one of ${ALERT_TYPE_NAMES.join(', ')}` })
  .meta({ description: 'The reported event. It selects the spoken phrase.', examples: ['ConfirmedFire'] });
