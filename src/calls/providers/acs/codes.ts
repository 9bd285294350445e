import { readSdkError, type Unanswered } from '../../../azure/sdk-error.ts';
import type { CallResult, Failure } from '../../model/call-event.ts';
import { type FailedRequest, PhoneLineError } from '../../model/phone-line.ts';

type Meaning = Pick<CallResult, 'failure' | 'reason' | 'operatorHint'>;

const NO_ANSWER: Meaning = { reason: 'no answer', failure: 'no_answer' };
const BUSY: Meaning = { reason: 'busy', failure: 'busy' };
const DECLINED: Meaning = { reason: 'declined', failure: 'declined' };
const INVALID: Meaning = { reason: 'invalid number', failure: 'refused' };
const NO_PERMISSION: Meaning = { reason: 'the phone service does not accept this app', failure: 'set_up' };
// A callee who blocks us and a number that may not call have the same codes.
const FORBIDDEN: Meaning = { reason: 'forbidden by the callee, or our number may not call', failure: 'forbidden' };
const SPEECH_ROLE =
  'the role Cognitive Services User of the Communication Services identity on the AI resource, and the custom subdomain of that resource';

/** Sub-codes that operators meet. */
const OF_SUB_CODE: ReadonlyMap<number, Meaning> = new Map([
  [560_480, NO_ANSWER],
  // Canceled by the network after it had rung for long enough.
  [10_004, NO_ANSWER],
  [10_024, DECLINED],
  [560_603, DECLINED],
  [560_486, BUSY],
  [560_484, INVALID],
  [7_504, NO_PERMISSION],
  [7_507, NO_PERMISSION],
  [10_105, { reason: 'the Teams bot may not call', failure: 'set_up' }],
  [510_403, FORBIDDEN],
  [560_403, FORBIDDEN],
  [511_532, { reason: 'the trunk is not set up', failure: 'set_up' }],
  [511_404, { reason: 'the Communication Services resource is not set up', failure: 'set_up' }],
  [8_516, { reason: 'throttled', failure: 'capacity' }],
  [8_522, { reason: 'call not found' }],
  [8_529, { reason: "the month's limit of calls is reached", failure: 'set_up' }],
  [8_530, { reason: 'no line is free', failure: 'capacity' }],
  // Speech that fails so may work at the next attempt: nothing is wrong with the number.
  [8_535, { reason: 'speech in a bad format' }],
  [8_536, { reason: 'speech could not be downloaded' }],
  [8_565, { reason: 'speech refused', failure: 'no_speech', operatorHint: SPEECH_ROLE }],
  [
    8_567,
    {
      reason: 'speech not configured',
      failure: 'no_speech',
      operatorHint: `ACS_COGNITIVE_SERVICES_ENDPOINT, then ${SPEECH_ROLE}`,
    },
  ],
]);

/** Used if the sub-code is unknown. */
const OF_CODE: ReadonlyMap<number, Meaning> = new Map([
  [403, FORBIDDEN],
  [404, { reason: 'number not found', failure: 'refused' }],
  [408, NO_ANSWER],
  [429, { reason: 'throttled', failure: 'capacity' }],
  [480, NO_ANSWER],
  [484, INVALID],
  [486, BUSY],
  [487, { reason: 'canceled' }],
  [603, DECLINED],
]);

const known = <Key>(meanings: ReadonlyMap<Key, Meaning>, key: Key | undefined): Meaning | undefined =>
  key === undefined ? undefined : meanings.get(key);

/**
 * The codes of an event → what they mean; the codes alone if that is not known or nothing failed.
 *
 * @example resultOf({ code: 480, subCode: 560480 }) // { code: 480, subCode: 560480, reason: 'no answer', failure: 'no_answer' }
 */
export const resultOf = (codes: Pick<CallResult, 'code' | 'subCode'>): CallResult => ({
  ...codes,
  ...(known(OF_SUB_CODE, codes.subCode) ?? known(OF_CODE, codes.code)),
});

/**
 * What the SDK threw → how the request failed.
 *
 * @param now in milliseconds since 1970, for a Retry-After that is a date
 */
export const failedRequest = (error: unknown, now: number): PhoneLineError => {
  const { status, code, retryAfterMs: waitMs, unanswered } = readSdkError(error, now);
  if (unanswered !== undefined) return new PhoneLineError(WITHOUT_ANSWER[unanswered]);
  const subCode = code !== undefined && /^\d{1,9}$/.test(code) ? Number(code) : undefined;
  // The status is that of HTTP: only the sub-code tells about the call.
  const meaning = known(OF_SUB_CODE, subCode);
  const ofStatus = failureOfStatus(status, waitMs);
  return new PhoneLineError({
    code: status,
    subCode,
    waitMs,
    reason: meaning?.reason ?? ofStatus.reason,
    operatorHint: meaning?.operatorHint,
    failure: failureOf(meaning?.failure, ofStatus.failure),
  });
};

const failureOf = (ofSubCode: Failure | undefined, ofStatus: Failure): Failure => {
  // Whatever the status, nothing was done.
  if (ofSubCode === 'no_speech' || ofSubCode === 'set_up' || ofSubCode === 'capacity') return ofSubCode;
  return ofStatus === 'rejected' && ofSubCode === 'refused' ? 'refused' : ofStatus;
};

const failureOfStatus = (
  status: number,
  waitMs: number | undefined,
): { readonly failure: Failure; readonly reason: string } => {
  // A 503 with Retry-After means that nothing was done. Without it, the answer may be a gateway's, which lost that of ACS.
  if (status === 429 || (status === 503 && waitMs !== undefined)) return { failure: 'capacity', reason: 'throttled' };
  if (status < 400) return { failure: 'unanswered', reason: 'unexpected answer' };
  if (status === 408 || status >= 500) return { failure: 'unanswered', reason: `answered ${status}` };
  if (status === 401) return { failure: 'set_up', reason: 'the phone service does not accept this app' };
  if (status === 403) return { failure: 'forbidden', reason: 'forbidden by the callee, or our number may not call' };
  if (status === 404 || status === 410) return { failure: 'gone', reason: 'not found' };
  return { failure: 'rejected', reason: `rejected (${status})` };
};

const WITHOUT_ANSWER: Readonly<Record<Unanswered, FailedRequest>> = {
  'no token': { failure: 'unreachable', reason: 'no token for the phone service' },
  'not connected': { failure: 'unreachable', reason: 'unreachable' },
  deadline: { failure: 'unanswered', reason: 'no answer in time' },
  'connection lost': { failure: 'unanswered', reason: 'connection lost' },
  // createCall throws a string if a 201 has no id: the call may well be ringing.
  unknown: { failure: 'unanswered', reason: 'unexpected answer' },
};

/** How a call request failed: its address is the resource's, so that most of what may be wrong with it is our set-up. */
export const failedCallRequest = (result: FailedRequest): FailedRequest => {
  if (result.failure === 'gone') return { ...result, failure: 'set_up', reason: 'there is no such phone service' };
  // Nobody could be spoken to.
  if (result.failure === 'no_speech') return { ...result, failure: 'set_up' };
  // There may be a call of this very request.
  return result.code === 409 ? { ...result, failure: 'unanswered' } : result;
};
