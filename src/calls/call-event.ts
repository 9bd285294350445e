import type { AttemptRef } from './call-context.ts';
import type { CallId } from './call-id.ts';

/** The codes of a call's end or of a failed request, as the line reports them. */
export interface ResultCodes {
  /** Like an HTTP or SIP status. */
  readonly code?: number | undefined;
  /** The line's own, more precise code. */
  readonly subCode?: number | undefined;
}

/**
 * What codes mean for reaching a person.
 * - `refused`: calling this number again is of no use: it does not exist, or does not take this call;
 * - `throttled`: no line was free.
 */
export type ResultMeaning = 'no_answer' | 'busy' | 'declined' | 'refused' | 'throttled';

/** Codes with their meaning. */
export interface CallResult extends ResultCodes {
  /** In words; undefined where it is not known or nothing went wrong. */
  readonly reason?: string | undefined;
  /** Undefined where it is none of these. */
  readonly meaning?: ResultMeaning | undefined;
}

/** What an event reports. */
export type CallEventKind =
  'connected' | 'play started' | 'play completed' | 'play failed' | 'play canceled' | 'disconnected' | 'create failed';

/** An event about a call. */
export interface CallEvent {
  readonly kind: CallEventKind;
  readonly callId: CallId;
  readonly result: CallResult;
  /** The attempt that the call belongs to; undefined where the context is missing or was changed. */
  readonly attempt: AttemptRef | undefined;
}
