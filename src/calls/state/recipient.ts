import * as z from 'zod';

import {
  answerBy,
  type Command,
  type Attempt,
  type AttemptEvent,
  attemptSchema,
  type CallTerms,
  isLive,
  isPast,
  lookAtOf,
  FIRST_LINE,
} from './attempt.ts';
import { moveAttempt, stoppedRinging } from './move-attempt.ts';
import { NOT_MADE } from '../model/outcome.ts';
import { isMaskedNumber, numberSchema } from '../model/phone-number.ts';
import { extensible, json, time, wholeNumber } from '../model/stored.ts';
import { isAllowed, NOT_ALLOWED } from '../rules/allowed-prefixes.ts';
import type { PhoneRules } from '../rules/policy.ts';
import { afterAttempts, hasReached, type RedialTerms } from '../rules/redial.ts';
import { SET_UP_RETRY_MS } from '../rules/whose-fault.ts';

// Somebody to be told, and what follows each attempt: pure functions from a recipient to the next one and what must be done.

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

/** How far reaching a recipient has come. */
export const RECIPIENT_STATES = [
  /** In a wave whose time has not come. */
  'later',
  /** To be dialled, at `dueAt` or as soon as a line is free. */
  'waiting',
  /** An attempt is under way. */
  'calling',
  ...FINAL_STATES,
] as const;

/** How far reaching a recipient has come. */
export type RecipientState = (typeof RECIPIENT_STATES)[number];

/** A recipient as it is stored. */
export const recipientSchema = extensible({
  state: z.enum(RECIPIENT_STATES),
  /** Whole until the notification is completed; undefined: another system has placed the call. */
  number: numberSchema.optional(),
  /** From 1. */
  wave: wholeNumber,
  /** In the order of their claims. Calls that had no line are not kept. */
  attempts: json(z.array(attemptSchema).readonly()),
  /** When this recipient must be looked at, or not before which it is dialled. */
  dueAt: time.optional(),
  /** Nothing of its own is due: the notification is, when the claims of its first calls run out. Versions before wrote that. */
  isCovered: z.boolean().optional(),
  /** Waits for its first call, with one entry for all of its notification or wave. */
  isGrouped: z.boolean().optional(),
  /** Since when it waits to be dialled: its place in the queue, kept through refusals. */
  queuedAt: time,
  /** Whether the next call is counted among the day's calls already. */
  isCounted: z.boolean().optional(),
  /** Nobody is to dial it any more; what is being spoken goes on. */
  isStopped: z.boolean().optional(),
  /** The final state in which somebody answered after all. Whoever asks was told that it is final: it stays until the next one. */
  toldFinal: z.enum(FINAL_STATES).optional(),
  /** How often a call was declined without costing an attempt: where a line seemed free, and in all. */
  noLine: wholeNumber.optional(),
  refusals: z.int().optional(),
  /** The last call request found no line. */
  hadNoLine: z.boolean().optional(),
  /** The last call that made way for an urgent one: late events of it are not of a foreign call. */
  madeWay: z.string().optional(),
  /** Why it waits. */
  reason: z.string().optional(),
});

/** Somebody to be told, and what was done to that end. Times are in milliseconds since 1970. */
export interface Recipient extends Readonly<z.output<typeof recipientSchema>> {
  /** Its row cannot be read: it stays as it is, and counts as not reached. */
  readonly isUnreadable?: boolean | undefined;
}

/** What reaching a recipient goes by. */
export interface ReachTerms extends RedialTerms, Omit<CallTerms, 'isStopped'>, Pick<PhoneRules, 'allowedPrefixes'> {}

/** A recipient after an event; the same object if nothing changed. */
export interface RecipientChange {
  readonly next: Recipient;
  /** What must be done now, and for which attempt. */
  readonly commands: readonly { readonly command: Command; readonly attemptId: string }[];
  /** No later state of the recipient needs the step: the table need not be asked. */
  readonly isPast?: boolean;
}

const FINAL: ReadonlySet<RecipientState> = new Set(FINAL_STATES);

/** Whether nothing more will be done about a recipient. */
export const isFinal = (recipient: Recipient): recipient is Recipient & { readonly state: FinalState } =>
  FINAL.has(recipient.state);

/** The final state that whoever asks is told; undefined while reaching a recipient goes on. */
export const finalWord = (recipient: Recipient): FinalState | undefined =>
  isFinal(recipient) ? recipient.state : recipient.toldFinal;

/** The attempt of that id; undefined if there is none (any more). */
export const attemptOf = ({ attempts }: Recipient, attemptId: string): Attempt | undefined =>
  attempts.find(({ id }) => id === attemptId);

/** The step that is none. */
export const unchanged = (recipient: Recipient): RecipientChange => ({ next: recipient, commands: [] });

/** Nobody is to ring any more who was reached by another call, or has said there that they cannot go. */
const callTerms = (
  terms: ReachTerms,
  { isStopped = false, attempts }: Pick<Recipient, 'isStopped' | 'attempts'>,
): CallTerms => ({
  ...terms,
  isStopped: isStopped || attempts.some((attempt) => isDoneBy(attempt, terms)),
});

const isDoneBy = (attempt: Attempt, { confirm }: ReachTerms): boolean =>
  hasReached(attempt, confirm) || (confirm && answerBy(attempt) !== undefined);

/**
 * Something happened to an attempt.
 *
 * @param redialAt if a callee who declined is taken for a line that was not free: not dialled before
 */
export const afterEvent = (
  recipient: Recipient,
  attemptId: string,
  event: AttemptEvent,
  terms: ReachTerms,
  now: number,
  redialAt?: number,
): RecipientChange => {
  const attempt = attemptOf(recipient, attemptId);
  if (attempt === undefined) return unchanged(recipient);
  const { next, command } = moveAttempt(attempt, event, callTerms(terms, recipient), now);
  const known = { isPast: isPast(attempt, event) };
  const commands = command === undefined ? [] : [{ command, attemptId }];
  // A line that waits is told what to do also if nothing has changed.
  if (next === attempt) return { ...known, next: recipient, commands };
  const moved = recipient.attempts.map((one) => (one === attempt ? next : one));
  // Late news of an earlier call: the next one need not be answered.
  const isDone = isDoneBy(next, terms);
  const attempts = moved.map((one) => (isDone && one !== next ? stoppedRinging(one, now) : one));
  return {
    ...known,
    next: concluded({ ...recipient, attempts }, terms, now, redialAt),
    commands,
  };
};

/** It is time to look at a recipient, or it was stopped. */
export const looked = (recipient: Recipient, terms: ReachTerms, now: number): RecipientChange => {
  let next = recipient;
  const commands: RecipientChange['commands'][number][] = [];
  for (const { id } of recipient.attempts) {
    const step = afterEvent(next, id, { kind: 'look' }, terms, now);
    next = step.next;
    commands.push(...step.commands);
  }
  return { next, commands };
};

/** How a call is claimed. */
export interface Claim extends Pick<Attempt, 'beside' | 'isProbe'> {
  readonly attemptId: string;
}

/**
 * Late news of the call that made way. It was an attempt after all if somebody heard the message there, or answered: they were spoken to without
 * the table before it was hung up.
 */
export const afterMadeWay = (
  recipient: Recipient,
  event: AttemptEvent,
  terms: ReachTerms,
  now: number,
): RecipientChange => {
  const { madeWay: id = '', attempts } = recipient;
  const isHeard = event.kind === 'tone received' || event.kind === 'play completed';
  if (!isHeard) return { ...unchanged(recipient), isPast: true };
  const { callId } = event;
  const hungUp = { state: 'over', speakingAt: now, hangingUpSince: now, hangingUpAt: now, endedAt: now } as const;
  const attempt: Attempt = { id, callId, claimedAt: now, ...hungUp, outcome: 'unknown' };
  const known = { ...recipient, attempts: [attempt, ...attempts], madeWay: undefined };
  const change = afterEvent(known, id, event, terms, now);
  return change.next === known ? { ...unchanged(recipient), isPast: true } : change;
};

/** Claims to dial a recipient who waits. Nobody is dialled after the deadline, nor who may not be called any more. */
export const claimed = (
  recipient: Recipient,
  { attemptId, beside, isProbe }: Claim,
  terms: ReachTerms,
  now: number,
): RecipientChange => {
  if (recipient.state !== 'waiting') return unchanged(recipient);
  if (now >= terms.deadlineAt) return unchanged(givenUp(recipient, now));
  const { number } = recipient;
  if (number !== undefined && !isMaskedNumber(number) && !isAllowed(number, terms.allowedPrefixes)) {
    return unchanged(refused(recipient, NOT_ALLOWED, now));
  }
  const attempt: Attempt = {
    id: attemptId,
    line: terms.line.name === FIRST_LINE ? undefined : terms.line.name,
    state: 'claimed',
    claimedAt: now,
    holdsNumber: true,
    beside,
    isProbe,
  };
  const attempts = [...recipient.attempts, attempt];
  return {
    next: concluded({ ...recipient, attempts, isCounted: true, reason: undefined }, terms, now),
    commands: [{ command: 'dial', attemptId }],
  };
};

/** Our own rules say that somebody is not called: an attempt without a call tells why. */
export const refused = (recipient: Recipient, reason: string, now: number): Recipient =>
  final({ ...recipient, attempts: [...recipient.attempts, refusal(reason, now)] }, 'failed');

/** An attempt that tells why somebody is not called at all. */
const refusal = (reason: string, now: number): Attempt => ({
  id: 'no call',
  state: 'over',
  claimedAt: now,
  endedAt: now,
  outcome: 'refused',
  reason,
});

/** No time is left. An attempt without a call tells why, if nothing else does. */
const givenUp = (recipient: Recipient, now: number): Recipient => {
  const reason = recipient.reason ?? 'no time left';
  const why: Attempt = { ...refusal(reason, now), outcome: 'unknown' };
  const isExplained = recipient.attempts.length > 0 && recipient.reason === undefined;
  return final(isExplained ? recipient : { ...recipient, attempts: [...recipient.attempts, why] }, 'not_reached');
};

/** The day's calls are used up: nothing is dialled before `until`. */
export const postponed = (
  recipient: Recipient,
  until: number,
  reason: string,
  { deadlineAt }: ReachTerms,
): Recipient =>
  recipient.state === 'waiting'
    ? { ...recipient, dueAt: Math.min(until, deadlineAt), isGrouped: undefined, hadNoLine: undefined, reason }
    : recipient;

/** The time of its wave has come. */
export const opened = (recipient: Recipient, now: number): Recipient =>
  recipient.state === 'later'
    ? { ...recipient, state: 'waiting', dueAt: now, queuedAt: now, isGrouped: true }
    : recipient;

/** The time of its wave comes too late. */
export const neverOpened = (recipient: Recipient, now: number): Recipient =>
  recipient.state === 'later' ? givenUp(recipient, now) : recipient;

/**
 * Nobody is to dial it any more: who waits is done with; who rings is hung up; who is spoken to hears it to the end. When it is looked at
 * stays as it was: the notification sees to the hang-ups, so that those of 50 people fit one transaction.
 */
export const stopped = (recipient: Recipient, now: number): Recipient => {
  if (recipient.isStopped === true || recipient.isUnreadable === true) return recipient;
  const attempts = recipient.attempts.map((attempt) => stoppedRinging(attempt, now));
  const next = { ...recipient, isStopped: true, attempts };
  // Also who was given up: somebody may answer after all.
  return isFinal(recipient) || recipient.state === 'calling' ? next : final(next, finalWord(recipient) ?? 'stopped');
};

/** The number is not needed any more. */
export const final = (recipient: Recipient, state: RecipientState): Recipient => ({
  ...recipient,
  state,
  dueAt: undefined,
  isCovered: undefined,
  isGrouped: undefined,
  isCounted: undefined,
  toldFinal: undefined,
  hadNoLine: undefined,
  reason: undefined,
});

/** What follows from the attempts. Late news about one that was over may change what was decided before. */
const concluded = (recipient: Recipient, terms: ReachTerms, now: number, redialAt?: number): Recipient => {
  const notMade = isFinal(recipient) ? undefined : recipient.attempts.find(isNotMade);
  // Where nothing more will be done, it was an attempt all the same.
  const attempts = recipient.attempts.flatMap((attempt) =>
    isNotMade(attempt) ? (isFinal(recipient) ? { ...attempt, outcome: 'unknown' as const } : []) : attempt,
  );
  const madeWay = notMade?.outcome === 'made_way' ? notMade.id : recipient.madeWay;
  const next: Recipient = { ...recipient, attempts, madeWay, isCovered: undefined, isGrouped: undefined };
  const lookAt = attempts.flatMap((attempt) => lookAtOf(attempt, callTerms(terms, recipient)) ?? []);
  if (attempts.some(isLive)) {
    const toldFinal = finalWord(recipient);
    return { ...next, state: 'calling', toldFinal, dueAt: Math.min(...lookAt), reason: undefined };
  }
  const follows = afterAttempts(attempts, terms);
  const end = follows.kind === 'final' ? follows.state : undefined;
  if (end === 'heard' || end === 'confirmed' || end === 'cannot_go') return final(next, end);
  if (recipient.isStopped === true) return final(next, finalWord(recipient) ?? 'stopped');
  if (notMade !== undefined) return waitingAgain(next, notMade, now, redialAt);
  if (isFinal(recipient)) return recipient.state === 'not_reached' && end === 'failed' ? final(next, end) : next;
  const isNumberKnown = next.number !== undefined && !isMaskedNumber(next.number);
  if (follows.kind === 'final' || !isNumberKnown) return final(next, end ?? 'not_reached');
  // Never in the past: one with a wrong time must not be found again and again.
  const dueAt = Math.max(follows.at, now);
  return {
    ...next,
    state: 'waiting',
    dueAt,
    queuedAt: dueAt,
    isCounted: undefined,
    hadNoLine: undefined,
    reason: undefined,
  };
};

const WITHOUT_CALL: ReadonlySet<string | undefined> = new Set(NOT_MADE);

const isNotMade = ({ outcome }: Attempt): boolean => WITHOUT_CALL.has(outcome);

/** No attempt was made after all: it keeps its place. A call that may have rung counts among the day's; the next one is counted anew. */
const waitingAgain = (
  recipient: Recipient,
  { outcome, reason, isProbe }: Attempt,
  now: number,
  redialAt: number | undefined,
): Recipient => {
  const { queuedAt, noLine = 0, refusals = 0 } = recipient;
  const waiting: Recipient = { ...recipient, state: 'waiting', dueAt: queuedAt, isCounted: true, reason };
  if (outcome === 'set_up') return { ...waiting, dueAt: now + SET_UP_RETRY_MS, hadNoLine: undefined };
  if (outcome === 'made_way') return { ...waiting, isCounted: undefined };
  if (redialAt === undefined) return { ...waiting, hadNoLine: true };
  return {
    ...waiting,
    dueAt: redialAt,
    isCounted: undefined,
    hadNoLine: true,
    noLine: isProbe === true ? noLine : noLine + 1,
    refusals: refusals + 1,
  };
};
