import type { Log } from '../../log.ts';
import type { CallEvent } from '../model/call-event.ts';

// The port of the callback paths: what their endpoint needs from the line that posts there.

/** The events of one callback. */
export interface CallEvents {
  /** In the order in which they came. */
  readonly events: readonly CallEvent[];
  /** How many were of a kind that is not used here: accepted and ignored. */
  readonly otherKinds: number;
  /** How many had no well-formed call id: ignored, and nothing is ever requested for them. */
  readonly malformedIds: number;
}

/** An element of a callback's array that is not an event. */
export interface MalformedEvent {
  readonly index: number;
  readonly detail: string;
}

/** The array in a callback's body → its events, or all its malformed elements. */
export type ParseCallEvents = (batch: readonly unknown[]) => Promise<CallEvents | readonly MalformedEvent[]>;

/** `unknown`: the sender's public keys could not be fetched, so the token could not be verified. */
export type TokenVerdict = 'valid' | 'invalid' | 'unknown';

/** The `Authorization` header of a callback → whether the line sent it. */
export type VerifyToken = (authorization: string | null) => Promise<TokenVerdict>;

/** The callbacks of a line that reports events in JSON. */
export interface EventCallbacks {
  readonly parseEvents: ParseCallEvents;
  /** Undefined: callbacks are not verified; anyone who knows the address is believed. */
  readonly verifyToken: VerifyToken | undefined;
}

/** A callback that is a form, as it came. */
export interface InstructionRequest {
  /** That of the callback, from `api/` on. */
  readonly path: string;
  /** As it was sent, with its `?`; empty if there is none. */
  readonly search: string;
  readonly form: Readonly<Record<string, string>>;
}

/** The callbacks of a line that asks by them what its calls are to do: the answer is the instruction. */
export interface InstructionCallbacks {
  /** The header that says that the line has sent it. */
  readonly signatureHeader: string;

  /** The base of our addresses that the line has sent it to; undefined where the line has not. */
  baseOf(request: InstructionRequest, signature: string): Promise<string | undefined>;

  /**
   * Hands on what a callback reports, and answers it with what the call is to do, in the line's own language (XML).
   *
   * @param base of the addresses of the requests that follow
   * @param handle does what an event asks for
   */
  answer(
    request: InstructionRequest,
    base: string,
    handle: (events: readonly CallEvent[]) => Promise<void>,
    log: Log,
  ): Promise<string>;
}
