import { readSdkError, type Unanswered } from '../../azure/sdk-error.ts';
import type { ResultCodes } from '../call-event.ts';
import { PhoneLineError, type PhoneLineFailure } from '../phone-line.ts';
import { meaningOfResult } from './result-meaning.ts';

/** A failed request to ACS. */
export interface AcsFailure extends ResultCodes {
  readonly kind: PhoneLineFailure;
  /** In words, safe to log and to answer. */
  readonly reason: string;
  /** How long ACS asked to wait, in milliseconds. */
  readonly waitMs?: number | undefined;
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
  const throttled =
    status === 429 ||
    meaningOfResult({ subCode }).meaning === 'throttled' ||
    // A 503 with Retry-After means that nothing was done. Without it, the answer may be a gateway's, which lost that of ACS.
    (status === 503 && retryAfterMs !== undefined);
  if (throttled) return { kind: 'throttled', reason: 'throttled', waitMs: retryAfterMs, ...codes };
  if (status === 404) return { kind: 'gone', reason: meaningOfResult(codes).reason ?? 'not found', ...codes };
  if (status === 408 || status >= 500) return { kind: 'unanswered', reason: `answered ${status}`, code: status };
  if (status < 400) return { kind: 'unanswered', reason: 'unexpected answer', code: status };
  return { kind: 'refused', reason: reasonOfRefusal(status, subCode), ...codes };
};

const FAILURE_WITHOUT_ANSWER: Readonly<Record<Unanswered, AcsFailure>> = {
  'no token': { kind: 'not sent', reason: 'no token for the phone service' },
  'not connected': { kind: 'not sent', reason: 'unreachable' },
  deadline: { kind: 'unanswered', reason: 'no answer in time' },
  'connection lost': { kind: 'unanswered', reason: 'connection lost' },
  // createCall throws a string where a 201 has no id: the call may well be ringing.
  unknown: { kind: 'unanswered', reason: 'unexpected answer' },
};

// The status of a refused request is HTTP's: only the sub-code has a meaning for the call.
const reasonOfRefusal = (status: number, subCode: number | undefined): string =>
  meaningOfResult({ subCode }).reason ??
  (status === 401 || status === 403 ? 'the phone service does not accept this app' : `refused (${status})`);

/** A failed request to ACS as the error of the PhoneLine port. */
export const phoneLineError = (failure: AcsFailure): PhoneLineError =>
  new PhoneLineError(failure.kind, failure.reason, failure);
