import * as z from 'zod';

import { PHONE_NUMBER_PATTERN, type PhoneNumber } from '../calls/phone-number.ts';
import type { CallOutcome } from '../calls/place-calls.ts';
import { Problem } from './problem.ts';
import { NOT_A_NUMBER } from './recipients.ts';
import { type Answers, type ProblemAnswers, problemMembers } from './route/answers.ts';

const recipient = z.string().regex(PHONE_NUMBER_PATTERN);

/** What became of the call to one recipient. */
const outcomeSchema = z.discriminatedUnion('status', [
  z.strictObject({ recipient, status: z.literal('placed'), call_connection_id: z.string().min(1) }),
  z.strictObject({ recipient, status: z.literal('failed'), reason: z.string().min(1).describe('In words.') }),
]);

/** One outcome per recipient, in the order of the request. */
const outcomesSchema = z.array(outcomeSchema).min(1).max(50);

const PLACED = {
  recipient: '+12065550100',
  status: 'placed',
  call_connection_id: '401f2d00-5d56-4d8a-b1e3-0242ac120002',
};
const FAILED = { recipient: '+12065550101', status: 'failed', reason: 'throttled' };

/** What every request that places calls answers. */
export const CALLS_ANSWERS = {
  202: {
    description:
      'At least one call was placed. One outcome per recipient, in their order; a failed one never stops the others.',
    schema: z.strictObject({ calls: outcomesSchema }).meta({ id: 'Calls' }),
    examples: { placed: { calls: [PLACED] }, 'one of two': { calls: [PLACED, FAILED] } },
  },
} as const satisfies Answers;

/** The problems of every request that places calls. */
export const CALLS_PROBLEMS: ProblemAnswers = {
  400: {
    description: 'The request is wrong. A wrong phone number is named by its index. Nobody was called.',
    detail: `recipient 1 ${NOT_A_NUMBER}`,
    errors: [{ index: 1, detail: NOT_A_NUMBER }],
  },
  502: {
    description: 'Nobody could be called; `calls` says why.',
    schema: z.strictObject({ ...problemMembers, calls: outcomesSchema.optional() }).meta({ id: 'CallsProblem' }),
    detail: 'The call could not be placed.',
    extensions: { calls: [FAILED] },
  },
};

/**
 * The answer to placed calls.
 *
 * @throws {Problem} 502 with the same outcomes where nobody could be called
 */
export const callsAnswer = (recipients: readonly PhoneNumber[], outcomes: readonly CallOutcome[]) => {
  const calls = recipients.map((number, index) => outcomeOf(number, outcomes[index]));
  if (calls.some((call) => call.status === 'placed')) return { status: 202 as const, jsonBody: { calls } };
  throw new Problem(502, {
    detail: calls.length === 1 ? 'The call could not be placed.' : `None of the ${calls.length} calls could be placed.`,
    extensions: { calls },
  });
};

const outcomeOf = (number: PhoneNumber, outcome: CallOutcome | undefined): z.output<typeof outcomeSchema> =>
  outcome?.status === 'placed'
    ? { recipient: number, status: 'placed', call_connection_id: outcome.callId }
    : { recipient: number, status: 'failed', reason: outcome?.reason ?? 'not tried' };
