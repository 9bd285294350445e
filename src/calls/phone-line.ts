import type { AlertType } from './alert-types.ts';
import type { CallContext } from './call-context.ts';
import type { CallId } from './call-id.ts';
import type { PhoneNumber } from './phone-number.ts';
import type { CallResult } from './acs/result-reason.ts';

/**
 * A line to the telephone network. ACS's calling ends on 30 September 2028: nothing but the one implementation may know whose
 * line it is. Every method ends within its bounds and throws nothing but {@link PhoneLineError}.
 */
export interface PhoneLine {
  /**
   * Asks for a call; what becomes of it is reported to the alert type's callback path.
   *
   * @param withinMs the time there is for it, retries and waiting included
   */
  call(number: PhoneNumber, alertType: AlertType, context: CallContext, withinMs: number): Promise<CallId>;

  /**
   * Starts to speak a text into a connected call. Never asked twice unless the first was surely not acted on.
   *
   * @param context comes back with the events about the speaking
   */
  speak(callId: CallId, text: string, context?: CallContext): Promise<void>;

  /** Ends a call for everyone; of a call that has ended already, a success. */
  hangUp(callId: CallId): Promise<void>;
}

/**
 * How a request to the line failed.
 * - `throttled`: asked to slow down, and no time was left to wait;
 * - `refused`: surely not done;
 * - `unanswered`: no usable answer; it may have been done;
 * - `gone`: the call does not exist (any more).
 */
export type PhoneLineFailure = 'throttled' | 'refused' | 'unanswered' | 'gone';

/** Why the line did not do what it was asked. Carries nothing of a request or an answer but codes. */
export class PhoneLineError extends Error {
  override readonly name = 'PhoneLineError';
  readonly failure: PhoneLineFailure;
  /** In words, safe to log and to answer. */
  readonly reason: string;
  /** The HTTP status of the line's answer. */
  readonly code: number | undefined;
  /** The line's own error code. */
  readonly subCode: number | undefined;

  constructor(failure: PhoneLineFailure, reason: string, result: CallResult = {}) {
    super(reason);
    this.failure = failure;
    this.reason = reason;
    this.code = result.code;
    this.subCode = result.subCode;
  }
}
