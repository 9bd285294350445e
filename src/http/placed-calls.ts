import * as z from 'zod';

import type { Sent } from '../calls/notifications.ts';
import { PHONE_NUMBER_PATTERN, type PhoneNumber } from '../calls/phone-number.ts';
import type { Recipient } from '../calls/recipient-state.ts';
import { PHONE_PROBLEMS } from './phone-off.ts';
import { Problem } from './problem.ts';
import { NOT_A_NUMBER } from './recipients.ts';
import { type Answers, type ProblemAnswers, problemMembers, RETRY_AFTER } from './route/answers.ts';

const recipient = z.string().regex(PHONE_NUMBER_PATTERN);
const reason = z.string().min(1).describe('In words.');

/** What became of the call to one recipient. */
const outcomeSchema = z.discriminatedUnion('status', [
  z.strictObject({ recipient, status: z.literal('placed'), call_connection_id: z.string().min(1) }),
  z.strictObject({ recipient, status: z.literal('waiting'), reason }),
  z.strictObject({ recipient, status: z.literal('failed'), reason }),
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
const WAITING = { recipient: '+12065550101', status: 'waiting', reason: 'throttled' };
const FAILED = { recipient: '+12065550102', status: 'failed', reason: 'refused (400)' };

/** What every request that places calls answers. */
export const CALLS_ANSWERS = {
  202: {
    description:
      'Written down; somebody is called, or will be. One outcome per recipient, in their order: `waiting` is called as soon as it can be, `failed` never. None stops the others.',
    schema: z.strictObject({ notification_id: notificationId, calls: outcomesSchema }).meta({ id: 'Calls' }),
    examples: {
      placed: { notification_id: ID, calls: [PLACED] },
      'one of each': { notification_id: ID, calls: [PLACED, WAITING, FAILED] },
    },
  },
} as const satisfies Answers;

const KEY_USED = 'This Idempotency-Key was used for another request in the last 24 hours.';

/** The problem of a key that belongs to another request. */
export const KEY_PROBLEM = {
  422: { description: 'The `Idempotency-Key` belongs to another request. Nobody was called.', detail: KEY_USED },
} as const satisfies ProblemAnswers;

const dayLimitDetail = (callsLeft: number, until: string): string =>
  `The calls of this UTC day do not suffice: ${callsLeft} are left until ${until} (CALLS_PER_DAY). Nobody was called.`;

/** The problems of every request that places calls. */
export const CALLS_PROBLEMS = {
  400: {
    description: 'The request is wrong. A wrong phone number is named by its index. Nobody was called.',
    detail: `recipient 1 ${NOT_A_NUMBER}`,
    errors: [{ index: 1, detail: NOT_A_NUMBER }],
  },
  429: {
    description: 'More calls than `CALLS_PER_DAY` leaves. Nobody was called.',
    headers: RETRY_AFTER,
    detail: dayLimitDetail(0, '2026-11-22T00:00:00.000Z'),
  },
  502: {
    description: 'Nobody can be called; `calls` says why.',
    schema: z
      .strictObject({ ...problemMembers, notification_id: notificationId.optional(), calls: outcomesSchema.optional() })
      .meta({ id: 'CallsProblem' }),
    detail: 'The call could not be placed.',
    extensions: { notification_id: ID, calls: [FAILED] },
  },
  ...PHONE_PROBLEMS,
} as const satisfies ProblemAnswers;

/**
 * The answer to a request that places calls.
 *
 * @throws {Problem} 502 with the same outcomes where nobody can be called, 422 and 429
 */
export const callsAnswer = (numbers: readonly PhoneNumber[], sent: Sent) => {
  if (sent.kind === 'key of another request') throw new Problem(422, { detail: KEY_USED });
  if (sent.kind === 'no calls left') {
    const seconds = Math.max(1, Math.ceil((sent.until - Date.now()) / 1_000));
    const detail = dayLimitDetail(sent.callsLeft, new Date(sent.until).toISOString());
    throw new Problem(429, { detail, headers: { 'retry-after': String(seconds) } });
  }
  const calls = numbers.map((number, index) => outcomeOf(number, sent.recipients[index]));
  const body = { notification_id: sent.id, calls };
  if (calls.some((call) => call.status !== 'failed')) return { status: 202 as const, jsonBody: body };
  throw new Problem(502, {
    detail: calls.length === 1 ? 'The call could not be placed.' : `None of the ${calls.length} calls could be placed.`,
    extensions: body,
  });
};

const NOT_YET = 'not dialled yet';

/** The last call, or why there is none. A repeated request finds later states too. */
const outcomeOf = (number: PhoneNumber, known: Recipient | undefined): z.output<typeof outcomeSchema> => {
  const last = known?.attempts.at(-1);
  const called = known?.attempts.findLast(({ callId }) => callId !== undefined);
  if (known?.state !== 'failed' && called?.callId !== undefined) {
    return { recipient: number, status: 'placed', call_connection_id: called.callId };
  }
  const isOver = known?.state === 'failed' || known?.state === 'not_reached';
  const why = known?.reason ?? last?.reason ?? NOT_YET;
  return { recipient: number, status: isOver ? 'failed' : 'waiting', reason: why };
};
