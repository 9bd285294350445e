import { expect, it } from 'vitest';

import { failedRequest, resultOf } from '../../../../src/calls/providers/acs/codes.ts';

const failed = (name: string, code?: string) => Object.assign(new Error('a message'), { name, code });

// `acs-provider.test.ts` has the requests that are answered.
it.each([
  ['no token', failed('CredentialUnavailableError'), { failure: 'unreachable' }],
  ['a broken connection', failed('RestError', 'ECONNRESET'), { failure: 'unanswered', reason: 'connection lost' }],
  ['a deadline', failed('AbortError'), { failure: 'unanswered', reason: 'no answer in time' }],
  // createCall throws a bare string if a 201 has no id.
  ['a string', 'callConnectionId is missing in createCall result', { failure: 'unanswered' }],
])('a request that is not answered: %s', (_, error, expected) => {
  expect(failedRequest(error, 0)).toMatchObject(expected);
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
  [400, 8_565, 'speech rejected', 'no_speech'],
  [400, 8_567, 'speech not configured', 'no_speech'],
  [200, 0, undefined, undefined],
  [undefined, undefined, undefined, undefined],
])('a call that ends with %s/%s: %s', (code, subCode, reason, failure) => {
  const found = resultOf({ code, subCode });
  expect([found.reason, found.failure]).toEqual([reason, failure]);
});
