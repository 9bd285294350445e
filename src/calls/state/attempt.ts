import * as z from 'zod';

import type { CallEvent, CallEventKind, CallResult } from '../model/call-event.ts';
import { type CallId, callIdSchema } from '../model/ids.ts';
import { NOT_MADE, type NotMade, OUTCOMES } from '../model/outcome.ts';
import { LONGEST_REQUEST_MS, type PhoneLine } from '../model/phone-line.ts';
import { isMessage, LATER_SPEECHES, MESSAGE, SPEECHES, type SpeechNumber } from '../model/speech.ts';
import { extensible } from '../model/stored.ts';
import { answerOfKey, KEYS_AFTER_MS } from '../rules/keys.ts';

// What is known of one attempt to reach somebody, which is one call. It moves down this list, and only back to `speaking` if somebody turns
// out to be there after all.

/** How far an attempt has come. */
export const ATTEMPT_STATES = [
  /** To be dialled by who has claimed it; the line has not said yet that there is a call. */
  'claimed',
  /** The line has accepted the call: it rings. */
  'placed',
  /** Somebody answered, and one instance has claimed to speak the message. */
  'speaking',
  /** One instance has claimed to hang up. */
  'hanging_up',
  'over',
] as const;

const laterSpeechSchema = extensible({
  number: z.literal(LATER_SPEECHES),
  askedAt: z.number(),
  /** When the line accepted it, or reported that it is being spoken, whichever it said first. */
  acceptedAt: z.number().optional(),
  /** When the request ended without a usable answer. */
  unclearAt: z.number().optional(),
  /** What was spoken before, which goes on if this one does not come. */
  before: z.literal(SPEECHES),
  /** That was over already. */
  isBeforeOver: z.boolean().optional(),
});

/** What was asked to be spoken after the message, the last of it. Times are in milliseconds since 1970. */
export type LaterSpeech = Readonly<z.output<typeof laterSpeechSchema>>;

/** An attempt as it is stored in the JSON of its recipient's row. */
export const attemptSchema = extensible({
  /** A UUID; a line that is idempotent acts once for it. */
  id: z.string(),
  /** The name of the line that places its call; undefined in rows from before there were two. */
  line: z.string().optional(),
  state: z.enum(ATTEMPT_STATES),
  /** When it was claimed, before anything was sent. */
  claimedAt: z.number(),
  /** It has the row of its number's open call: no other call to the number is claimed meanwhile, and its end deletes that row. */
  holdsNumber: z.boolean().optional(),
  /** An urgent call has taken the number over, because this one was held to be over: it is not sent again. */
  isReplaced: z.boolean().optional(),
  /** How many calls were open when it was claimed, and whether it was to find out if there is one line more. */
  beside: z.number().optional(),
  isProbe: z.boolean().optional(),
  /** It only rang, and was hung up for an urgent call. */
  makesWay: z.boolean().optional(),
  /** When the call request was sent again for the last time, and how often it was. */
  resentAt: z.number().optional(),
  resent: z.number().optional(),
  /** When to look at a claim again, if not when it runs out. */
  lookAt: z.number().optional(),
  callId: callIdSchema.optional(),
  placedAt: z.number().optional(),
  /** When somebody answered. */
  answeredAt: z.number().optional(),
  /** When speaking was claimed. */
  speakingAt: z.number().optional(),
  /** A machine has answered, as far as the line can tell. */
  isMachine: z.boolean().optional(),
  /** Who had claimed it before has died. */
  isTakenOver: z.boolean().optional(),
  /** When the line accepted the message. */
  acceptedAt: z.number().optional(),
  /** When the request to speak ended without a usable answer. */
  unclearAt: z.number().optional(),
  /** When the line reported that the message is being spoken. */
  startedAt: z.number().optional(),
  /** When the line reported that the whole message was spoken. */
  completedAt: z.number().optional(),
  /** What is spoken, if it is not the message any more. */
  later: laterSpeechSchema.optional(),
  /** Since when nothing is spoken, and keys are waited for. */
  quietSince: z.number().optional(),
  /** The keys that asked for the message again, by their place among the keys of the call. */
  repeatKeys: z.array(z.int()).readonly().optional(),
  /** When it became known that the callee had pressed 1. */
  confirmedAt: z.number().optional(),
  /** When it became known that the callee had pressed 3. */
  cannotGoAt: z.number().optional(),
  /** The message could not be spoken, or not to its end, though nobody hung up. */
  hasSpeechFailed: z.boolean().optional(),
  /** When the line reported the end of a call that nobody had answered: why comes in another event. */
  disconnectedAt: z.number().optional(),
  /** It was hung up because nobody had answered. */
  isUnanswered: z.boolean().optional(),
  /** When hanging up was claimed first, and for the last time. */
  hangingUpSince: z.number().optional(),
  hangingUpAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** Undefined while it lasts. */
  outcome: z.enum([...OUTCOMES, ...NOT_MADE]).optional(),
  /** Of `cut_short`: one whole unit of the message was spoken. */
  hasHeardUnit: z.boolean().optional(),
  /** The codes of its end or of a failed request, as the line reports them. */
  code: z.number().optional(),
  subCode: z.number().optional(),
  /** In words. */
  reason: z.string().optional(),
  /** The line has said why nobody was reached: that stays, whatever else is reported. */
  isReasonReported: z.boolean().optional(),
});

/** One attempt to reach somebody. Times are in milliseconds since 1970. */
export type Attempt = Readonly<z.output<typeof attemptSchema>>;

/** What an attempt goes by. Durations are in milliseconds. */
export interface CallTerms {
  /** The line that is used now. */
  readonly line: LineTerms;
  /** Whether keys are asked for. */
  readonly confirm: boolean;
  /** Nobody is to be dialled or to ring any more. */
  readonly isStopped: boolean;
  /** No call request is sent after it, in milliseconds since 1970. */
  readonly deadlineAt: number;
  /** How long a phone rings. */
  readonly ringMs: number;
  /** How long one unit of the message takes, and all of it at most. */
  readonly unitMs: number;
  readonly messageMs: number;
}

/** Why there is no call. `failed`: it counts as an attempt; `unclear`: there may be one. */
export type NotPlaced = Exclude<NotMade, 'made_way'> | 'refused' | 'failed' | 'unclear';

/** What an attempt goes by of the line. */
export type LineTerms = Pick<PhoneLine, 'name' | 'isIdempotent'>;

/** The line of attempts whose row names none. */
export const FIRST_LINE = 'acs';

/** What the line reports of a call. `spoken to`: it was spoken to while the table could not be used. */
export type CallReport = Pick<CallEvent, 'callId'> &
  Partial<Omit<CallEvent, 'kind' | 'attempt'>> & {
    readonly kind: Exclude<CallEventKind, 'tone failed'> | 'spoken to';
  };

/** What happened to an attempt. Where it is about a speech and names none, it is about the message. */
export type AttemptEvent =
  | CallReport
  /** The line accepted the call request. */
  | { readonly kind: 'placed'; readonly callId: CallId }
  /** It did not, or did not say so. */
  | { readonly kind: 'not placed'; readonly why: NotPlaced; readonly result: CallResult }
  /** The line, asked after a request without an answer, knows no call of the attempt. */
  | { readonly kind: 'not found' }
  /** The line accepted a speech. `isStarted`: it is being spoken. */
  | { readonly kind: 'speech accepted'; readonly speech?: SpeechNumber | undefined; readonly isStarted?: boolean }
  /** It did not. `gone`: the callee has left; `unclear`: it may have been done. */
  | {
      readonly kind: 'not spoken';
      readonly why: 'gone' | 'failed' | 'unclear';
      readonly result: CallResult;
      readonly speech?: SpeechNumber | undefined;
    }
  /** `no key`: keys were waited for long enough. `make way`: an urgent call needs its line or its number, if it only rings. `look`: it is time to look, or somebody has stopped the notification. */
  | { readonly kind: 'no key' | 'hung up' | 'make way' | 'look' };

/** What happened, of some kinds. */
export type EventOf<Kind extends AttemptEvent['kind']> = Extract<AttemptEvent, { readonly kind: Kind }>;

/**
 * What whoever committed the decision must do now. `find`: ask the line whether it knows a call of the attempt. `speak`: see {@link speechNow};
 * `wait for keys`: for `KEYS_AFTER_MS`, then `no key`.
 */
export type Command = 'dial' | 'find' | 'speak' | 'wait for keys' | 'hang up';

/** How long one instance has for a request to the line and for writing down the answer. After that, it has died. */
export const CLAIM_LEASE_MS = LONGEST_REQUEST_MS + 5_000;
/** As `CLAIM_LEASE_MS`, of a call request: the first ones of a notification wait for one another. */
export const DIAL_LEASE_MS = LONGEST_REQUEST_MS + 10_000;
// How long after an unclear answer to a request to speak `play started` may take.
const START_WITHIN_MS = 4_500;
// The reason of an end and the end itself are two events, at about the same time.
const REASON_WITHIN_MS = 5_000;
// Whoever waits for keys hangs up; others look only if it has died.
const QUIET_LOOK_MS = KEYS_AFTER_MS + 1_000;
// Repeats included, no call lasts longer than five minutes: the timer function needs some of them to find it.
const LONGEST_CALL_MS = 250_000;

/** Whether a call of the attempt may be ringing or open. */
export const isLive = ({ state }: Attempt): boolean => state !== 'over';

/** What is spoken now, or was asked to be. */
export const speechNow = ({ later }: Attempt): SpeechNumber => later?.number ?? MESSAGE;

/** What is known of that speech: the message's facts stand in the attempt itself. */
export const speechOfNow = (attempt: Attempt): Omit<LaterSpeech, 'number' | 'before'> => {
  const { later, speakingAt: askedAt = 0, acceptedAt, startedAt, unclearAt } = attempt;
  if (later !== undefined) return later;
  const isUnknown = acceptedAt === undefined && startedAt === undefined;
  return { askedAt, unclearAt, acceptedAt: isUnknown ? undefined : Math.max(acceptedAt ?? 0, startedAt ?? 0) };
};

export const isGoodbye = (speech: SpeechNumber): boolean => !isMessage(speech);

/** What the callee has said by a key; undefined if nothing. A 1 wins over a 3, whichever comes first. */
export const answerBy = ({ confirmedAt, cannotGoAt }: Attempt): 'confirmed' | 'cannot_go' | undefined => {
  if (confirmedAt !== undefined) return 'confirmed';
  return cannotGoAt === undefined ? undefined : 'cannot_go';
};

export const isWithoutReason = (attempt: Attempt): attempt is Attempt & { readonly disconnectedAt: number } =>
  attempt.disconnectedAt !== undefined && (attempt.state === 'claimed' || attempt.state === 'placed');

/** When to look at an attempt if nothing is heard of it; undefined if it is over. */
export const lookAtOf = (attempt: Attempt, { ringMs, messageMs }: CallTerms): number | undefined => {
  if (isWithoutReason(attempt)) return attempt.disconnectedAt + REASON_WITHIN_MS;
  switch (attempt.state) {
    case 'claimed':
      return attempt.lookAt ?? (attempt.resentAt ?? attempt.claimedAt) + DIAL_LEASE_MS;
    case 'placed':
      return (attempt.placedAt ?? attempt.claimedAt) + ringMs;
    case 'speaking':
      return Math.min(speechOverdueAt(attempt, messageMs), latestEnd(attempt));
    case 'hanging_up':
      return (attempt.hangingUpAt ?? 0) + CLAIM_LEASE_MS;
    case 'over':
      return undefined;
  }
};

export const latestEnd = ({ answeredAt, speakingAt = 0 }: Attempt): number =>
  (answeredAt ?? speakingAt) + LONGEST_CALL_MS;

const speechOverdueAt = (attempt: Attempt, messageMs: number): number => {
  if (attempt.quietSince !== undefined) return attempt.quietSince + QUIET_LOOK_MS;
  const { askedAt, acceptedAt, unclearAt } = speechOfNow(attempt);
  if (acceptedAt !== undefined) return acceptedAt + messageMs;
  return unclearAt === undefined ? askedAt + CLAIM_LEASE_MS : unclearAt + START_WITHIN_MS;
};

/** Nothing follows any more from the line's having accepted the message. */
export const isAcceptedKnown = ({ acceptedAt, startedAt, hangingUpAt }: Attempt): boolean =>
  acceptedAt !== undefined || startedAt !== undefined || hangingUpAt !== undefined;

/** Somebody was spoken to, or the line was hung up. */
export const wasTaken = ({ speakingAt, hangingUpAt }: Attempt): boolean =>
  speakingAt !== undefined || hangingUpAt !== undefined;

/**
 * Whether an event can change nothing about an attempt in this state or any later one: then the table need not be asked. It is true of what comes
 * in every good call and says nothing new; of rare events the table is asked.
 */
export const isPast = (attempt: Attempt, event: AttemptEvent): boolean => {
  const isOver = attempt.state === 'over' && wasTaken(attempt);
  switch (event.kind) {
    case 'ringing':
    case 'placed':
      return attempt.callId !== undefined && attempt.placedAt !== undefined;
    case 'connected':
      return isAcceptedKnown(attempt);
    case 'speech accepted':
      return (event.speech ?? MESSAGE) === MESSAGE ? isAcceptedKnown(attempt) : isOver;
    case 'play started':
      return (event.speech ?? MESSAGE) === MESSAGE ? attempt.startedAt !== undefined : isOver;
    case 'play completed':
      return isOver && attempt.completedAt !== undefined;
    case 'tone received':
      return attempt.confirmedAt !== undefined || answerOfKey(event.key?.key) === undefined;
    case 'create failed':
      return attempt.speakingAt !== undefined || (attempt.state === 'over' && attempt.isReasonReported === true);
    case 'no key':
      return true;
    case 'play failed':
    case 'play canceled':
    case 'not placed':
    case 'not found':
    case 'not spoken':
    case 'hung up':
    case 'disconnected':
    case 'spoken to':
    case 'make way':
    case 'look':
      return isOver;
  }
};
