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
