import { readSdkError, type Unanswered } from '../../../azure/sdk-error.ts';
import { PhoneLineError, type PhoneLineFailure } from '../../model/phone-line.ts';
import { meaningOfResult } from './result-meaning.ts';

/**
 * What the SDK threw → how the request failed.
 *
 * @param now in milliseconds since 1970, for a Retry-After that is a date
 */
export const judgeAcsError = (error: unknown, now: number): PhoneLineError => {
  const { status, code, retryAfterMs, unanswered } = readSdkError(error, now);
  if (unanswered !== undefined) return new PhoneLineError(...FAILURE_WITHOUT_ANSWER[unanswered]);
  const subCode = code !== undefined && /^\d{1,9}$/.test(code) ? Number(code) : undefined;
  const { meaning, reason, lookAt } = meaningOfResult({ subCode });
  const failed = (failure: PhoneLineFailure, words: string): PhoneLineError =>
    new PhoneLineError(failure, reason ?? words, { code: status, subCode, lookAt, waitMs: retryAfterMs });
  if (meaning === 'no_speech') return failed('no speech', 'speech not available');
  if (meaning === 'set_up') return failed('set-up', NOT_ACCEPTED);
  // A 503 with Retry-After means that nothing was done. Without it, the answer may be a gateway's, which lost that of ACS.
  const isThrottled = status === 429 || meaning === 'no_line' || (status === 503 && retryAfterMs !== undefined);
  if (isThrottled) return failed('throttled', 'throttled');
  if (status === 404 || status === 410) return failed('gone', 'not found');
  if (status === 408 || status >= 500) return new PhoneLineError('unanswered', `answered ${status}`, { code: status });
  if (status < 400) return new PhoneLineError('unanswered', 'unexpected answer', { code: status });
  if (status === 401) return failed('set-up', NOT_ACCEPTED);
  if (status === 403) return failed('forbidden', meaningOfResult({ code: status }).reason ?? 'forbidden');
  // The status of a refused request is HTTP's: only the sub-code has a meaning for the call.
  return failed('refused', `refused (${status})`);
};

const NOT_ACCEPTED = 'the phone service does not accept this app';

const FAILURE_WITHOUT_ANSWER: Readonly<Record<Unanswered, readonly [PhoneLineFailure, reason: string]>> = {
  'no token': ['not sent', 'no token for the phone service'],
  'not connected': ['not sent', 'unreachable'],
  deadline: ['unanswered', 'no answer in time'],
  'connection lost': ['unanswered', 'connection lost'],
  // createCall throws a string where a 201 has no id: the call may well be ringing.
  unknown: ['unanswered', 'unexpected answer'],
};

/**
 * How a request to place a call failed. Its address is the resource's, and most of what may be wrong with it is ours: only what is known to be
 * about the callee is final for them.
 */
export const callFailure = (error: PhoneLineError): PhoneLineError => {
  const { failure, code, subCode, reason } = error;
  // There is no such resource, or not any more.
  if (failure === 'gone') return new PhoneLineError('set-up', 'there is no such phone service', error);
  // Nobody could be spoken to.
  if (failure === 'no speech') return new PhoneLineError('set-up', reason, error);
  if (failure !== 'refused' || meaningOfResult({ subCode }).meaning === 'refused') return error;
  // There may be a call of this very request.
  return new PhoneLineError(code === 409 ? 'unanswered' : 'rejected', reason, error);
};
