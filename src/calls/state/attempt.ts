import * as z from 'zod';
import { type CallId, callIdSchema, SPEECHES, type SpeechNumber } from '../model/ids.ts';
import { type Outcome, OUTCOMES } from '../model/outcomes.ts';
import {
  type CallEvent,
  type CallEventKind,
  type CallResult,
  type Failure,
  LONGEST_REQUEST_MS,
  type PhoneLine,
} from '../model/phone-line.ts';
import { KEYS_AFTER_MS } from '../rules/message.ts';

// One attempt to reach somebody, which is one call: a union of states. All times are in milliseconds since 1970.

const time = z.number();

/** A conversation: somebody, or a machine, has answered. */
const talkSchema = z.object({
  answeredAt: time,
  /** What is being spoken, or was asked to be. */
  speech: z.object({
    number: z.literal(SPEECHES),
    /** When an instance claimed to speak it. */
    askedAt: time,
    /** When the line accepted it, or reported its start. */
    acceptedAt: time.optional(),
    /** When the request ended without a usable answer. */
    unclearAt: time.optional(),
    /** The instance that claimed it first died before the line answered. */
    isRetried: z.boolean().optional(),
  }),
  /** When the line reported the start of the message, and its end. */
  startedAt: time.optional(),
  completedAt: time.optional(),
  /** The message could not be spoken, or not to its end, though nobody hung up. */
  hasFailed: z.boolean().optional(),
  /** Since when nothing is spoken and keys are waited for. */
  quietSince: time.optional(),
  /** The keys that asked for the message again, by their position among the keys of the call. */
  repeatKeys: z.array(z.int()).readonly(),
  /** When 1 was pressed, and when 3 was. */
  confirmedAt: time.optional(),
  cannotGoAt: time.optional(),
});

const base = {
  /** A UUID. An idempotent line acts once for it. */
  id: z.string(),
  /** The name of the line that places the call. */
  line: z.string(),
  /** When it was claimed, before anything was sent, and how many other calls of this service were open then. */
  claimedAt: time,
  openThen: z.int(),
  /** All calls that the line has named for it: more than one if a repeated request placed a second call. */
  callIds: z.array(callIdSchema).readonly(),
  /** When the line accepted the call. */
  placedAt: time.optional(),
} as const;

/** How it ends, or ended. */
const end = {
  talk: talkSchema.optional(),
  /** Why it was hung up before anybody answered. */
  unanswered: z.enum(['no_answer', 'stopped']).optional(),
  code: z.number().optional(),
  subCode: z.number().optional(),
  reason: z.string().optional(),
} as const;

/** An attempt as it is stored. */
export const attemptSchema = z.discriminatedUnion('state', [
  /** An instance is requesting the call. `soughtAt`: it searches the line's list for the call. */
  z.object({
    ...base,
    state: z.literal('claimed'),
    sent: z.int(),
    sentAt: time,
    checkAt: time,
    soughtAt: time.optional(),
    reason: z.string().optional(),
  }),
  z.object({ ...base, state: z.literal('ringing') }),
  /** Its end was reported before anybody answered. The reason may follow in another event. */
  z.object({ ...base, state: z.literal('unexplained'), disconnectedAt: time }),
  z.object({ ...base, state: z.literal('speaking'), talk: talkSchema }),
  /** An instance has claimed to hang up: first at `since`, for the last time at `at`. */
  z.object({ ...base, ...end, state: z.literal('hanging_up'), since: time, at: time }),
  z.object({
    ...base,
    ...end,
    state: z.literal('over'),
    endedAt: time,
    /** Until when the callee listened. */
    heardUntil: time,
    outcome: z.enum(OUTCOMES),
    /** Of `cut_short`: one whole unit of the message was spoken. */
    hasHeardUnit: z.boolean().optional(),
    /** It costs none of the attempts: it was declined at once, which may be the network's doing. */
    isFree: z.boolean().optional(),
    /** The service hung up. */
    wasHungUp: z.boolean().optional(),
  }),
]);

/** One attempt to reach somebody. */
export type Attempt = Readonly<z.output<typeof attemptSchema>>;

/** An attempt in one of its states. */
export type AttemptIn<State extends Attempt['state']> = Extract<Attempt, { readonly state: State }>;

/** An attempt whose call may be requested, ringing or answered. */
export type LiveAttempt = Exclude<Attempt, { readonly state: 'over' }>;

/** A conversation. */
export type Talk = Readonly<z.output<typeof talkSchema>>;

/** The line that is used now. */
export interface LineTerms extends Pick<PhoneLine, 'name' | 'isIdempotent'> {
  /** The message goes with the call request: calls speak, answer keys and end by themselves. */
  readonly speaksByItself: boolean;
}

/** What an attempt depends on. Durations are in milliseconds. */
export interface CallTerms {
  readonly line: LineTerms;
  /** Whether a key is asked for. */
  readonly confirm: boolean;
  /** Nobody is to be dialed or to ring any more. */
  readonly isStopped: boolean;
  /** No call request is sent after it, in milliseconds since 1970. */
  readonly deadlineAt: number;
  /** How long a phone rings. */
  readonly ringMs: number;
  /** How long one unit of the message takes, and all of it at most. */
  readonly unitMs: number;
  readonly messageMs: number;
}

/** What the line reports of a call. */
export type CallReport = Pick<CallEvent, 'callId'> &
  Partial<Omit<CallEvent, 'kind' | 'attempt'>> & { readonly kind: Exclude<CallEventKind, 'tone failed'> };

/** What happened to an attempt. */
export type AttemptEvent =
  | CallReport
  /** The line accepted the call request; or it did not, or did not say so. */
  | { readonly kind: 'placed'; readonly callId: CallId }
  | { readonly kind: 'not placed'; readonly result: CallResult }
  /** After a request without an answer, the line knows no call of the attempt. */
  | { readonly kind: 'not found' }
  /** The line accepted a speech; or it did not, or did not say so. */
  | { readonly kind: 'speech accepted'; readonly speech: SpeechNumber }
  | { readonly kind: 'not spoken'; readonly speech: SpeechNumber; readonly result: CallResult }
  /** Keys were waited for long enough; or the line has hung up. */
  | { readonly kind: 'no key' | 'hung up' }
  /** It is time to check, or the recipient was stopped. `mayResend`: no other attempt holds the number. */
  | { readonly kind: 'look'; readonly mayResend: boolean };

/** How long an instance has for a request to the line and for writing the answer. After that, it has died. */
const CLAIM_LEASE_MS = LONGEST_REQUEST_MS + 5_000;
/** The same, of a call request. */
export const DIAL_LEASE_MS = LONGEST_REQUEST_MS + 10_000;
/** How long after an unclear answer to a request to speak its start may be reported. */
const START_WITHIN_MS = 4_500;
/** The reason of an end and the end itself are two events, at about the same time. */
const REASON_WITHIN_MS = 5_000;
/** The instance that waits for keys hangs up. Others check only whether it has died. */
const QUIET_CHECK_MS = KEYS_AFTER_MS + 1_000;
/** No answered call is longer, repeats included. */
const LONGEST_CALL_MS = 250_000;
/** An attempt holds its number and its line for so long after its hang-up or its own check was due. */
const HELD_AFTER_MS = 10_000;

/** Whether its call may be requested, ringing or answered. */
export const isLive = (attempt: Attempt): attempt is LiveAttempt => attempt.state !== 'over';

/** The conversation of an attempt; undefined if nobody has answered. */
export const talkOf = (attempt: Attempt): Talk | undefined => ('talk' in attempt ? attempt.talk : undefined);

/** When a conversation ends at the latest. */
export const latestEnd = ({ answeredAt }: Talk): number => answeredAt + LONGEST_CALL_MS;

type Durations = Pick<CallTerms, 'ringMs' | 'messageMs'>;

/** When a live attempt must be checked if nothing is heard of it. */
export const checkAtOf = (attempt: LiveAttempt, { ringMs, messageMs }: Durations): number => {
  switch (attempt.state) {
    case 'claimed':
      return attempt.checkAt;
    case 'ringing':
      return (attempt.placedAt ?? attempt.claimedAt) + ringMs;
    case 'unexplained':
      return attempt.disconnectedAt + REASON_WITHIN_MS;
    case 'speaking':
      return Math.min(speechOverdueAt(attempt.talk, messageMs), latestEnd(attempt.talk));
    case 'hanging_up':
      return attempt.at + CLAIM_LEASE_MS;
  }
};

const speechOverdueAt = ({ quietSince, speech }: Talk, messageMs: number): number => {
  if (quietSince !== undefined) return quietSince + QUIET_CHECK_MS;
  const { acceptedAt, unclearAt, askedAt } = speech;
  if (acceptedAt !== undefined) return acceptedAt + messageMs;
  return unclearAt === undefined ? askedAt + CLAIM_LEASE_MS : unclearAt + START_WITHIN_MS;
};

/** Until when a live attempt holds its number and its line, if nothing more is heard of it. */
export const heldUntil = (attempt: LiveAttempt, terms: Durations): number =>
  (attempt.state === 'hanging_up' ? attempt.since : checkAtOf(attempt, terms)) + HELD_AFTER_MS;

/** What the callee answered by a key; undefined if nothing. A 1 wins over a 3, whichever comes first. */
export const answerBy = (attempt: Attempt): 'confirmed' | 'cannot_go' | undefined => {
  const talk = talkOf(attempt);
  if (talk?.confirmedAt !== undefined) return 'confirmed';
  return talk?.cannotGoAt === undefined ? undefined : 'cannot_go';
};

/** When the line accepted an attempt's call, or somebody answered it; undefined: not yet. */
export const acceptedAtOf = (attempt: Attempt): number | undefined => attempt.placedAt ?? talkOf(attempt)?.answeredAt;

// How an attempt is hung up, and what became of it when it is over.

/** What every state of an attempt has. */
export const baseOf = ({ id, line, claimedAt, openThen, callIds, placedAt }: Attempt) =>
  ({ id, line, claimedAt, openThen, callIds, placedAt }) as const;

/** An instance claims to hang up. */
export const hangingUp = (
  attempt: LiveAttempt,
  now: number,
  { code, subCode, reason }: CallResult = {},
): AttemptIn<'hanging_up'> => {
  const why = { talk: talkOf(attempt), code, subCode, reason };
  return { ...baseOf(attempt), ...why, state: 'hanging_up', since: now, at: now };
};

const REASONS = { no_answer: 'no answer', stopped: 'stopped before it was answered' } as const;

/** A call is hung up that nobody has answered, or whose callee is not to be spoken to. */
export const unanswered = (attempt: LiveAttempt, why: keyof typeof REASONS, now: number): AttemptIn<'hanging_up'> => ({
  ...hangingUp(attempt, now, { reason: REASONS[why] }),
  unanswered: why,
});

/** A ringing call is hung up because its recipient is stopped; the same object in any other state. */
export const stoppedRinging = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'ringing' ? unanswered(attempt, 'stopped', now) : attempt;

/** The phone was switched off: nothing more will be heard of the call. The same object if it is over. */
export const abandonedAttempt = (attempt: Attempt, now: number): Attempt => {
  if (!isLive(attempt)) return attempt;
  const how = { outcome: answerBy(attempt) ?? 'unknown', reason: 'the phone was switched off' } as const;
  return { ...baseOf(attempt), ...how, state: 'over', talk: talkOf(attempt), endedAt: now, heardUntil: now };
};

/** The attempt is over. @param heardUntil if the line says how long the callee listened */
export const ended = (
  attempt: LiveAttempt,
  result: CallResult,
  terms: CallTerms,
  endedAt: number,
  heardUntil = endedAt,
): AttemptIn<'over'> => {
  const own = attempt.state === 'hanging_up' ? attempt : undefined;
  // The service knows better than the line why it hung up.
  const { code, subCode, reason } = own?.reason === undefined ? result : own;
  const over: AttemptIn<'over'> = {
    ...baseOf(attempt),
    state: 'over',
    talk: talkOf(attempt),
    unanswered: own?.unanswered,
    code,
    subCode,
    reason,
    endedAt,
    heardUntil: own?.since ?? heardUntil,
    outcome: 'unknown',
    wasHungUp: own && true,
  };
  return withOutcome(over, terms, own === undefined ? result.failure : undefined);
};

/** An attempt that is over, with its outcome. @param failure what the line's codes mean */
export const withOutcome = (
  attempt: AttemptIn<'over'>,
  { confirm, unitMs }: CallTerms,
  failure?: Failure,
): AttemptIn<'over'> => {
  const { talk, heardUntil, unanswered: own, reason } = attempt;
  const answer = answerBy(attempt);
  if (answer !== undefined) return { ...attempt, outcome: answer, reason: undefined };
  if (talk?.completedAt !== undefined) {
    return confirm
      ? { ...attempt, outcome: 'unconfirmed', reason: 'neither 1 nor 3 was pressed' }
      : { ...attempt, outcome: 'heard', reason: undefined };
  }
  if (talk?.startedAt !== undefined && talk.hasFailed !== true) {
    const hasHeardUnit = heardUntil - talk.startedAt >= unitMs;
    return { ...attempt, outcome: 'cut_short', hasHeardUnit, reason: reason ?? 'the callee hung up' };
  }
  if (talk !== undefined) {
    return { ...attempt, outcome: 'unknown', reason: reason ?? 'the call ended before the message surely started' };
  }
  if (own !== undefined) return { ...attempt, outcome: own };
  const outcome = OUTCOME_OF[failure ?? 'unanswered'] ?? 'unknown';
  return { ...attempt, outcome, reason: reason ?? 'the call ended before the message' };
};

/** Failures that are an outcome. After the others nothing is sure of the callee. */
const OUTCOME_OF: Readonly<Partial<Record<Failure, Outcome>>> = {
  no_answer: 'no_answer',
  busy: 'busy',
  declined: 'declined',
  refused: 'refused',
};
