import * as z from 'zod';
import { isMaskedNumber, numberSchema } from '../model/phone-number.ts';
import { CALLS_USED_UP, NOT_CALLABLE, type PhoneRules, whyNotCallable } from '../rules/policy.ts';
import { FREE_DECLINES, isQuickDecline } from '../rules/queue.ts';
import { afterAttempts, hasReached, type RedialTerms } from '../rules/redial.ts';
import {
  acceptedAtOf,
  answerBy,
  type Attempt,
  type AttemptEvent,
  type AttemptIn,
  attemptSchema,
  type CallTerms,
  DIAL_LEASE_MS,
  isLive,
  stoppedRinging,
} from './attempt.ts';
import { moveAttempt, type NotMade } from './move-attempt.ts';

// Somebody to be told, and what follows from each attempt: pure functions from a recipient to the next one.

/** How reaching a recipient can end. */
export const FINAL_STATES = [
  /** Heard the message, or its first unit. */
  'heard',
  /** Pressed 1. */
  'confirmed',
  /** Pressed 3. */
  'cannot_go',
  /** Was not reached within the attempts and the time. */
  'not_reached',
  /** Cannot be called. */
  'failed',
  /** The notification was stopped, or enough others have confirmed. */
  'stopped',
] as const;

/** How reaching a recipient has ended. */
export type FinalState = (typeof FINAL_STATES)[number];

const common = {
  /** Whole until the notification is over. */
  number: numberSchema,
  /** Shown beside the number, never spoken. */
  name: z.string().optional(),
  /** From 1. */
  wave: z.int(),
  /** In the order of their claims. Requests that placed no call for want of capacity are not kept. */
  attempts: z.array(attemptSchema).readonly(),
  /** Nobody is to dial it any more. A message that is being spoken goes on. */
  isStopped: z.boolean().optional(),
} as const;

/** A recipient as it is stored. */
export const recipientSchema = z.discriminatedUnion('state', [
  /** In a wave that has not begun. */
  z.object({ ...common, state: z.literal('later') }),
  /** To be dialed, at `dueAt` or as soon as a line is free. Times are in milliseconds since 1970. */
  z.object({
    ...common,
    state: z.literal('waiting'),
    dueAt: z.number(),
    /** Its place in the queue. */
    queuedAt: z.number(),
    /** It waits for the next UTC day, because the calls of this one are used up. */
    isOverDayLimit: z.boolean().optional(),
    /** Why its last call request placed no call, in words. */
    reason: z.string().optional(),
  }),
  /** An attempt is under way. */
  z.object({ ...common, state: z.literal('calling') }),
  z.object({ ...common, state: z.enum(FINAL_STATES) }),
]);

/** Somebody to be told, and what was done to that end. */
export type Recipient = Readonly<z.output<typeof recipientSchema>>;

/** A recipient that waits to be dialed. */
export type WaitingRecipient = Extract<Recipient, { readonly state: 'waiting' }>;

/** What reaching a recipient depends on. */
export interface ReachTerms extends RedialTerms, Omit<CallTerms, 'isStopped'>, Pick<PhoneRules, 'allowedPrefixes'> {}

/** A recipient after an event; the same object if nothing changed. */
export interface RecipientChange {
  readonly next: Recipient;
  /** The call request placed no call. */
  readonly notMade?: NotMade | undefined;
}

const FINAL: ReadonlySet<string> = new Set(FINAL_STATES);

/** Whether nothing more will be done to reach a recipient. A late call may still improve its state. */
export const isFinal = (recipient: Recipient): recipient is Recipient & { readonly state: FinalState } =>
  FINAL.has(recipient.state);

/** The attempt of that id; undefined if there is none (any more). */
export const attemptOf = ({ attempts }: Recipient, attemptId: string): Attempt | undefined =>
  attempts.find(({ id }) => id === attemptId);

/** What a recipient answered by a key, in any of its calls; undefined if nothing. */
export const answerOf = ({ attempts }: Pick<Recipient, 'attempts'>): ReturnType<typeof answerBy> => {
  const answers = new Set(attempts.map(answerBy));
  return answers.has('confirmed') ? 'confirmed' : answers.has('cannot_go') ? 'cannot_go' : undefined;
};

const commonOf = ({ number, name, wave, attempts, isStopped }: Recipient) => ({
  number,
  name,
  wave,
  attempts,
  isStopped,
});

/** A recipient for whom nothing more is done. */
export const final = (recipient: Recipient, state: FinalState): Recipient => ({ ...commonOf(recipient), state });

/** A callee who was reached by another call, or answered there that they cannot go, is not to ring any more. */
const callTerms = (terms: ReachTerms, { isStopped = false, attempts }: Recipient): CallTerms => ({
  ...terms,
  isStopped: isStopped || attempts.some((attempt) => isDoneBy(attempt, terms)),
});

const isDoneBy = (attempt: Attempt, { confirm }: ReachTerms): boolean =>
  (attempt.state === 'over' && hasReached(attempt, confirm)) || (confirm && answerBy(attempt) !== undefined);

/** Something happened to an attempt. */
export const afterEvent = (
  recipient: Recipient,
  attemptId: string,
  event: AttemptEvent,
  terms: ReachTerms,
  now: number,
): RecipientChange => {
  const attempt = attemptOf(recipient, attemptId);
  if (attempt === undefined) return { next: recipient };
  const moved = moveAttempt(attempt, event, callTerms(terms, recipient), now);
  if (moved === attempt) return { next: recipient };
  if (moved.state === 'not made') {
    const attempts = recipient.attempts.filter((one) => one !== attempt);
    return { next: notMade({ ...recipient, attempts }, moved, terms, now), notMade: moved };
  }
  const next = withFreeDecline(moved, recipient.attempts);
  const isDone = isDoneBy(next, terms);
  // Late news of an earlier call: the next one need not be answered.
  const attempts = recipient.attempts.map((one) => (one === attempt ? next : isDone ? stoppedRinging(one, now) : one));
  return { next: concluded({ ...recipient, attempts }, terms, now) };
};

/** The first quick declines of a recipient cost no attempt. */
const withFreeDecline = (attempt: Attempt, others: readonly Attempt[]): Attempt => {
  if (attempt.state !== 'over' || attempt.outcome !== 'declined' || attempt.isFree !== undefined) return attempt;
  const free = others.filter((one) => one.state === 'over' && one.isFree === true).length;
  const isFree = free < FREE_DECLINES && isQuickDecline({ ...attempt, acceptedAt: startOf(attempt) });
  return isFree ? { ...attempt, isFree } : attempt;
};

/** When a call that is over began to ring, as far as that is known. */
const startOf = (attempt: AttemptIn<'over'>): number => acceptedAtOf(attempt) ?? attempt.claimedAt;

/** It is time to check a recipient, or it was stopped. @param mayResend whether a call request of it may be sent again */
export const looked = (recipient: Recipient, mayResend: boolean, terms: ReachTerms, now: number): Recipient => {
  const checked = recipient.attempts.reduce<Recipient>(
    (known, { id }) => afterEvent(known, id, { kind: 'look', mayResend }, terms, now).next,
    recipient,
  );
  return checked.state === 'waiting' && now >= terms.deadlineAt ? givenUp(checked, now) : checked;
};

/** A claim to dial a recipient that waits. Nobody is dialed after the deadline, nor if the number may not be called any more. */
export const claimed = (
  recipient: Recipient,
  { attemptId, openThen }: { readonly attemptId: string; readonly openThen: number },
  terms: ReachTerms,
  now: number,
): Recipient => {
  if (recipient.state !== 'waiting' || isMaskedNumber(recipient.number)) return recipient;
  if (now >= terms.deadlineAt) return givenUp(recipient, now);
  const why = whyNotCallable(recipient.number, terms.allowedPrefixes);
  if (why !== undefined) return refused(recipient, NOT_CALLABLE[why], now);
  const attempt = newAttempt(attemptId, openThen, terms, now);
  return { ...commonOf(recipient), state: 'calling', attempts: [...recipient.attempts, attempt] };
};

const newAttempt = (id: string, openThen: number, { line }: ReachTerms, now: number): AttemptIn<'claimed'> => ({
  id,
  line: line.name,
  state: 'claimed',
  claimedAt: now,
  openThen,
  callIds: [],
  sent: 1,
  sentAt: now,
  checkAt: now + DIAL_LEASE_MS,
});

/** A recipient that is never called. An attempt without a call says why. */
export const refused = (recipient: Recipient, reason: string, now: number): Recipient =>
  final({ ...recipient, attempts: [...recipient.attempts, withoutCall('refused', reason, now)] }, 'failed');

const withoutCall = (outcome: 'refused' | 'unknown', reason: string, now: number): AttemptIn<'over'> => ({
  id: 'no call',
  line: '',
  state: 'over',
  claimedAt: now,
  openThen: 0,
  callIds: [],
  endedAt: now,
  heardUntil: now,
  outcome,
  reason,
});

/** No time is left. An attempt without a call says why, if no attempt does. */
const givenUp = (recipient: Recipient, now: number): Recipient => {
  const { attempts } = recipient;
  const own = recipient.state === 'waiting' ? (recipient.reason ?? dayLimitReason(recipient)) : undefined;
  if (attempts.length > 0 && own === undefined) return final(recipient, 'not_reached');
  const why = withoutCall('unknown', own ?? 'no time left', now);
  return final({ ...recipient, attempts: [...attempts, why] }, 'not_reached');
};

const dayLimitReason = ({ isOverDayLimit }: WaitingRecipient): string | undefined =>
  isOverDayLimit === true ? CALLS_USED_UP : undefined;

/** The calls of the day are used up: nobody is dialed before `until`. */
export const postponed = (recipient: Recipient, until: number, { deadlineAt }: ReachTerms): Recipient =>
  recipient.state === 'waiting'
    ? { ...recipient, dueAt: Math.min(until, deadlineAt), isOverDayLimit: true, reason: undefined }
    : recipient;

/** A recipient that waits to be dialed from now on. */
export const waiting = (recipient: Recipient, dueAt: number, reason?: string): Recipient => ({
  ...commonOf(recipient),
  state: 'waiting',
  dueAt,
  queuedAt: dueAt,
  reason,
});

/** The time of its wave has come. */
export const opened = (recipient: Recipient, now: number): Recipient =>
  recipient.state === 'later' ? waiting(recipient, now) : recipient;

/** The time of its wave comes too late. */
export const neverOpened = (recipient: Recipient, now: number): Recipient =>
  recipient.state === 'later' ? givenUp(recipient, now) : recipient;

/** Nobody is to dial it any more: a waiting recipient is done with, a ringing call is hung up, a message that is spoken goes on. */
export const stopped = (recipient: Recipient, now: number): Recipient => {
  if (recipient.isStopped === true) return recipient;
  const attempts = recipient.attempts.map((attempt) => stoppedRinging(attempt, now));
  const next = { ...recipient, isStopped: true, attempts };
  return isFinal(recipient) || recipient.state === 'calling' ? next : final(next, 'stopped');
};

/** No call was placed, for a reason that passes: it costs no attempt. */
const notMade = (recipient: Recipient, { result }: NotMade, terms: ReachTerms, now: number): Recipient => {
  const isOver = isFinal(recipient) || recipient.isStopped === true || recipient.attempts.some(isLive);
  return isOver ? concluded(recipient, terms, now) : waiting(recipient, now, result.reason);
};

/** What follows from the attempts. A final state only improves. */
const concluded = (recipient: Recipient, terms: ReachTerms, now: number): Recipient => {
  const past = recipient.attempts.flatMap((attempt) =>
    attempt.state === 'over' ? { ...attempt, acceptedAt: startOf(attempt) } : [],
  );
  const follows = afterAttempts(past, terms);
  const end = follows.kind === 'final' ? follows.state : undefined;
  if (isFinal(recipient))
    return end !== undefined && isBetter(end, recipient.state) ? final(recipient, end) : recipient;
  if (recipient.attempts.some(isLive)) return { ...commonOf(recipient), state: 'calling' };
  if (end !== undefined && isBetter(end, 'stopped')) return final(recipient, end);
  if (recipient.isStopped === true) return final(recipient, 'stopped');
  if (follows.kind === 'final' || isMaskedNumber(recipient.number)) return final(recipient, end ?? 'not_reached');
  // Never in the past: a wrong time must not be found due again and again.
  return waiting(recipient, Math.max(follows.at, now));
};

const RANK: Readonly<Record<FinalState, number>> = {
  confirmed: 2,
  heard: 2,
  cannot_go: 1,
  not_reached: 0,
  failed: 0,
  stopped: 0,
};

const isBetter = (end: FinalState, than: FinalState): boolean => RANK[end] > RANK[than];
