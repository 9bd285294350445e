import type { AttemptRef } from './call-context.ts';
import type { CallId } from './ids.ts';
import type { SpeechNumber } from './speech.ts';

/**
 * How a call, or a request about one, failed.
 * - `no_answer`, `busy`, `declined`: as the telephone network says;
 * - `refused`: calling this number again is useless: it does not exist, or takes no calls;
 * - `capacity`: surely not done: throttled, or no line is free;
 * - `unreachable`: surely not done: the provider could not be reached;
 * - `set_up`: surely not done: our credential, permission, resource, number or monthly limit;
 * - `forbidden`: the callee's network refuses us, or our number may not call: one call alone does not tell;
 * - `no_speech`: speech is not available: the callee would hear nothing;
 * - `rejected`: surely not done, for a reason that is not known;
 * - `unanswered`: no usable answer to a request: it may have been done;
 * - `gone`: the call does not exist or no longer exists.
 */
export type Failure =
  | 'no_answer'
  | 'busy'
  | 'declined'
  | 'refused'
  | 'capacity'
  | 'unreachable'
  | 'set_up'
  | 'forbidden'
  | 'no_speech'
  | 'rejected'
  | 'unanswered'
  | 'gone';

/** How a call ended, or how a request failed: the line's codes and what they mean. */
export interface CallResult {
  /** Undefined if nothing failed, or if the codes have no known meaning. */
  readonly failure?: Failure | undefined;
  /** Like an HTTP or SIP status. */
  readonly code?: number | undefined;
  /** The line's own, more precise code. */
  readonly subCode?: number | undefined;
  /** In words, safe to log and to answer. */
  readonly reason?: string | undefined;
  /** How long the line asked to wait, in milliseconds. */
  readonly waitMs?: number | undefined;
  /** What an operator should check, in words. */
  readonly operatorHint?: string | undefined;
}

/** What an event reports. `ringing`: the call exists; `tone received`: the callee pressed a key; `tone failed`: keys cannot be heard. */
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

/** A key that the callee pressed. */
export interface PressedKey {
  /** `0` to `9`, `*` or `#`. */
  readonly key: string;
  /** Its position among the keys of the call. A key that is reported twice has the same one. */
  readonly sequence: number;
}

/** An event about a call. */
export interface CallEvent {
  readonly kind: CallEventKind;
  readonly callId: CallId;
  readonly result: CallResult;
  /** The attempt that placed the call; undefined if the event names none, or in another form. */
  readonly attempt: AttemptRef | undefined;
  /** Of events about speech: which speech. Undefined: the message. */
  readonly speech?: SpeechNumber | undefined;
  /** Of `tone received`; undefined if no telephone has such a key. */
  readonly key?: PressedKey | undefined;
  /** Of `disconnected`: how long the call was connected, in milliseconds, if the line says. */
  readonly connectedMs?: number | undefined;
}
