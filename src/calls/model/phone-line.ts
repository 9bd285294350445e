import type { AlertType } from './alert-types.ts';
import type { AttemptRef, SpeechRef } from './call-context.ts';
import type { ResultCodes } from './call-event.ts';
import type { CallId } from './ids.ts';
import type { PhoneNumber } from './phone-number.ts';

/**
 * A line to the telephone network. The one implementation must be replaceable: the numbers that it calls from retire on 30 September 2028.
 * Every method ends within its bounds and throws nothing but {@link PhoneLineError}.
 */
export interface PhoneLine {
  /** A short word that is kept with every attempt: an attempt of another line than the present one cannot go on. */
  readonly name: string;
  /** Whether the same call request again places no second call. Where it may, nothing is sent again before {@link PhoneLine.find} has looked. */
  readonly isIdempotent: boolean;
  /** Whether a line that is not free always says so by a code of its own: then a decline is always the callee's. */
  readonly refusesSurely: boolean;
  /** How many calls the account may start a second; undefined: as many as there are lines. */
  readonly callsPerSecond?: number | undefined;

  /**
   * Places a call, within {@link LONGEST_REQUEST_MS}. What becomes of it is posted to the alert type's callback path,
   * {@link LONGEST_RINGING_MS} later at the latest where nobody answers. The same request again places no second call if
   * the line is idempotent.
   */
  call(request: CallRequest): Promise<CallId>;

  /**
   * The calls to a number that the line knows since a time, the oldest first, within {@link LONGEST_REQUEST_MS}. Only of a line that is not
   * idempotent.
   *
   * @param since in milliseconds since 1970
   */
  find?(number: PhoneNumber, since: number): Promise<readonly CallId[]>;

  /**
   * Starts to speak a text into a connected call, within {@link LONGEST_REQUEST_MS}. Repeated only where the first request surely had no
   * effect, so that nobody hears the text twice. A speech after the message ends what is being spoken.
   *
   * @param speech comes back with the events about the speech; undefined: the message of a call that another system placed
   * @param hasKeys whether keys are listened for meanwhile
   * @returns `started` if it is being spoken now: no event says so then
   */
  speak(callId: CallId, text: string, speech?: SpeechRef, hasKeys?: boolean): Promise<'started' | undefined>;

  /**
   * Starts to listen for keys that the callee presses, beside what is spoken and after it, within {@link LONGEST_REQUEST_MS}. Asked once a
   * call, with the message.
   *
   * @param attempt comes back with the events about keys
   */
  listen(callId: CallId, number: PhoneNumber, attempt: AttemptRef): Promise<void>;

  /** Nothing is spoken any more, and keys are still waited for. Only of a line that must be told what to do then. */
  waitForKeys?(callId: CallId): Promise<void>;

  /** Ends a call for everyone, ringing or answered, within {@link LONGEST_REQUEST_MS}. Succeeds if the call has ended already. */
  hangUp(callId: CallId): Promise<void>;
}

/** A request to call somebody. */
export interface CallRequest {
  readonly number: PhoneNumber;
  readonly alertType: AlertType;
  /** Comes back with every event of the call. Its id makes the request one request, however often it is sent. */
  readonly attempt: AttemptRef;
  /** When the request was first sent, in milliseconds since 1970. */
  readonly firstSentAt: number;
  /** The base of the callback paths, without a slash at its end; undefined: the line's own. */
  readonly callbackBaseUrl?: string | undefined;
}

/** How long a callee's phone rings at most, in milliseconds. */
export const LONGEST_RINGING_MS = 115_000;

/** How long a request to the line takes at most, retries and waiting included, in milliseconds. */
export const LONGEST_REQUEST_MS = 15_000;

/**
 * How a request to the line failed.
 * - `throttled`: surely not done now; no line is free, or the line asks to slow down;
 * - `not sent`: surely not done: the line could not be reached;
 * - `set-up`: surely not done: our credential, permission, resource or month's limit. Passes when somebody has mended it;
 * - `forbidden`: surely not done: the callee's network refuses us, or our caller may not call at all;
 * - `no speech`: surely not done: speech is not available. Passes when somebody has mended it;
 * - `rejected`: surely not done, and it is not known why: asking again may help;
 * - `refused`: surely not done, and calling this number again is of no use;
 * - `unanswered`: no usable answer; it may have been done;
 * - `gone`: the call does not exist (any more).
 */
export type PhoneLineFailure =
  'throttled' | 'not sent' | 'set-up' | 'forbidden' | 'no speech' | 'rejected' | 'refused' | 'unanswered' | 'gone';

/** A failed request to the line. Holds nothing of the request, and of the answer its codes alone. */
export class PhoneLineError extends Error {
  override readonly name = 'PhoneLineError';
  readonly failure: PhoneLineFailure;
  /** In words, safe to log and to answer. */
  readonly reason: string;
  /** The HTTP status of the line's answer. */
  readonly code: number | undefined;
  /** The line's own error code. */
  readonly subCode: number | undefined;
  /** How long a throttled line asked to wait, in milliseconds. */
  readonly waitMs: number | undefined;
  /** What an operator is to look at, in words. */
  readonly lookAt: string | undefined;

  constructor(
    failure: PhoneLineFailure,
    reason: string,
    codes: ResultCodes & { readonly waitMs?: number | undefined; readonly lookAt?: string | undefined } = {},
  ) {
    super(reason);
    this.failure = failure;
    this.reason = reason;
    this.code = codes.code;
    this.subCode = codes.subCode;
    this.waitMs = codes.waitMs;
    this.lookAt = codes.lookAt;
  }
}
