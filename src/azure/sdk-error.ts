import * as z from 'zod';

import { type AnswerHeaders, retryAfterMs } from '../retry-after.ts';

/** A failed request to an Azure service, in the parts that are safe to read: the SDK's message and request hold secrets. */
export type SdkFailure = AnsweredFailure | UnansweredFailure;

interface AnsweredFailure {
  /** The HTTP status. Below 400: the request succeeded, but the SDK could not read the answer. */
  readonly status: number;
  /** The service's own error code, such as `TableNotFound`. */
  readonly code: string | undefined;
  /** The wait that the answer asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly unanswered?: undefined;
}

interface UnansweredFailure {
  readonly status?: undefined;
  /** The system's error code, such as `ECONNREFUSED`. */
  readonly code: string | undefined;
  readonly retryAfterMs?: undefined;
  readonly unanswered: Unanswered;
}

/**
 * Why no answer came. After `no token` and `not connected` the request surely did not reach the service; `unknown`: the error is not
 * one of an SDK's request.
 */
export type Unanswered = 'no token' | 'not connected' | 'deadline' | 'connection lost' | 'unknown';

/** Errors of @azure/identity and of credential.ts. An `AuthenticationError` has the status of the identity service. */
const NO_TOKEN: ReadonlySet<string> = new Set([
  'TokenTimeout',
  'AuthenticationError',
  'AggregateAuthenticationError',
  'AuthenticationRequiredError',
  'CredentialUnavailableError',
]);

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]);

const hasGet = (value: unknown): value is AnswerHeaders =>
  typeof value === 'object' && value !== null && 'get' in value && typeof value.get === 'function';

const sdkErrorSchema = z.object({
  name: z.string().optional().catch(undefined),
  statusCode: z.number().int().optional().catch(undefined),
  code: z.string().optional().catch(undefined),
  // Table Storage's error code; `code` has it after a transaction only.
  details: z
    .object({ odataError: z.object({ code: z.string() }) })
    .optional()
    .catch(undefined),
  response: z
    .object({ headers: z.custom<AnswerHeaders>(hasGet) })
    .optional()
    .catch(undefined),
});

/**
 * Reads what a client of an Azure SDK threw. Takes anything: the SDKs throw bare strings too.
 *
 * @param now in milliseconds since 1970, for a Retry-After that is a date
 */
export const readSdkError = (error: unknown, now = Date.now()): SdkFailure => {
  const parsed = sdkErrorSchema.safeParse(error);
  if (!parsed.success) return { code: undefined, unanswered: 'unknown' };
  const { name = '', statusCode, details, response } = parsed.data;
  const code = details?.odataError.code ?? parsed.data.code;
  if (NO_TOKEN.has(name)) return { code, unanswered: 'no token' };
  if (statusCode !== undefined) {
    return { status: statusCode, code, retryAfterMs: response && retryAfterMs(response.headers, now) };
  }
  if (name === 'AbortError' || name === 'TimeoutError') return { code, unanswered: 'deadline' };
  if (code !== undefined && NOT_CONNECTED.has(code)) return { code, unanswered: 'not connected' };
  return { code, unanswered: name === 'RestError' ? 'connection lost' : 'unknown' };
};
