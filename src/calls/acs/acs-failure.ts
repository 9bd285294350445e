import * as z from 'zod';

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

/** System errors that come before a connection stands. */
const NEVER_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]);

/** What @azure/identity throws where it has no token: nothing was sent to ACS. */
const NO_TOKEN: ReadonlySet<string> = new Set([
  'AuthenticationError',
  'AggregateAuthenticationError',
  'AuthenticationRequiredError',
  'CredentialUnavailableError',
]);

interface Headers {
  get(name: string): string | undefined;
}

const hasGet = (value: unknown): value is Headers =>
  typeof value === 'object' && value !== null && 'get' in value && typeof value.get === 'function';

/** The parts of the SDK's RestError that are safe to read. Its message and its request hold keys and phone numbers. */
const sdkErrorSchema = z.object({
  name: z.string().optional().catch(undefined),
  statusCode: z.number().int().optional().catch(undefined),
  code: z.string().optional().catch(undefined),
  response: z
    .object({ headers: z.custom<Headers>(hasGet) })
    .optional()
    .catch(undefined),
});

/**
 * Whatever the SDK threw → what is known of the request's fate. Takes anything: the SDK throws bare strings too.
 *
 * @param now in milliseconds since 1970, for a Retry-After that is a date
 */
export const judgeAcsError = (error: unknown, now: number): AcsFailure => {
  const parsed = sdkErrorSchema.safeParse(error);
  // createCall throws a bare string where a 201 carries no id: the call may well be on its way.
  if (!parsed.success) return { kind: 'unclear', reason: 'unexpected answer' };
  const { name, statusCode, code, response } = parsed.data;
  if (name !== undefined && NO_TOKEN.has(name)) return { kind: 'not sent', reason: 'no token for the phone service' };
  if (statusCode === undefined) return judgeWithoutAnswer(name, code);

  const subCode = code !== undefined && /^\d{1,9}$/.test(code) ? Number(code) : undefined;
  const result = { code: statusCode, ...(subCode === undefined ? {} : { subCode }) };
  const waitMs = response === undefined ? undefined : retryAfterMs(response.headers, now);
  const throttled =
    statusCode === 429 ||
    (subCode !== undefined && THROTTLING_SUB_CODES.has(subCode)) ||
    // With Retry-After, a 503 says that nothing was done; without, a gateway may have lost the answer.
    (statusCode === 503 && waitMs !== undefined);
  if (throttled) return { kind: 'throttled', waitMs, ...result };
  if (statusCode === 404) return { kind: 'gone', ...result };
  if (statusCode === 408 || statusCode >= 500)
    return { kind: 'unclear', reason: `answered ${statusCode}`, code: statusCode };
  if (statusCode < 400) return { kind: 'unclear', reason: 'unexpected answer', code: statusCode };
  return { kind: 'refused', ...result };
};

const judgeWithoutAnswer = (name: string | undefined, code: string | undefined): AcsFailure => {
  if (name === 'AbortError' || name === 'TimeoutError') return { kind: 'unclear', reason: 'no answer in time' };
  if (code !== undefined && NEVER_CONNECTED.has(code)) return { kind: 'not sent', reason: 'unreachable' };
  return { kind: 'unclear', reason: 'connection lost' };
};

/** The wait that an answer's headers ask for, in milliseconds: seconds, a date, or Azure's own headers in milliseconds. */
const retryAfterMs = (headers: Headers, now: number): number | undefined => {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const value = headers.get(name)?.trim() ?? '';
    if (/^\d{1,9}$/.test(value)) return Number(value);
  }
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
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
