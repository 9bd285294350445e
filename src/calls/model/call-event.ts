import type { AttemptRef } from './call-context.ts';
import type { CallId } from './ids.ts';
import type { SpeechNumber } from './speech.ts';

/** The codes of a call's end or of a failed request, as the line reports them. */
export interface ResultCodes {
  /** Like an HTTP or SIP status. */
  readonly code?: number | undefined;
  /** The line's own, more precise code. */
  readonly subCode?: number | undefined;
}

/**
 * What codes mean for reaching a person.
 * - `declined`: by the callee, or the telephone network had no line for it: the codes are the same;
 * - `refused`: calling this number again is of no use: it does not exist, or does not take this call;
 * - `no_line`: no line was free;
 * - `forbidden`: by the callee's network, or our caller may not call at all: one call alone does not tell;
 * - `set_up`: our credential, permission, number or month's limit: nobody can be called until that is mended;
 * - `no_speech`: speech is not available: whoever answers hears nothing.
 */
export type ResultMeaning =
  'no_answer' | 'busy' | 'declined' | 'refused' | 'no_line' | 'forbidden' | 'set_up' | 'no_speech';

/** Codes with their meaning. */
export interface CallResult extends ResultCodes {
  /** In words; undefined where it is not known or nothing went wrong. */
  readonly reason?: string | undefined;
  /** Undefined where it is none of these. */
  readonly meaning?: ResultMeaning | undefined;
  /** What an operator is to look at, in words; undefined where there is nothing. */
  readonly lookAt?: string | undefined;
  /** Of a request: how long the line asked to wait, in milliseconds, and whether it could not even be reached. */
  readonly waitMs?: number | undefined;
  readonly isUnreachable?: boolean | undefined;
}

/** What an event reports. `ringing`: there is a call, nothing more; `tone received`: the callee has pressed a key; `tone failed`: keys cannot be heard. */
export type CallEventKind =
  | 'ringing'
  | 'connected'
  | 'play started'
  | 'play completed'
  | 'play failed'
  | 'play canceled'
  | 'tone received'
  | 'tone failed'
  | 'disconnected'
  | 'create failed';

/** A key that the callee has pressed. */
export interface PressedKey {
  /** `0` to `9`, `*` or `#`. */
  readonly key: string;
  /** Its place among the keys of the call: a key that is reported again has the same one. */
  readonly sequence: number;
}

/** An event about a call. */
export interface CallEvent {
  readonly kind: CallEventKind;
  readonly callId: CallId;
  readonly result: CallResult;
  /** The attempt that the request named from which the event comes; undefined if the context is missing or in another form. */
  readonly attempt: AttemptRef | undefined;
  /** Of events about what is spoken: which speech. Undefined: the message. */
  readonly speech?: SpeechNumber | undefined;
  /** Of `tone received`; undefined if it is none that a telephone has. */
  readonly key?: PressedKey | undefined;
  /** Of `connected`: a machine has answered, as far as the line can tell. */
  readonly isMachine?: boolean | undefined;
  /** Of `disconnected`: how long the call was connected, in milliseconds, if the line says. */
  readonly connectedMs?: number | undefined;
  /** The line waits for what the call is to do now: there is always something, also if nothing has changed. */
  readonly isAwaiting?: boolean | undefined;
}
