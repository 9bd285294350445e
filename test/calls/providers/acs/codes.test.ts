import { expect, it } from 'vitest';

import { failedCallRequest, failedRequest, resultOf } from '../../../../src/calls/providers/acs/codes.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');

/** The parts of the SDK's error for an answer that are read. */
const answered = (statusCode: number, code?: string, retryAfter?: string) =>
  Object.assign(new Error('a message with +12065550100 and accesskey=secret'), {
    name: 'RestError',
    statusCode,
    code,
    response: { headers: { get: (name: string) => (name === 'retry-after' ? retryAfter : undefined) } },
  });
const failed = (name: string, code?: string) => Object.assign(new Error('a message'), { name, code });

it.each([
  ['429 with a wait', answered(429, undefined, '7'), { failure: 'capacity', waitMs: 7_000 }],
  ['429 that does not say', answered(429), { failure: 'capacity', waitMs: undefined, reason: 'throttled' }],
  ['8529', answered(400, '8529'), { failure: 'set_up', reason: "the month's limit of calls is reached" }],
  ['503 with a wait', answered(503, undefined, '1'), { failure: 'capacity', waitMs: 1_000 }],
  ['503 alone', answered(503), { failure: 'unanswered', code: 503 }],
  ['500', answered(500), { failure: 'unanswered', code: 500 }],
  ['408', answered(408), { failure: 'unanswered', code: 408 }],
  ['a success that cannot be read', answered(201), { failure: 'unanswered', reason: 'unexpected answer' }],
  ['404/8522', answered(404, '8522'), { failure: 'gone', subCode: 8_522, reason: 'call not found' }],
  ['400', answered(400, 'BadRequest'), { failure: 'rejected', code: 400, reason: 'rejected (400)' }],
  ['401', answered(401), { failure: 'set_up', reason: 'the phone service does not accept this app' }],
  ['404/511404', answered(404, '511404'), { failure: 'set_up', subCode: 511_404 }],
  ['403 with another 85xx', answered(403, '8599'), { failure: 'forbidden', subCode: 8_599 }],
  ['403/560403', answered(403, '560403'), { failure: 'forbidden' }],
  ['403/7504', answered(403, '7504'), { failure: 'set_up' }],
  ['403/8516', answered(403, '8516'), { failure: 'capacity' }],
  ['410', answered(410), { failure: 'gone', code: 410 }],
  ['not connected', failed('RestError', 'ECONNREFUSED'), { failure: 'unreachable', reason: 'unreachable' }],
  ['no token', failed('CredentialUnavailableError'), { failure: 'unreachable' }],
  ['a broken connection', failed('RestError', 'ECONNRESET'), { failure: 'unanswered', reason: 'connection lost' }],
  ['a deadline', failed('AbortError'), { failure: 'unanswered', reason: 'no answer in time' }],
  // createCall throws a bare string if a 201 has no id.
  ['a string', 'callConnectionId is missing in createCall result', { failure: 'unanswered' }],
])('a failed request: %s', (_, error, expected) => {
  const failure = failedRequest(error, NOW);
  expect(failure.result).toMatchObject(expected);
  // Nothing of the SDK's message: it may hold keys and phone numbers.
  expect(JSON.stringify([failure.result, failure.message, failure.stack])).not.toMatch(/\+1206|secret/);
});

it.each([
  [400, undefined, 'rejected'],
  [400, '8567', 'set_up'],
  [400, '560484', 'refused'],
  [404, undefined, 'set_up'],
  [409, undefined, 'unanswered'],
  [403, undefined, 'forbidden'],
])('a call request that is answered %s/%s is %s', (status, code, failure) => {
  expect(failedCallRequest(failedRequest(answered(status, code), NOW).result).failure).toBe(failure);
});

const FORBIDDEN = 'forbidden by the callee, or our number may not call';
const NOT_ACCEPTED = 'the phone service does not accept this app';

it.each([
  [480, 560_480, 'no answer', 'no_answer'],
  [408, undefined, 'no answer', 'no_answer'],
  [487, 10_004, 'no answer', 'no_answer'],
  [487, 10_024, 'declined', 'declined'],
  [487, undefined, 'canceled', undefined],
  [603, 560_603, 'declined', 'declined'],
  [603, undefined, 'declined', 'declined'],
  [486, 560_486, 'busy', 'busy'],
  [486, 0, 'busy', 'busy'],
  [403, 510_403, FORBIDDEN, 'forbidden'],
  [403, 560_403, FORBIDDEN, 'forbidden'],
  [403, undefined, FORBIDDEN, 'forbidden'],
  [403, 7_504, NOT_ACCEPTED, 'set_up'],
  [403, 7_507, NOT_ACCEPTED, 'set_up'],
  [403, 10_105, 'the Teams bot may not call', 'set_up'],
  [403, 511_532, 'the trunk is not set up', 'set_up'],
  [404, 511_404, 'the Communication Services resource is not set up', 'set_up'],
  [404, undefined, 'number not found', 'refused'],
  [484, 560_484, 'invalid number', 'refused'],
  [429, undefined, 'throttled', 'capacity'],
  [403, 8_516, 'throttled', 'capacity'],
  [403, 8_529, "the month's limit of calls is reached", 'set_up'],
  [403, 8_530, 'no line is free', 'capacity'],
  [400, 8_535, 'speech in a bad format', undefined],
  [400, 8_536, 'speech could not be downloaded', undefined],
  [400, 8_565, 'speech refused', 'no_speech'],
  [400, 8_567, 'speech not configured', 'no_speech'],
  [200, 0, undefined, undefined],
  [undefined, undefined, undefined, undefined],
])('a call that ends with %s/%s: %s', (code, subCode, reason, failure) => {
  const found = resultOf({ code, subCode });
  expect([found.reason, found.failure]).toEqual([reason, failure]);
});
