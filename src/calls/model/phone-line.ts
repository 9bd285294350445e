import type { AlertType } from './alert-types.ts';
import type { AttemptRef, CallId, SpeechNumber, SpeechRef } from './ids.ts';
import type { PhoneNumber } from './phone-number.ts';

/** A line to the telephone network. Each method ends within {@link LONGEST_REQUEST_MS} and only throws {@link PhoneLineError}. */
export interface PhoneLine {
  /** A short word, stored with each attempt: an attempt of another line than the present one cannot continue. */
  readonly name: string;
  /** Whether repeating a call request places no second call. If it may, {@link PhoneLine.find} is asked before a request is repeated. */
  readonly isIdempotent: boolean;
  /** How many calls the account may start a second; undefined: no such limit. */
  readonly callsPerSecond?: number | undefined;
  /** Speaks into connected calls. Undefined: the message goes with the call request, and the call itself speaks, answers keys and ends. */
  readonly media?: CallMedia | undefined;

  /** Places a call. The line posts its events to the alert type's callback path. It rings for {@link LONGEST_RINGING_MS} at most. */
  call(request: CallRequest): Promise<CallId>;

  /** The calls to a number that were created since a time (milliseconds since 1970), oldest first. Only of a line that is not idempotent. */
  find?(number: PhoneNumber, since: number): Promise<readonly CallId[]>;

  /** Ends a call; succeeds if it is over. Without `isAnswered`, the line may keep a call that was answered in the meantime. */
  hangUp(callId: CallId, isAnswered: boolean): Promise<void>;

  /** Checks the line without a call. @throws {PhoneLineError} `set_up`: it surely refuses calls; other failures say nothing */
  check(): Promise<void>;
}

/** Requests about a connected call whose message does not go with the call request. */
export interface CallMedia {
  /**
   * Starts to speak a text. Retried only if the first request certainly had no effect, so that the callee does not hear it twice. A later
   * speech interrupts the current speech.
   *
   * @param speech part of the events about the speech; undefined: a call of another system
   */
  speak(callId: CallId, text: string, speech?: SpeechRef): Promise<void>;

  /** Starts to listen for keys, once per call. The events about keys have `attempt`. */
  listen(callId: CallId, number: PhoneNumber, attempt: AttemptRef): Promise<void>;
}

export interface CallRequest {
  readonly number: PhoneNumber;
  readonly alertType: AlertType;
  /** What the call says if the message goes with the request. */
  readonly message: CallMessage;
  /** Every event of the call has it. Its id identifies the request, however often it is sent. */
  readonly attempt: AttemptRef;
  /** When the request was first sent, in milliseconds since 1970. */
  readonly firstSentAt: number;
  /** The base of the callback paths, without a slash at its end; undefined: the line's own. */
  readonly callbackBaseUrl?: string | undefined;
}

/** What a callee hears. */
export interface CallMessage {
  /** Spoken three times; with the menu of keys if there are keys. Ends with a space. */
  readonly unit: string;
  /** Whether the callee is asked to press a key. */
  readonly hasKeys: boolean;
}

/** How long a callee's phone rings at most, in milliseconds. */
export const LONGEST_RINGING_MS = 115_000;

/** How long a request to the line takes at most, retries and waiting included, in milliseconds. */
export const LONGEST_REQUEST_MS = 15_000;

/** A failed request to the line. Holds nothing of the request, and of the answer its codes alone. */
export class PhoneLineError extends Error {
  override readonly name = 'PhoneLineError';
  readonly result: FailedRequest;

  constructor(result: FailedRequest) {
    super(result.reason);
    this.result = result;
  }
}

export type FailedRequest = CallResult & { readonly failure: Failure; readonly reason: string };

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

export interface PressedKey {
  /** `0` to `9`, `*` or `#`. */
  readonly key: string;
  /** Its position among the keys of the call. A key that is reported twice has the same one. */
  readonly sequence: number;
}

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
