import type { CallContext } from './call-context.ts';
import type { CallId } from './call-id.ts';

/** The codes of a call's end or of a failed request, as the line reports them. */
export interface ResultCodes {
  /** Like an HTTP or SIP status. */
  readonly code?: number | undefined;
  /** The line's own, more precise code. */
  readonly subCode?: number | undefined;
}

/** Codes with their meaning. */
export interface CallResult extends ResultCodes {
  /** In words; undefined where the meaning is not known or nothing went wrong. */
  readonly reason?: string | undefined;
}

/** What an event reports. */
export type CallEventKind =
  'connected' | 'play started' | 'play completed' | 'play failed' | 'play canceled' | 'disconnected' | 'create failed';

/** An event about a call. */
export interface CallEvent {
  readonly kind: CallEventKind;
  readonly callId: CallId;
  readonly result: CallResult;
  /** The context that was given to the line; undefined where it is missing or was changed. */
  readonly context: CallContext | undefined;
}
