import type { AlertType } from './alert-types.ts';
import type { CallContext } from './call-context.ts';
import type { ResultCodes } from './call-event.ts';
import type { CallId } from './call-id.ts';
import type { PhoneNumber } from './phone-number.ts';

/**
 * A line to the telephone network. The one implementation must be replaceable: the numbers that it calls from retire on 30 September 2028.
 * Every method ends within its bounds and throws nothing but {@link PhoneLineError}.
 */
export interface PhoneLine {
  /**
   * Places a call. What becomes of it is posted to the alert type's callback path, {@link LONGEST_RINGING_MS} later at the latest
   * where nobody answers.
   *
   * @param withinMs the time for this request, retries and waiting included
   */
  call(number: PhoneNumber, alertType: AlertType, context: CallContext, withinMs: number): Promise<CallId>;

  /**
   * Starts to speak a text into a connected call, within {@link LONGEST_REQUEST_MS}. Repeated only where the first request surely had no
   * effect, so that nobody hears the text twice.
   *
   * @param context comes back with the events about the speech
   */
  speak(callId: CallId, text: string, context?: CallContext): Promise<void>;

  /** Ends a call for everyone, within {@link LONGEST_REQUEST_MS}. Succeeds where the call has ended already. */
  hangUp(callId: CallId): Promise<void>;
}

/** How long a callee's phone rings at most, in milliseconds. */
export const LONGEST_RINGING_MS = 115_000;

/** How long a request to speak or to hang up takes at most, retries and waiting included, in milliseconds. */
export const LONGEST_REQUEST_MS = 15_000;

/**
 * How a request to the line failed.
 * - `throttled`: the line asked to slow down, and no time was left to wait;
 * - `refused`: surely not done;
 * - `unanswered`: no usable answer; it may have been done;
 * - `gone`: the call does not exist (any more).
 */
export type PhoneLineFailure = 'throttled' | 'refused' | 'unanswered' | 'gone';

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

  constructor(failure: PhoneLineFailure, reason: string, codes: ResultCodes = {}) {
    super(reason);
    this.failure = failure;
    this.reason = reason;
    this.code = codes.code;
    this.subCode = codes.subCode;
  }
}
