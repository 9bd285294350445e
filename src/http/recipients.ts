import type { HttpResponseInit } from '@azure/functions';
import * as z from 'zod';

import { PHONE_NUMBER_PATTERN, type PhoneNumber, parsePhoneNumber } from '../calls/phone-number.ts';
import type { CallOutcome } from '../calls/place-calls.ts';
import { Problem, type ProblemError } from './problem.ts';

/** The most recipients of one request, after removing repeated ones. */
const MOST_RECIPIENTS = 50;

/** The most a body that names recipients may have, in bytes. */
export const MAX_RECIPIENTS_BODY_BYTES = 64 * 1024;

const recipient = z.string({ error: 'must be a string' }).trim().regex(PHONE_NUMBER_PATTERN, {
  error: 'must be a phone number in E.164 form, as +12065550100',
});

const distinctNumbers = (texts: readonly string[]): readonly PhoneNumber[] => [
  ...new Set(texts.flatMap((text) => parsePhoneNumber(text) ?? [])),
];

/** The phone numbers of a request: each trimmed, repeated ones once, in their order. */
export const recipientsSchema = /* @__PURE__ */ (() =>
  z
    .array(recipient, { error: 'must be an array of phone numbers' })
    .min(1, 'must name at least one phone number')
    .transform(distinctNumbers)
    .refine((numbers) => numbers.length <= MOST_RECIPIENTS, `must name at most ${MOST_RECIPIENTS} phone numbers`)
    .meta({
      description: `Phone numbers in E.164 form, 1 to ${MOST_RECIPIENTS}; spaces around them and repeated ones are dropped.`,
      examples: [['+12065550100', '+12065550101']],
    }))();

/** What is wrong with a body, from its schema: an element of the array of recipients by its index, anything else by its field. */
export const badBody = (error: z.ZodError): Problem => {
  const errors = error.issues.flatMap((issue): ProblemError[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ field: shortened(key), detail: 'is unknown' }));
    }
    const index = issue.path.find((step) => typeof step === 'number');
    if (index !== undefined) return [{ index, detail: issue.message }];
    return [{ field: issue.path.join('.') || 'body', detail: issue.message }];
  });
  const said = errors
    .slice(0, 3)
    .map((one) => ('field' in one ? `${one.field} ${one.detail}` : `recipient ${one.index} ${one.detail}`));
  const more = errors.length > said.length ? `; and ${errors.length - said.length} more` : '';
  return new Problem(400, { detail: `${said.join('; ')}${more}`, errors });
};

// A field's name is the caller's own and may be long, or a phone number.
const shortened = (name: string): string => (/^[A-Za-z][\w.-]{0,39}$/.test(name) ? name : 'unknown field');

/**
 * The answer to placed calls: 202 with an outcome per recipient, in their order.
 *
 * @throws {Problem} 502 with the same outcomes where nobody could be called
 */
export const callsAnswer = (recipients: readonly PhoneNumber[], outcomes: readonly CallOutcome[]): HttpResponseInit => {
  const calls = recipients.map((number, index) => outcomeOf(number, outcomes[index]));
  if (calls.some((call) => call.status === 'placed')) return { status: 202, jsonBody: { calls } };
  throw new Problem(502, {
    detail: calls.length === 1 ? 'The call could not be placed.' : `None of the ${calls.length} calls could be placed.`,
    extensions: { calls },
  });
};

const outcomeOf = (recipientNumber: PhoneNumber, outcome: CallOutcome | undefined) =>
  outcome?.status === 'placed'
    ? { recipient: recipientNumber, status: 'placed', call_connection_id: outcome.callId }
    : { recipient: recipientNumber, status: 'failed', reason: outcome?.reason ?? 'not tried' };
