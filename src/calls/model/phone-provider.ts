import type { AlertType } from './alert-types.ts';
import type { AttemptRef, CallId, PromptNumber, PromptRef } from './ids.ts';
import type { PhoneNumber } from './phone-number.ts';

/**
 * A telephone provider: it places calls and posts their events to the callback paths. Each method ends within {@link MAX_REQUEST_MS}, retries
 * and the wait for a token included, and throws only {@link ProviderError}.
 */
export interface PhoneProvider {
  /** A short word, stored with each attempt. An open attempt cannot continue after a change of the provider. */
  readonly name: string;
  /** Whether the same call request, sent again, places no second call. */
  readonly isIdempotent: boolean;
  /** How many calls the account may start a second; undefined: no such limit. */
  readonly callsPerSecond?: number | undefined;
  /** Speaks into connected calls. Undefined: the message goes with the call request, and the provider speaks, handles keys and hangs up. */
  readonly media?: CallMedia | undefined;

  /** Places a call. Its events go to the alert type's callback path. It rings for {@link MAX_RINGING_MS} at most. */
  call(request: CallRequest): Promise<CallId>;

  /**
   * Ends a call. Without `isAnswered`, the provider may keep a call that was answered in the meantime.
   *
   * @returns `gone`: the call has ended at an unknown time, perhaps by an earlier try of this request
   */
  hangUp(callId: CallId, isAnswered: boolean): Promise<HangUp>;

  /** Checks the provider without a call. @throws {ProviderError} `set_up`: it surely refuses calls; other failures say nothing */
  check(): Promise<void>;
}

export type HangUp = 'hung up' | 'gone';

/** Requests about a connected call whose message does not go with the call request. */
export interface CallMedia {
  /**
   * Starts to speak a text. Retried only if the first request certainly had no effect, so that the callee does not hear it twice. A later
   * prompt interrupts the current prompt.
   *
   * @param prompt part of the events about the prompt; undefined: a call of another system
   */
  speak(callId: CallId, text: string, prompt?: PromptRef): Promise<void>;

  /** Starts to listen for keys, once per call. The events about keys have `attempt`. */
  listen(callId: CallId, number: PhoneNumber, attempt: AttemptRef): Promise<void>;
}

export interface CallRequest {
  readonly number: PhoneNumber;
  readonly alertType: AlertType;
  /** The text of the call if the message goes with the request. */
  readonly message: CallMessage;
  /** Every event of the call has it. Its id identifies the request, however often it is sent. */
  readonly attempt: AttemptRef;
  /** When the request was first sent, in milliseconds since 1970. */
  readonly firstSentAt: number;
  /** The base of the callback paths, without a slash at its end; undefined: the provider's own. */
  readonly callbackBaseUrl?: string | undefined;
}

/** The texts that a callee hears. */
export interface CallMessage {
  /** Spoken three times; with the menu of keys if there are keys. Ends with a space. */
  readonly unit: string;
  /** Whether the callee is asked to press a key. */
  readonly hasKeys: boolean;
}

/** How long a callee's phone rings at most, in milliseconds. */
export const MAX_RINGING_MS = 115_000;

/** How long a request to the provider takes at most, retries and waiting included, in milliseconds. */
export const MAX_REQUEST_MS = 15_000;

/** A failed request to the provider. Holds nothing of the request, and of the answer its codes alone. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
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
 * - `refused`: calling this number again is useless: it does not exist, or accepts no calls;
 * - `capacity`: surely not done: throttled, or no line is free;
 * - `unreachable`: surely not done: the provider could not be reached;
 * - `set_up`: surely not done: our credential, permission, resource, number or monthly limit;
 * - `forbidden`: the callee's network refuses us, or our number may not call: one call alone does not tell;
 * - `no_speech`: speech is not available: the callee would hear nothing;
 * - `rejected`: surely not done, with a code that is not known: it costs an attempt, and an operator is told;
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

/** How a call ended, or how a request failed: the provider's codes and what they mean. */
export interface CallResult {
  /** Undefined if nothing failed, or if the codes have no known meaning. */
  readonly failure?: Failure | undefined;
  /** Like an HTTP or SIP status. */
  readonly code?: number | undefined;
  /** The provider's own, more precise code. */
  readonly subCode?: number | undefined;
  /** In words, safe to log and to answer. */
  readonly reason?: string | undefined;
  /** How long the provider asked to wait, in milliseconds. */
  readonly waitMs?: number | undefined;
  /** A hint for the operator, in words. */
  readonly operatorHint?: string | undefined;
}

/**
 * A report of the provider about a call.
 * - `ringing`: the call exists; `connected`: a person or a machine answered;
 * - `play started`, `play completed`, `play failed`, `play canceled`: of a prompt;
 * - `tone received`: the callee pressed a key; `tone failed`: keys cannot be heard;
 * - `disconnected`: the call has ended; `connectedMs` says for how long it was connected;
 * - `create failed`: the call has ended and was not established; `result` says why.
 *
 * Events come in any order, and repeated. An end is final for its call: an event that comes after it does not revive the call.
 */
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
  /** Its position among the keys of the call. A key that is reported twice has the same position. */
  readonly sequence: number;
}

export interface CallEvent {
  readonly kind: CallEventKind;
  readonly callId: CallId;
  readonly result: CallResult;
  /** The attempt that placed the call; undefined if the event names none, or in another form. */
  readonly attempt: AttemptRef | undefined;
  /** Of events about a prompt: which one. Undefined: the message. */
  readonly prompt?: PromptNumber | undefined;
  /** The key of `tone received`; undefined if no telephone has such a key. */
  readonly key?: PressedKey | undefined;
  /** Of `disconnected`: how long the call was connected, in milliseconds, if the provider says. */
  readonly connectedMs?: number | undefined;
}
