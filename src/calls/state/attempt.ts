import * as z from 'zod';
import { type CallId, callIdSchema, PROMPTS, type PromptNumber } from '../model/ids.ts';
import { type Outcome, OUTCOMES } from '../model/outcomes.ts';
import {
  type CallEvent,
  type CallEventKind,
  type CallResult,
  type Failure,
  MAX_REQUEST_MS,
  type PhoneProvider,
} from '../model/phone-provider.ts';
import { KEYS_AFTER_MS } from '../rules/message.ts';

// One attempt to reach a recipient, which is one call: a union of states. All times are in milliseconds since 1970.

const time = z.number();

const talkSchema = z.object({
  answeredAt: time,
  speech: z.object({
    number: z.literal(PROMPTS),
    askedAt: time,
    /** When the line accepted it, or reported its start. */
    acceptedAt: time.optional(),
    unclearAt: time.optional(),
    /** The instance that claimed it first died before the line answered. */
    isRetried: z.boolean().optional(),
  }),
  /** When the line reported the start of the message, and its end. */
  startedAt: time.optional(),
  completedAt: time.optional(),
  /** The message failed, though the callee did not hang up. */
  hasFailed: z.boolean().optional(),
  /** Since when the line is silent and the service waits for keys. */
  quietSince: time.optional(),
  /** The presses of 2, by their position among the keys of the call. */
  repeatKeys: z.array(z.int()).readonly(),
  /** When the callee pressed 1, and 3. */
  confirmedAt: time.optional(),
  cannotGoAt: time.optional(),
});

const base = {
  /** A UUID. An idempotent line acts once for it. */
  id: z.string(),
  line: z.string(),
  /** When an instance claimed it, before any request, and how many other calls of this service were open. */
  claimedAt: time,
  openThen: z.int(),
  /** All calls that the line has named for it: more than one if a retry placed a second call. */
  callIds: z.array(callIdSchema).readonly(),
  placedAt: time.optional(),
} as const;

const end = {
  talk: talkSchema.optional(),
  /** Why the service hung up before an answer. */
  unanswered: z.enum(['no_answer', 'stopped']).optional(),
  code: z.number().optional(),
  subCode: z.number().optional(),
  reason: z.string().optional(),
} as const;

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
  /** It ended before an answer. Another event may bring the reason. */
  z.object({ ...base, state: z.literal('unexplained'), disconnectedAt: time }),
  z.object({ ...base, state: z.literal('speaking'), talk: talkSchema }),
  /** An instance has claimed to hang up: the first at `since`, the latest at `at`. */
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
    /** Does not count as an attempt: perhaps the network declined, not the callee. */
    isFree: z.boolean().optional(),
    wasHungUp: z.boolean().optional(),
  }),
]);

export type Attempt = Readonly<z.output<typeof attemptSchema>>;

export type AttemptIn<State extends Attempt['state']> = Extract<Attempt, { readonly state: State }>;

export type LiveAttempt = Exclude<Attempt, { readonly state: 'over' }>;

/** A conversation with a callee or a machine. */
export type Talk = Readonly<z.output<typeof talkSchema>>;

export interface LineTerms extends Pick<PhoneProvider, 'name' | 'isIdempotent'> {
  /** The message goes with the call request: calls speak, answer keys and end by themselves. */
  readonly speaksByItself: boolean;
}

/** The parameters of an attempt. Durations are in milliseconds. */
export interface CallTerms {
  readonly line: LineTerms;
  readonly confirm: boolean;
  /** The recipient must not be dialed, and its phone must not ring. */
  readonly isStopped: boolean;
  /** No call request is sent after it, in milliseconds since 1970. */
  readonly deadlineAt: number;
  readonly ringMs: number;
  /** How long one unit of the message takes, and the whole message at most. */
  readonly unitMs: number;
  readonly messageMs: number;
}

export type CallReport = Pick<CallEvent, 'callId'> &
  Partial<Omit<CallEvent, 'kind' | 'attempt'>> & { readonly kind: Exclude<CallEventKind, 'tone failed'> };

export type AttemptEvent =
  | CallReport
  /** The line accepted the call request, or did not. */
  | { readonly kind: 'placed'; readonly callId: CallId }
  | { readonly kind: 'not placed'; readonly result: CallResult }
  /** After a request without an answer: the line's list has no call of the attempt. */
  | { readonly kind: 'not found' }
  /** The line accepted a speech, or did not. */
  | { readonly kind: 'speech accepted'; readonly speech: PromptNumber }
  | { readonly kind: 'not spoken'; readonly speech: PromptNumber; readonly result: CallResult }
  /** The time for keys is over; or the line has hung up. */
  | { readonly kind: 'no key' | 'hung up' }
  /** A check is due, or the recipient was stopped. `mayResend`: no other attempt holds the number. */
  | { readonly kind: 'look'; readonly mayResend: boolean };

/** The lease of an instance for a request to the line and for writing the answer. */
const CLAIM_LEASE_MS = MAX_REQUEST_MS + 5_000;
/** The lease for a call request. */
export const DIAL_LEASE_MS = MAX_REQUEST_MS + 10_000;
/** How long the line may take to report the start of a speech after an unclear answer. */
const START_WITHIN_MS = 4_500;
/** The line reports an end and its reason in two events, at about the same time. */
const REASON_WITHIN_MS = 5_000;
/** The instance that waits for keys hangs up. Others only check whether it has died. */
const QUIET_CHECK_MS = KEYS_AFTER_MS + 1_000;
/** The longest answered call, repeats included. */
const LONGEST_CALL_MS = 250_000;
/** How long an attempt holds its number and its line after its hang-up or its check was due. */
const HELD_AFTER_MS = 10_000;

export const isLive = (attempt: Attempt): attempt is LiveAttempt => attempt.state !== 'over';

export const talkOf = (attempt: Attempt): Talk | undefined => ('talk' in attempt ? attempt.talk : undefined);

export const latestEnd = ({ answeredAt }: Talk): number => answeredAt + LONGEST_CALL_MS;

type Durations = Pick<CallTerms, 'ringMs' | 'messageMs'>;

/** When a live attempt is checked if no event comes. */
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

/** Until when a live attempt holds its number and its line if no event comes. */
export const heldUntil = (attempt: LiveAttempt, terms: Durations): number =>
  (attempt.state === 'hanging_up' ? attempt.since : checkAtOf(attempt, terms)) + HELD_AFTER_MS;

/** The callee's answer by key. A 1 wins over a 3, in any order. */
export const answerBy = (attempt: Attempt): 'confirmed' | 'cannot_go' | undefined => {
  const talk = talkOf(attempt);
  if (talk?.confirmedAt !== undefined) return 'confirmed';
  return talk?.cannotGoAt === undefined ? undefined : 'cannot_go';
};

/** When the line accepted a call, or the callee answered it; undefined before that. */
export const acceptedAtOf = (attempt: Attempt): number | undefined => attempt.placedAt ?? talkOf(attempt)?.answeredAt;

export const baseOf = ({ id, line, claimedAt, openThen, callIds, placedAt }: Attempt) =>
  ({ id, line, claimedAt, openThen, callIds, placedAt }) as const;

export const hangingUp = (
  attempt: LiveAttempt,
  now: number,
  { code, subCode, reason }: CallResult = {},
): AttemptIn<'hanging_up'> => {
  const why = { talk: talkOf(attempt), code, subCode, reason };
  return { ...baseOf(attempt), ...why, state: 'hanging_up', since: now, at: now };
};

const REASONS = { no_answer: 'no answer', stopped: 'stopped before it was answered' } as const;

/** An instance claims to hang up before the message. */
export const unanswered = (attempt: LiveAttempt, why: keyof typeof REASONS, now: number): AttemptIn<'hanging_up'> => ({
  ...hangingUp(attempt, now, { reason: REASONS[why] }),
  unanswered: why,
});

export const stoppedRinging = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'ringing' ? unanswered(attempt, 'stopped', now) : attempt;

/** The phone was switched off: no more events will come. */
export const abandonedAttempt = (attempt: Attempt, now: number): Attempt => {
  if (!isLive(attempt)) return attempt;
  const how = { outcome: answerBy(attempt) ?? 'unknown', reason: 'the phone was switched off' } as const;
  return { ...baseOf(attempt), ...how, state: 'over', talk: talkOf(attempt), endedAt: now, heardUntil: now };
};

export const ended = (
  attempt: LiveAttempt,
  result: CallResult,
  terms: CallTerms,
  endedAt: number,
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
    heardUntil: own?.since ?? endedAt,
    outcome: 'unknown',
    wasHungUp: own && true,
  };
  return withOutcome(over, terms, own === undefined ? result.failure : undefined);
};

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
  // Some failures are outcomes. After the others, the outcome is not known.
  const outcome: Outcome = OUTCOMES.find((one) => one === failure) ?? 'unknown';
  return { ...attempt, outcome, reason: reason ?? 'the call ended before the message' };
};
