import type { Unanswered } from '../../azure/sdk-error.ts';
import type { CallResult, FailedRequest } from '../model/phone-provider.ts';

// The common part of the codes of all providers.

/** The meaning of a code. */
export type Meaning = Pick<CallResult, 'failure' | 'reason' | 'operatorHint'>;

type KnownFailure = Pick<FailedRequest, 'failure' | 'reason'>;

export const NO_ANSWER: KnownFailure = { reason: 'no answer', failure: 'no_answer' };
export const BUSY: KnownFailure = { reason: 'busy', failure: 'busy' };
export const DECLINED: KnownFailure = { reason: 'declined', failure: 'declined' };
export const INVALID: KnownFailure = { reason: 'invalid number', failure: 'refused' };
export const NO_LINE: KnownFailure = { reason: 'no line is free', failure: 'capacity' };
export const THROTTLED: KnownFailure = { reason: 'throttled', failure: 'capacity' };
export const NOT_ACCEPTED: KnownFailure = { reason: 'the phone service does not accept this app', failure: 'set_up' };
/** A callee who blocks us and a number that may not call have the same codes. */
const FORBIDDEN: KnownFailure = { reason: 'forbidden by the callee, or our number may not call', failure: 'forbidden' };

/** The codes of the telephone network (SIP). */
const OF_NETWORK = new Map<number, Meaning>([
  [403, FORBIDDEN],
  [404, { reason: 'number not found', failure: 'refused' }],
  [408, NO_ANSWER],
  [429, THROTTLED],
  [480, NO_ANSWER],
  [484, INVALID],
  [486, BUSY],
  [487, { reason: 'canceled' }],
  [600, BUSY],
  [603, DECLINED],
  [607, FORBIDDEN],
  [608, FORBIDDEN],
]);

/** The code with which the telephone network ended a call → what it means; undefined if that is not known. */
export const meaningOfNetwork = (code = 0): Meaning | undefined => OF_NETWORK.get(code);

/**
 * How a request failed, by its HTTP status alone.
 *
 * @param waitMs how long the answer asks to wait
 */
export const failureOfStatus = (status: number, waitMs: number | undefined): KnownFailure => {
  // A 503 with Retry-After means that the provider did nothing. Without it, a gateway may have lost the provider's answer.
  if (status === 429 || (status === 503 && waitMs !== undefined)) return THROTTLED;
  if (status < 400) return { failure: 'unanswered', reason: 'unexpected answer' };
  if (status === 408 || status >= 500) return { failure: 'unanswered', reason: `answered ${status}` };
  if (status === 401) return NOT_ACCEPTED;
  if (status === 403) return FORBIDDEN;
  if (status === 404 || status === 410) return { failure: 'gone', reason: 'not found' };
  return { failure: 'rejected', reason: `rejected (${status})` };
};

/** How a request failed that was not answered. */
export const FAILURE_WITHOUT_ANSWER: Readonly<Record<Unanswered, FailedRequest>> = {
  'no token': { failure: 'unreachable', reason: 'no token for the phone service' },
  'not connected': { failure: 'unreachable', reason: 'unreachable' },
  deadline: { failure: 'unanswered', reason: 'no answer in time' },
  'connection lost': { failure: 'unanswered', reason: 'connection lost' },
  // The SDK of ACS throws a string if a 201 has no id: the call may well be ringing.
  unknown: { failure: 'unanswered', reason: 'unexpected answer' },
};
