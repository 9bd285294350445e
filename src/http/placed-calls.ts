import * as z from 'zod';

import type { Sent, SentCall } from '../calls/phone.ts';
import { maskPhoneNumber, PHONE_NUMBER_PATTERN } from '../calls/model/phone-number.ts';
import { PHONE_PROBLEMS } from './phone-off.ts';
import { type FailedCall, Problem } from './problem.ts';
import type { ProblemCode } from './problem-types.ts';
import type { Answers } from './route/answers.ts';

const recipient = z.string().regex(PHONE_NUMBER_PATTERN);
const reason = z.string().min(1).describe('In words.');
const codeSchema = z.string().describe('Why, for machines: see `/api/problems`. New ones may come.');

const since = z.iso.datetime().describe('Since when they wait, UTC.');

const outcomeSchema = z.discriminatedUnion('status', [
  z.object({ recipient, status: z.literal('placed'), call_connection_id: z.string().min(1) }),
  z.object({ recipient, status: z.literal('waiting'), code: codeSchema, reason, since }),
  z.object({ recipient, status: z.literal('failed'), code: codeSchema, reason }),
]);

const EXAMPLE: { notification_id: string; calls: z.output<typeof outcomeSchema>[] } = {
  notification_id: 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de',
  calls: [{ recipient: '+12065550100', status: 'placed', call_connection_id: '401f2d00-5d56-4d8a-b1e3-0242ac120002' }],
};

export const CALLS_ANSWERS = {
  202: {
    description:
      'Stored; at least one recipient is called, or will be. One outcome for each recipient, in their order: `waiting` is called as soon as possible, `failed` never. None stops the others.',
    schema: z
      .object({
        notification_id: z.string().describe('For `GET /api/notifications/{id}`.'),
        calls: z.array(outcomeSchema).min(1).max(50),
      })
      .meta({ id: 'Calls', examples: [EXAMPLE] }),
  },
} as const satisfies Answers;

export const CALLS_PROBLEMS = [
  'impossible_number',
  'nobody_allowed',
  'key_reused',
  'waves_too_late',
  'nobody_callable',
  ...PHONE_PROBLEMS,
] as const satisfies readonly ProblemCode[];

/**
 * The answer to a request that places calls.
 *
 * @throws {Problem} 502 with the same outcomes if no recipient can be called; 422 if the numbers, our own policy, the key or the waves forbid it
 */
export const callsAnswer = (sent: Sent) => {
  switch (sent.kind) {
    case 'key of another request':
      throw new Problem('key_reused');
    case 'waves too late':
      throw new Problem('waves_too_late');
    case 'nobody callable': {
      const calls = sent.calls.flatMap(maskedFailure);
      const areImpossible = calls.every(({ code }) => code === 'impossible_number');
      if (areImpossible) throw new Problem('impossible_number', { extensions: { calls } });
      // Allowed numbers fail if the day's calls are used up.
      const isOverDayLimit = calls.some(({ code }) => code === 'day_limit');
      throw new Problem(isOverDayLimit ? 'nobody_callable' : 'nobody_allowed', { extensions: { calls } });
    }
    case 'sent': {
      const calls = sent.calls.map(answerOf);
      const body = { notification_id: sent.id, calls };
      if (calls.some((call) => call.status !== 'failed')) return { status: 202 as const, jsonBody: body };
      throw new Problem('nobody_callable', { extensions: { ...body, calls: sent.calls.flatMap(maskedFailure) } });
    }
  }
};

const answerOf = (call: SentCall): z.output<typeof outcomeSchema> => {
  if (call.status === 'failed') return call;
  if (call.status === 'waiting') return { ...call, since: new Date(call.since).toISOString() };
  return { recipient: call.recipient, status: call.status, call_connection_id: call.callId };
};

/** A problem is logged and passed on, so the number is masked. */
const maskedFailure = ({ recipient: number, ...call }: SentCall): readonly FailedCall[] =>
  call.status === 'failed' ? [{ recipient: maskPhoneNumber(number), ...call }] : [];
