import type { ResultCodes } from './call-event.ts';
import type { CallId } from './call-id.ts';
import type { CallOutcome, Outcome } from './call-outcome.ts';
import type { MaskedNumber, PhoneNumber } from './phone-number.ts';

/**
 * How far reaching a recipient has come; `heard`, `not_reached` and `failed` are final.
 * - `waiting`: to be dialled, at `dueAt` or as soon as a line is free;
 * - `dialling`: an instance has claimed to send the request to call; whether it was done is not known yet;
 * - `calling`: the line has a call, until its end is known;
 * - `heard`: the message was heard, or began before the callee hung up;
 * - `not_reached`: nobody was reached within the attempts and the time;
 * - `failed`: this number cannot be called.
 */
export const RECIPIENT_STATES = ['waiting', 'dialling', 'calling', 'heard', 'not_reached', 'failed'] as const;

/** How far reaching a recipient has come. */
export type RecipientState = (typeof RECIPIENT_STATES)[number];

/** One attempt to reach a recipient. Times are in milliseconds since 1970. */
export interface Attempt extends ResultCodes {
  /** A UUID; the line acts once for it. */
  readonly id: string;
  /** When it was first claimed, before anything was sent. */
  readonly claimedAt: number;
  /** When the call request was sent again for the last time; undefined where it was sent once. */
  readonly resentAt?: number | undefined;
  /** How often another instance, or the same one later, has sent the call request again. */
  readonly resent?: number | undefined;
  readonly callId?: CallId | undefined;
  readonly placedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** Undefined while it lasts. */
  readonly outcome?: Outcome | undefined;
  /** In words. */
  readonly reason?: string | undefined;
  /** What became of it got lost on this side: it does not count among the attempts. */
  readonly isLost?: boolean | undefined;
}

/** Somebody to be told, and what was done to that end. */
export interface Recipient {
  readonly state: RecipientState;
  /** Whole until the notification is completed. */
  readonly number: PhoneNumber | MaskedNumber;
  /** In order; only the last one may be without an outcome. */
  readonly attempts: readonly Attempt[];
  /** No dialling after that. */
  readonly deadlineAt: number;
  /**
   * When this recipient must be looked at again. Of those waiting for a line, the time since when: so they are served in that order.
   * Undefined where it is final, or where only the notification's own entry covers it.
   */
  readonly dueAt?: number | undefined;
  /** Whether the next call is counted among the day's calls already. */
  readonly reserved: boolean;
  /** Why it waits. */
  readonly reason?: string | undefined;
}

/** Whether nothing more will be done about a recipient. */
export const isFinal = ({ state }: Recipient): boolean =>
  state === 'heard' || state === 'not_reached' || state === 'failed';

/** The attempt of that id; undefined where there is none (any more). */
export const attemptOf = ({ attempts }: Recipient, attemptId: string): Attempt | undefined =>
  attempts.find((attempt) => attempt.id === attemptId);

/** The attempt that is under way. */
export const currentAttempt = (recipient: Recipient): Attempt | undefined => {
  const last = recipient.attempts.at(-1);
  return last?.outcome === undefined ? last : undefined;
};

/** Whether a person was told: heard the message, or its start. */
export const isReached = (outcome: CallOutcome['outcome'] | undefined): boolean =>
  outcome === 'heard' || outcome === 'cut_short';

/** Whether a person was told in any of these attempts. */
export const hasHeard = (attempts: readonly Attempt[]): boolean => attempts.some(({ outcome }) => isReached(outcome));
