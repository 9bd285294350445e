import type { AttemptRef } from '../model/ids.ts';
import type { CallEvent, CallMessage } from '../model/phone-provider.ts';
import type { Log } from '../../log.ts';

// The port of the callback paths: what their endpoint needs from the provider that posts there.

/** The handler of the events of callbacks. */
export interface CallbackHandler {
  /** Does what the events ask for. Never throws. False: storage could not be used, so nothing was written. */
  handle(events: readonly CallEvent[]): Promise<boolean>;

  /**
   * The texts of the call of an attempt. If the attempt cannot be read, or another system placed the call (undefined), the texts are the message of
   * the callback path's alert type. Never throws.
   */
  messageOf(attempt: AttemptRef | undefined): Promise<CallMessage>;
}

/** The events of one callback. */
export interface ParsedCallback {
  /** In the order in which they came. */
  readonly events: readonly CallEvent[];
  /** How many were of a kind that is not used here: accepted and ignored. */
  readonly otherKinds: number;
  /** How many had no well-formed call id: ignored, and nothing is ever requested for them. */
  readonly malformedIds: number;
  /** The indexes of the elements that are not CloudEvents 1.0. */
  readonly malformed: readonly number[];
}

/** `unknown`: the sender's public keys could not be fetched, so the token could not be verified. */
export type TokenVerdict = 'valid' | 'invalid' | 'unknown';

/** The `Authorization` header of a callback → whether the provider sent it. */
export type VerifyToken = (authorization: string | null) => Promise<TokenVerdict>;

/** The callbacks of a provider that reports events in JSON. */
export interface EventCallbacks {
  /** The array in a callback's body → its events. */
  readonly parseEvents: (batch: readonly unknown[]) => ParsedCallback;
  /** Undefined: callbacks are not verified; anyone who knows the address is believed. */
  readonly verifyToken: VerifyToken | undefined;
}

/** A callback that is a form, as it came. */
export interface InstructionRequest {
  /** The path of the callback, from `api/` on. */
  readonly path: string;
  /** As it was sent, with its `?`; empty if it has no query. */
  readonly search: string;
  readonly form: Readonly<Record<string, string>>;
  readonly signature: string;
}

/** The callbacks of a provider that asks for the next step of a call: the answer is the instruction. */
export interface InstructionCallbacks {
  /** The header that holds the provider's signature. */
  readonly signatureHeader: string;

  /**
   * Passes on the reports of a callback, and answers with the next step of the call, in the provider's own language (XML).
   *
   * @returns undefined if the signature is wrong
   */
  answer(request: InstructionRequest, phone: CallbackHandler, log: Log): Promise<string | undefined>;
}
