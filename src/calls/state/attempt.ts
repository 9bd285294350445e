import * as z from 'zod';
import { type CallId, callIdSchema, PROMPTS, type PromptNumber } from '../model/ids.ts';
import type { Outcome } from '../model/outcomes.ts';
import {
  type CallEvent,
  type CallEventKind,
  type CallResult,
  type Failure,
  MAX_REQUEST_MS,
  MAX_RINGING_MS,
  type PhoneProvider,
} from '../model/phone-provider.ts';
import { KEYS_AFTER_MS } from '../rules/message.ts';

// One attempt to reach a recipient, which is one call: a union of states. All times are in milliseconds since 1970.

const time = z.number();

const talkSchema = z.object({
  answeredAt: time,
  prompt: z.object({
    number: z.literal(PROMPTS),
    askedAt: time,
    /** When the provider accepted it, or reported its start. */
    acceptedAt: time.optional(),
    unclearAt: time.optional(),
  }),
  /** When the provider reported the start of the message, and its end. */
  startedAt: time.optional(),
  completedAt: time.optional(),
  /** It is unknown what the callee heard: the message failed, or the call had ended at an unknown time. */
  isUnclear: z.boolean().optional(),
  /** Since when the call is silent and the service waits for keys. */
  quietSince: time.optional(),
  /** The presses of 2, by their position among the keys of the call. */
  repeatKeys: z.array(z.int()).readonly(),
  /** When the callee pressed 1, and 3. */
  confirmedAt: time.optional(),
  cannotGoAt: time.optional(),
});

/** An action that the commit of this name claimed at a time; the state says which. Undefined: nothing is in progress. */
const actionSchema = z.object({ commit: z.string(), at: time });

const base = {
  /** A UUID. An idempotent provider acts once for it. */
  id: z.string(),
  provider: z.string(),
  /** When an instance claimed it, before any request. */
  claimedAt: time,
  /** The calls that the provider has named for it: more than one if a request that was sent again placed a second call. */
  callIds: z.array(callIdSchema).readonly(),
  /** Of these, the calls that have ended while others were open. */
  endedIds: z.array(callIdSchema).readonly().optional(),
  placedAt: time.optional(),
  action: actionSchema.optional(),
} as const;

const end = {
  code: z.number().optional(),
  subCode: z.number().optional(),
  reason: z.string().optional(),
} as const;

const over = z.object({
  ...base,
  ...end,
  state: z.literal('over'),
  endedAt: time,
  /** Until when the callee listened. */
  heardUntil: time,
});

/** The outcomes that only a talk has. */
const TALKED = ['confirmed', 'cannot_go', 'heard', 'unconfirmed', 'cut_short'] as const satisfies readonly Outcome[];
const OTHERS = ['no_answer', 'busy', 'declined', 'refused', 'stopped', 'unknown'] as const satisfies readonly Outcome[];

export const attemptSchema = z.discriminatedUnion('state', [
  /** An instance requests the call. `sent`: how often. */
  z.object({
    ...base,
    state: z.literal('claimed'),
    sent: z.int(),
    sentAt: time,
    checkAt: time,
    reason: z.string().optional(),
  }),
  z.object({ ...base, state: z.literal('ringing') }),
  /** It ended before an answer was reported. Another event may bring the reason. `connectedMs`: how long it was connected. */
  z.object({ ...base, state: z.literal('unexplained'), disconnectedAt: time, connectedMs: z.number().optional() }),
  z.object({ ...base, state: z.literal('speaking'), talk: talkSchema }),
  /** The service hangs up. `heardUntil`: until when the callee listened, if that was reported. */
  z.object({
    ...base,
    ...end,
    state: z.literal('hanging_up'),
    since: time,
    heardUntil: time.optional(),
    talk: talkSchema.optional(),
    /** Why the service hung up before the message. */
    beforeMessage: z.enum(['no_answer', 'stopped']).optional(),
  }),
  z.discriminatedUnion('outcome', [
    /** `hasHeardUnit` of `cut_short`: one whole unit of the message was spoken. */
    over.extend({ outcome: z.enum(TALKED), talk: talkSchema, hasHeardUnit: z.boolean().optional() }),
    over.extend({ outcome: z.enum(OTHERS), talk: talkSchema.optional() }),
  ]),
]);

export type Attempt = Readonly<z.output<typeof attemptSchema>>;

export type AttemptIn<State extends Attempt['state']> = Extract<Attempt, { readonly state: State }>;

export type LiveAttempt = Exclude<Attempt, { readonly state: 'over' }>;

/** A conversation with a callee or a machine. */
export type Talk = Readonly<z.output<typeof talkSchema>>;

export interface ProviderTerms extends Pick<PhoneProvider, 'name' | 'isIdempotent'> {
  /** The message goes with the call request: calls speak, answer keys and end by themselves. */
  readonly speaksByItself: boolean;
}

/** The parameters of an attempt. Durations are in milliseconds. */
export interface CallTerms {
  readonly provider: ProviderTerms;
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

/** When an event is decided, and the commit that will store it. */
export interface Moment {
  /** In milliseconds since 1970. */
  readonly now: number;
  /** Names the commit: an action that begins with it carries this name. */
  readonly commit: string;
}

export type CallReport = Pick<CallEvent, 'callId'> &
  Partial<Omit<CallEvent, 'kind' | 'attempt'>> & { readonly kind: Exclude<CallEventKind, 'tone failed'> };

export type AttemptEvent =
  | CallReport
  /** The provider accepted the call request, or did not. */
  | { readonly kind: 'placed'; readonly callId: CallId }
  | { readonly kind: 'not placed'; readonly result: CallResult }
  /** The provider accepted a prompt, or did not. */
  | { readonly kind: 'prompt accepted'; readonly prompt: PromptNumber }
  | { readonly kind: 'not spoken'; readonly prompt: PromptNumber; readonly result: CallResult }
  /** The time for keys is over. */
  | { readonly kind: 'no key' }
  /** The provider has hung up; or the call had ended before, at an unknown time. */
  | { readonly kind: 'hung up' | 'gone' }
  /** Time has passed. */
  | { readonly kind: 'check' };

/** The lease of a commit for a request to the provider and for writing the answer. After it, a check gives the action to its own commit. */
export const LEASE_MS = MAX_REQUEST_MS + 5_000;
/** The lease for a call request. */
export const DIAL_LEASE_MS = MAX_REQUEST_MS + 10_000;
/** How long the provider may take to report the start of a prompt after an unclear answer. */
const START_WITHIN_MS = 4_500;
/** The provider reports an end and its reason in two events, at about the same time. */
const REASON_WITHIN_MS = 5_000;
/** The instance that waits for keys hangs up. Others only check whether it has died. */
const QUIET_CHECK_MS = KEYS_AFTER_MS + 1_000;
/** The longest answered call, repeats included. */
const MAX_CALL_MS = 250_000;
/** How long an attempt takes at most before it begins to hang up: a request that is sent again, ringing, and a call. */
export const MAX_ATTEMPT_MS = 2 * MAX_RINGING_MS + 2 * MAX_CALL_MS;

export const isLive = (attempt: Attempt): attempt is LiveAttempt => attempt.state !== 'over';

export const talkOf = (attempt: Attempt): Talk | undefined => ('talk' in attempt ? attempt.talk : undefined);

export const latestEnd = ({ answeredAt }: Talk): number => answeredAt + MAX_CALL_MS;

/** When an attempt is checked if no event comes; undefined: never. */
export const checkAtOf = (
  attempt: Attempt,
  { ringMs, messageMs }: Pick<CallTerms, 'ringMs' | 'messageMs'>,
): number | undefined => {
  switch (attempt.state) {
    case 'claimed':
      return attempt.checkAt;
    case 'ringing':
      return (attempt.placedAt ?? attempt.claimedAt) + ringMs;
    case 'unexplained':
      return attempt.disconnectedAt + REASON_WITHIN_MS;
    case 'speaking':
      return Math.min(promptOverdueAt(attempt.talk, messageMs), latestEnd(attempt.talk));
    case 'hanging_up':
      // The call was gone: only the report of its end is missing.
      if (attempt.action === undefined && attempt.heardUntil !== undefined) return attempt.since + REASON_WITHIN_MS;
      return (attempt.action?.at ?? attempt.since) + LEASE_MS;
    // A new call of it is being hung up.
    case 'over':
      return attempt.action && attempt.action.at + LEASE_MS;
  }
};

const promptOverdueAt = ({ quietSince, prompt }: Talk, messageMs: number): number => {
  if (quietSince !== undefined) return quietSince + QUIET_CHECK_MS;
  const { acceptedAt, unclearAt, askedAt } = prompt;
  if (acceptedAt !== undefined) return acceptedAt + messageMs;
  return unclearAt === undefined ? askedAt + LEASE_MS : unclearAt + START_WITHIN_MS;
};

/** The callee's choice by key. A 1 wins over a 3, in any order. */
export const choiceBy = (attempt: Attempt): 'confirmed' | 'cannot_go' | undefined => choiceIn(talkOf(attempt));

const choiceIn = (talk: Talk | undefined): 'confirmed' | 'cannot_go' | undefined => {
  if (talk?.confirmedAt !== undefined) return 'confirmed';
  return talk?.cannotGoAt === undefined ? undefined : 'cannot_go';
};

/** When the provider accepted a call, or the callee answered it; undefined before that. */
export const acceptedAtOf = (attempt: Attempt): number | undefined => attempt.placedAt ?? talkOf(attempt)?.answeredAt;

/** The common members of all states. No action is in progress. */
export const baseOf = ({ id, provider, claimedAt, callIds, endedIds, placedAt }: Attempt) =>
  ({ id, provider, claimedAt, callIds, endedIds, placedAt }) as const;

/** The calls of an attempt that may be open. */
export const openCallIds = ({ callIds, endedIds = [] }: Attempt): readonly CallId[] =>
  callIds.filter((callId) => !endedIds.includes(callId));

/** An instance claims to hang up. @param heardUntil until when the callee listened, if that was reported */
export const hangingUp = (
  attempt: LiveAttempt,
  { now, commit }: Moment,
  heardUntil: number | undefined,
  { code, subCode, reason }: CallResult = {},
): AttemptIn<'hanging_up'> => {
  const action = { commit, at: now };
  const why = { talk: talkOf(attempt), code, subCode, reason };
  return { ...baseOf(attempt), ...why, action, heardUntil, state: 'hanging_up', since: now };
};

const REASONS = { no_answer: 'no answer', stopped: 'stopped before it was answered' } as const;

/** An instance claims to hang up before the message. */
export const hangingUpBeforeMessage = (
  attempt: LiveAttempt,
  why: keyof typeof REASONS,
  moment: Moment,
): AttemptIn<'hanging_up'> => ({
  ...hangingUp(attempt, moment, undefined, { reason: REASONS[why] }),
  beforeMessage: why,
});

export const stoppedRinging = (attempt: Attempt, moment: Moment): Attempt =>
  attempt.state === 'ringing' ? hangingUpBeforeMessage(attempt, 'stopped', moment) : attempt;

export const PHONE_OFF = 'the phone was switched off';

/** The phone was switched off: no more events will come. */
export const abandonedAttempt = (attempt: Attempt, now: number): Attempt => {
  if (!isLive(attempt)) return attempt;
  const talk = talkOf(attempt);
  const ending = { ...baseOf(attempt), state: 'over', reason: PHONE_OFF, endedAt: now, heardUntil: now } as const;
  const choice = choiceIn(talk);
  return talk !== undefined && choice !== undefined
    ? { ...ending, talk, outcome: choice }
    : { ...ending, talk, outcome: 'unknown' };
};

/** @param result of the event that ended it */
export const ended = (
  attempt: LiveAttempt,
  result: CallResult,
  terms: CallTerms,
  endedAt: number,
): AttemptIn<'over'> => {
  const own = attempt.state === 'hanging_up' ? attempt : undefined;
  // The service knows better than the provider why it hung up.
  const { code, subCode, reason } = own?.reason === undefined ? result : own;
  const ending: Ending = {
    ...baseOf(attempt),
    state: 'over',
    code,
    subCode,
    reason,
    endedAt,
    heardUntil: own?.heardUntil ?? own?.since ?? endedAt,
  };
  return withOutcome(ending, talkOf(attempt), terms, own === undefined ? result.failure : own.beforeMessage);
};

/** An attempt that is over, without its outcome. */
type Ending = Readonly<z.output<typeof over>>;

export const withOutcome = (
  ending: Ending,
  talk: Talk | undefined,
  { confirm, unitMs }: CallTerms,
  failure?: Failure | 'stopped',
): AttemptIn<'over'> => {
  const { heardUntil, reason } = ending;
  if (talk === undefined) {
    // Some failures are outcomes. After the others, the outcome is not known.
    const outcome = OTHERS.find((other) => other === failure) ?? 'unknown';
    return { ...ending, outcome, reason: reason ?? 'the call ended before the message' };
  }
  const choice = choiceIn(talk);
  if (choice !== undefined) return { ...ending, talk, outcome: choice, reason: undefined };
  if (talk.completedAt !== undefined) {
    return confirm
      ? { ...ending, talk, outcome: 'unconfirmed', reason: 'neither 1 nor 3 was pressed' }
      : { ...ending, talk, outcome: 'heard', reason: undefined };
  }
  if (talk.startedAt !== undefined && talk.isUnclear !== true) {
    const hasHeardUnit = heardUntil - talk.startedAt >= unitMs;
    return { ...ending, talk, outcome: 'cut_short', hasHeardUnit, reason: reason ?? 'the callee hung up' };
  }
  return { ...ending, talk, outcome: 'unknown', reason: reason ?? 'the call ended before the message surely started' };
};
