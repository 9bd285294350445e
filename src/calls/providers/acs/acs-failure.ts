import { readSdkError, type Unanswered } from '../../../azure/sdk-error.ts';
import type { ResultCodes } from '../../model/call-event.ts';
import { PhoneLineError, type PhoneLineFailure } from '../../model/phone-line.ts';
import { meaningOfResult } from './result-meaning.ts';

/** A failed request to ACS. */
export interface AcsFailure extends ResultCodes {
  readonly kind: PhoneLineFailure;
  /** In words, safe to log and to answer. */
  readonly reason: string;
  /** How long ACS asked to wait, in milliseconds. */
  readonly waitMs?: number | undefined;
  /** What an operator is to look at. */
  readonly lookAt?: string | undefined;
}

/**
 * What the SDK threw → how the request failed.
 *
 * @param now in milliseconds since 1970, for a Retry-After that is a date
 */
export const judgeAcsError = (error: unknown, now: number): AcsFailure => {
  const { status, code, retryAfterMs, unanswered } = readSdkError(error, now);
  if (unanswered !== undefined) return FAILURE_WITHOUT_ANSWER[unanswered];
  const subCode = code !== undefined && /^\d{1,9}$/.test(code) ? Number(code) : undefined;
  const codes = { code: status, subCode };
  const { meaning, reason, lookAt } = meaningOfResult({ subCode });
  // A 503 with Retry-After means that nothing was done. Without it, the answer may be a gateway's, which lost that of ACS.
  const isThrottled = status === 429 || meaning === 'no_line' || (status === 503 && retryAfterMs !== undefined);
  if (meaning === 'no_speech') return { kind: 'no speech', reason: reason ?? 'speech not available', lookAt, ...codes };
  if (meaning === 'set_up') return { kind: 'set-up', reason: reason ?? NOT_ACCEPTED, ...codes };
  if (isThrottled) return { kind: 'throttled', reason: reason ?? 'throttled', waitMs: retryAfterMs, ...codes };
  if (status === 404 || status === 410) return { kind: 'gone', reason: reason ?? 'not found', ...codes };
  if (status === 408 || status >= 500) return { kind: 'unanswered', reason: `answered ${status}`, code: status };
  if (status < 400) return { kind: 'unanswered', reason: 'unexpected answer', code: status };
  if (status === 401) return { kind: 'set-up', reason: reason ?? NOT_ACCEPTED, ...codes };
  if (status === 403)
    return { kind: 'forbidden', reason: reason ?? meaningOfResult(codes).reason ?? 'forbidden', ...codes };
  // The status of a refused request is HTTP's: only the sub-code has a meaning for the call.
  return { kind: 'refused', reason: reason ?? `refused (${status})`, ...codes };
};

const NOT_ACCEPTED = 'the phone service does not accept this app';

const FAILURE_WITHOUT_ANSWER: Readonly<Record<Unanswered, AcsFailure>> = {
  'no token': { kind: 'not sent', reason: 'no token for the phone service' },
  'not connected': { kind: 'not sent', reason: 'unreachable' },
  deadline: { kind: 'unanswered', reason: 'no answer in time' },
  'connection lost': { kind: 'unanswered', reason: 'connection lost' },
  // createCall throws a string where a 201 has no id: the call may well be ringing.
  unknown: { kind: 'unanswered', reason: 'unexpected answer' },
};

/** A failed request to ACS as the error of the PhoneLine port. */
export const phoneLineError = (failure: AcsFailure): PhoneLineError =>
  new PhoneLineError(failure.kind, failure.reason, failure);

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
