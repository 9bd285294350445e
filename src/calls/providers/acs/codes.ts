import { readSdkError } from '../../../azure/sdk-error.ts';
import { type CallResult, type FailedRequest, type Failure } from '../../model/phone-provider.ts';
import {
  DECLINED,
  FAILURE_WITHOUT_ANSWER,
  failureOfStatus,
  INVALID,
  type Meaning,
  meaningOfNetwork,
  NO_ANSWER,
  NO_LINE,
  NOT_ACCEPTED,
  THROTTLED,
} from '../failures.ts';

const SPEECH_ROLE =
  'the role Cognitive Services User of the Communication Services identity on the AI resource, and the custom subdomain of that resource';

/** Sub-codes that say more than the code of the telephone network. */
const OF_SUB_CODE = new Map<number, Meaning>([
  // Canceled by the network after it had rung for long enough.
  [10_004, NO_ANSWER],
  [10_024, DECLINED],
  [560_484, INVALID],
  [7_504, NOT_ACCEPTED],
  [7_507, NOT_ACCEPTED],
  [10_105, { reason: 'the Teams bot may not call', failure: 'set_up' }],
  [511_532, { reason: 'the trunk is not set up', failure: 'set_up' }],
  [511_404, { reason: 'the Communication Services resource is not set up', failure: 'set_up' }],
  [8_516, THROTTLED],
  [8_522, { reason: 'call not found' }],
  [8_529, { reason: "the month's limit of calls is reached", failure: 'set_up' }],
  [8_530, NO_LINE],
  // After these two, speech may work at the next attempt: nothing is wrong with the number.
  [8_535, { reason: 'speech in a bad format' }],
  [8_536, { reason: 'speech could not be downloaded' }],
  [8_565, { reason: 'speech rejected', failure: 'no_speech', operatorHint: SPEECH_ROLE }],
  [
    8_567,
    {
      reason: 'speech not configured',
      failure: 'no_speech',
      operatorHint: `ACS_COGNITIVE_SERVICES_ENDPOINT, then ${SPEECH_ROLE}`,
    },
  ],
]);

/**
 * The codes of an event → what they mean; the codes alone if that is not known or nothing failed.
 *
 * @example resultOf({ code: 480, subCode: 560480 }) // { code: 480, subCode: 560480, reason: 'no answer', failure: 'no_answer' }
 */
export const resultOf = (codes: Pick<CallResult, 'code' | 'subCode'>): CallResult => ({
  ...codes,
  ...(OF_SUB_CODE.get(codes.subCode ?? 0) ?? meaningOfNetwork(codes.code)),
});

/**
 * An error of the SDK → the kind of failure of the request.
 *
 * @param now in milliseconds since 1970, for a Retry-After that is a date
 */
export const failedRequest = (error: unknown, now: number): FailedRequest => {
  const { status, code, retryAfterMs: waitMs, unanswered } = readSdkError(error, now);
  if (unanswered !== undefined) return FAILURE_WITHOUT_ANSWER[unanswered];
  const subCode = code !== undefined && /^\d{1,9}$/.test(code) ? Number(code) : undefined;
  // The status is the HTTP status: only the sub-code tells about the call.
  const meaning = OF_SUB_CODE.get(subCode ?? 0);
  const { failure, reason } = failureOfStatus(status, waitMs);
  return {
    code: status,
    subCode,
    waitMs,
    reason: meaning?.reason ?? reason,
    operatorHint: meaning?.operatorHint,
    failure: failureOf(meaning?.failure, failure),
  };
};

const failureOf = (ofSubCode: Failure | undefined, ofStatus: Failure): Failure => {
  // For any status, ACS did nothing.
  if (ofSubCode === 'no_speech' || ofSubCode === 'set_up' || ofSubCode === 'capacity') return ofSubCode;
  return ofStatus === 'rejected' && ofSubCode === 'refused' ? 'refused' : ofStatus;
};

/** How a call request failed: the address of the request is the resource's, so a 404 means a fault of our set-up. */
export const failedCallRequest = (result: FailedRequest): FailedRequest => {
  if (result.failure === 'gone') return { ...result, failure: 'set_up', reason: 'there is no such phone service' };
  // The call request has the address of the speech service.
  if (result.failure === 'no_speech') return { ...result, failure: 'set_up' };
  // ACS already knows the id of this request: an earlier try may have placed the call.
  return result.code === 409 ? { ...result, failure: 'unanswered' } : result;
};
