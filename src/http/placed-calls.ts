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

/** What became of the call to one recipient. */
const outcomeSchema = z.discriminatedUnion('status', [
  z.object({ recipient, status: z.literal('placed'), call_connection_id: z.string().min(1) }),
  z.object({ recipient, status: z.literal('waiting'), code: codeSchema, reason, since }),
  z.object({ recipient, status: z.literal('failed'), code: codeSchema, reason }),
]);

/** One outcome per recipient, in the order of the request. */
const outcomesSchema = z.array(outcomeSchema).min(1).max(50);

const notificationId = z.string().describe('For `GET /api/notifications/{id}`.');

const ID = 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de';
const PLACED = {
  recipient: '+12065550100',
  status: 'placed',
  call_connection_id: '401f2d00-5d56-4d8a-b1e3-0242ac120002',
};
const WAITING = {
  recipient: '+12065550101',
  status: 'waiting',
  code: 'line',
  reason: 'no line is free',
  since: '2026-11-21T08:00:02.500Z',
};
const FAILED = { recipient: '+12065550102', status: 'failed', code: 'refused', reason: 'invalid number' };

/** What every request that places calls answers. */
export const CALLS_ANSWERS = {
  202: {
    description:
      'Written down; somebody is called, or will be. One outcome per recipient, in their order: `waiting` is called as soon as it can be, `failed` never. None stops the others.',
    schema: z.object({ notification_id: notificationId, calls: outcomesSchema }).meta({ id: 'Calls' }),
    examples: {
      placed: { notification_id: ID, calls: [PLACED] },
      'one of each': { notification_id: ID, calls: [PLACED, WAITING, FAILED] },
    },
  },
} as const satisfies Answers;

/** The problems of every request that places calls. */
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
 * @throws {Problem} 502 with the same outcomes if nobody can be called; 422 if the numbers, our own policy, the key or the waves forbid it
 */
export const callsAnswer = (sent: Sent) => {
  switch (sent.kind) {
    case 'key of another request':
      throw new Problem('key_reused');
    case 'waves too late':
      throw new Problem('waves_too_late');
    case 'refused': {
      const calls = sent.calls.map(maskedFailure);
      const areImpossible = calls.every(({ code }) => code === 'impossible_number');
      throw new Problem(areImpossible ? 'impossible_number' : 'nobody_allowed', { extensions: { calls } });
    }
    case 'sent': {
      const calls = sent.calls.map(answerOf);
      const body = { notification_id: sent.id, calls };
      if (calls.some((call) => call.status !== 'failed')) return { status: 202 as const, jsonBody: body };
      const detail =
        calls.length === 1 ? 'The call could not be placed.' : `None of the ${calls.length} calls could be placed.`;
      throw new Problem('nobody_callable', { detail, extensions: { ...body, calls: sent.calls.map(maskedFailure) } });
    }
  }
};

const answerOf = (call: SentCall): z.output<typeof outcomeSchema> => {
  const { recipient: number, status } = call;
  if (status === 'placed') return { recipient: number, status, call_connection_id: call.callId };
  const { code, reason: words } = call;
  if (status === 'failed') return { recipient: number, status, code, reason: words };
  return { recipient: number, status, code, reason: words, since: new Date(call.since).toISOString() };
};

/** A problem is logged and passed on, so the number is masked. */
const maskedFailure = (call: SentCall): FailedCall => ({
  recipient: maskPhoneNumber(call.recipient),
  status: 'failed',
  code: call.status === 'failed' ? call.code : 'refused',
  reason: call.status === 'placed' ? 'placed' : call.reason,
});
