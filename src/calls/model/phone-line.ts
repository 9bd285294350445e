import type { AlertType } from './alert-types.ts';
import type { AttemptRef } from './call-context.ts';
import type { ResultCodes } from './call-event.ts';
import type { CallId } from './call-id.ts';
import type { PhoneNumber } from './phone-number.ts';

/**
 * A line to the telephone network. The one implementation must be replaceable: the numbers that it calls from retire on 30 September 2028.
 * Every method ends within its bounds and throws nothing but {@link PhoneLineError}.
 */
export interface PhoneLine {
  // General words that a second line needs here; each is added with the step that uses it.
  //
  // - `name`: a short word that an attempt's row keeps. An attempt of another line than the present one ends as unknown at its next look and is
  //   dialled again; its hold on the number ends with it. Rows without it are of the first line.
  // - `isIdempotent`: whether the same call request again places no second call. Where it does not: nothing is sent again before `find`.
  // - `find(number, since)`: the calls that the line knows to a number since a time, as call ids. After a request without an answer the machine waits 10 s
  //   for an event of the attempt, then asks `find`; a call whose id stands in no attempt is this one (`placed`), none found: the request may go again.
  // - `callsPerSecond`: undefined, or how many calls the account may start a second. `!line` says when the next one may start, written by each claim.
  // - `refusesSurely`: a full line says so by a code of its own, so a decline is always the callee's.
  // - The answer to a callback may be the command. An event with `isAwaiting` comes from a line that waits for what to do now: then there is always an ask
  //   (speak, listen on, hang up), also where nothing has changed, and also without the table. What `speak` and `hangUp` were asked for such a call is the
  //   answer; the machines do not know. `speak` may tell that the speech has started: no `play started` follows then.
  // - A key may cut the speech short (`keysCutSpeech`): a key that means nothing is answered with the same speech again.
  // - `connectedMs` of an end: how long the call was connected, where the line knows.

  /**
   * Places a call, within {@link LONGEST_REQUEST_MS}. What becomes of it is posted to the alert type's callback path,
   * {@link LONGEST_RINGING_MS} later at the latest where nobody answers. The same request again places no second call.
   */
  call(request: CallRequest): Promise<CallId>;

  /**
   * Starts to speak a text into a connected call, within {@link LONGEST_REQUEST_MS}. Repeated only where the first request surely had no
   * effect, so that nobody hears the text twice.
   *
   * @param attempt comes back with the events about the speech
   */
  speak(callId: CallId, text: string, attempt?: AttemptRef): Promise<void>;

  /**
   * Starts to listen for keys that the callee presses, beside what is spoken, within {@link LONGEST_REQUEST_MS}.
   *
   * @param attempt comes back with the events about keys
   */
  listen(callId: CallId, number: PhoneNumber, attempt: AttemptRef): Promise<void>;

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
 * - `refused`: surely not done, and not worth asking again;
 * - `unanswered`: no usable answer; it may have been done;
 * - `gone`: the call does not exist (any more).
 */
export type PhoneLineFailure = 'throttled' | 'not sent' | 'set-up' | 'refused' | 'unanswered' | 'gone';

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

  constructor(
    failure: PhoneLineFailure,
    reason: string,
    codes: ResultCodes & { readonly waitMs?: number | undefined } = {},
  ) {
    super(reason);
    this.failure = failure;
    this.reason = reason;
    this.code = codes.code;
    this.subCode = codes.subCode;
    this.waitMs = codes.waitMs;
  }
}
