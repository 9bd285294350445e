import { readSdkError, type Unanswered } from '../../azure/sdk-error.ts';
import { PhoneLineError } from '../phone-line.ts';
import { reasonInWords, THROTTLING_SUB_CODES } from './result-reason.ts';

/** How one request to ACS went wrong, told from what its SDK threw. */
export type AcsFailure =
  /** ACS asks to slow down: it did nothing. `waitMs` is how long it said to wait. */
  | {
      readonly kind: 'throttled';
      readonly waitMs: number | undefined;
      readonly code: number;
      readonly subCode?: number;
    }
  /** The request surely never reached ACS. */
  | { readonly kind: 'not sent'; readonly reason: string }
  /** No answer, or one that does not tell: ACS may have acted. */
  | { readonly kind: 'unclear'; readonly reason: string; readonly code?: number }
  /** ACS does not know the call (any more). */
  | { readonly kind: 'gone'; readonly code: number; readonly subCode?: number }
  /** ACS refused: it did nothing and never will. */
  | { readonly kind: 'refused'; readonly code: number; readonly subCode?: number };

/**
 * Whatever the SDK threw → what is known of the request's fate.
 *
 * @param now in milliseconds since 1970, for a Retry-After that is a date
 */
export const judgeAcsError = (error: unknown, now: number): AcsFailure => {
  const { status, code, retryAfterMs: waitMs, unanswered } = readSdkError(error, now);
  if (unanswered !== undefined) return judgeUnanswered(unanswered);
  const subCode = code !== undefined && /^\d{1,9}$/.test(code) ? Number(code) : undefined;
  const result = { code: status, ...(subCode === undefined ? {} : { subCode }) };
  const throttled =
    status === 429 ||
    (subCode !== undefined && THROTTLING_SUB_CODES.has(subCode)) ||
    // With Retry-After, a 503 says that nothing was done; without, a gateway may have lost the answer.
    (status === 503 && waitMs !== undefined);
  if (throttled) return { kind: 'throttled', waitMs, ...result };
  if (status === 404) return { kind: 'gone', ...result };
  if (status === 408 || status >= 500) return { kind: 'unclear', reason: `answered ${status}`, code: status };
  if (status < 400) return { kind: 'unclear', reason: 'unexpected answer', code: status };
  return { kind: 'refused', ...result };
};

const judgeUnanswered = (unanswered: Unanswered): AcsFailure => {
  switch (unanswered) {
    case 'no token':
      return { kind: 'not sent', reason: 'no token for the phone service' };
    case 'not connected':
      return { kind: 'not sent', reason: 'unreachable' };
    case 'deadline':
      return { kind: 'unclear', reason: 'no answer in time' };
    case 'connection lost':
      return { kind: 'unclear', reason: 'connection lost' };
    case 'unknown':
      // createCall throws a bare string where a 201 carries no id: the call may well be ringing.
      return { kind: 'unclear', reason: 'unexpected answer' };
  }
};

/** A failure as the phone line's own error, in words and codes alone. */
export const phoneLineError = (failure: AcsFailure): PhoneLineError => {
  switch (failure.kind) {
    case 'throttled':
      return new PhoneLineError('throttled', 'throttled', failure);
    case 'not sent':
      return new PhoneLineError('refused', failure.reason);
    case 'unclear':
      return new PhoneLineError('unanswered', failure.reason, failure.code === undefined ? {} : { code: failure.code });
    case 'gone':
      return new PhoneLineError('gone', reasonInWords(failure) ?? 'not found', failure);
    case 'refused':
      return new PhoneLineError('refused', reasonOfRefusal(failure), failure);
  }
};

// The codes of a refused request are HTTP's: only the sub-codes have a telephone's meaning.
const reasonOfRefusal = ({ code, subCode }: { code: number; subCode?: number }): string =>
  (subCode === undefined ? undefined : reasonInWords({ subCode })) ??
  (code === 401 || code === 403 ? 'the phone service does not accept this app' : `refused (${code})`);
