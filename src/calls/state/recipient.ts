import {
  answerBy,
  type Ask,
  type Attempt,
  type AttemptEvent,
  type CallTerms,
  isLive,
  FIRST_LINE,
  isPast,
  type LineTerms,
  lookAtOf,
  moveAttempt,
} from './attempt.ts';
import type { NotMade } from '../model/outcome.ts';
import { isMaskedNumber, type MaskedNumber, type PhoneNumber } from '../model/phone-number.ts';
import { afterAttempts, type RedialTerms } from '../rules/redial.ts';

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

/** Somebody to be told, and what was done to that end. Times are in milliseconds since 1970. */
export interface Recipient {
  readonly state: RecipientState;
  /** Whole until the notification is completed; undefined: another system has placed the call. */
  readonly number?: PhoneNumber | MaskedNumber | undefined;
  /** From 1. */
  readonly wave: number;
  /** In the order of their claims. Calls that had no line are not kept. */
  readonly attempts: readonly Attempt[];
  /** When this recipient must be looked at; of those who wait for a line, since when: they are served in that order. */
  readonly dueAt?: number | undefined;
  /** Nothing of its own is due: the notification is, when the claims of its first calls run out. */
  readonly isCovered?: boolean | undefined;
  /** Since when it waits to be dialled. */
  readonly queuedAt: number;
  /** Whether the next call is counted among the day's calls already. */
  readonly isCounted?: boolean | undefined;
  /** Nobody is to dial it any more; what is being spoken goes on. */
  readonly isStopped?: boolean | undefined;
  /** The final state in which somebody answered after all. Whoever asks was told that it is final: it stays until the next one. */
  readonly toldFinal?: FinalState | undefined;
  /** How often a call was declined while others were open, and beside how many: so it was for want of a line. */
  readonly noLine?: number | undefined;
  readonly refusedBeside?: number | undefined;
  /** Why it waits. */
  readonly reason?: string | undefined;
}

/** What a recipient's steps need to know beside the recipient. */
export interface ReachTerms extends RedialTerms, Omit<CallTerms, 'isStopped'> {}

/** A recipient after an event; the same object if nothing changed. */
export interface RecipientStep {
  readonly next: Recipient;
  /** What must be done now, and for which attempt. */
  readonly asks: readonly { readonly ask: Ask; readonly attemptId: string }[];
  /** No later state of the recipient needs the step: the table need not be asked. */
  readonly isPast?: boolean;
}

/** Lines that are mended are tried again after so long, in milliseconds. */
export const SET_UP_RETRY_MS = 30_000;
/** How often a call of one recipient may end because no line is free before it counts as declined. */
export const MOST_WITHOUT_LINE = 5;

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
export const unchanged = (recipient: Recipient): RecipientStep => ({ next: recipient, asks: [] });

/** Also who has answered by a key in another call is not to ring any more. */
const callTerms = (terms: ReachTerms, { isStopped = false, attempts }: Recipient, own: Attempt): CallTerms => ({
  ...terms,
  isStopped: isStopped || attempts.some((attempt) => attempt.id !== own.id && answerBy(attempt) !== undefined),
});

/**
 * Something happened to an attempt.
 *
 * @param beside how many other calls were open; only if this one had no line
 */
export const afterEvent = (
  recipient: Recipient,
  attemptId: string,
  event: AttemptEvent,
  terms: ReachTerms,
  now: number,
  beside?: number,
): RecipientStep => {
  const attempt = attemptOf(recipient, attemptId);
  if (attempt === undefined) return unchanged(recipient);
  const { next, ask } = moveAttempt(attempt, event, callTerms(terms, recipient, attempt), now);
  const known = { isPast: isPast(attempt, event) };
  const own = ask === undefined ? [] : [{ ask, attemptId }];
  if (next === attempt) return { ...known, next: recipient, asks: own };
  const moved = { ...recipient, attempts: recipient.attempts.map((one) => (one === attempt ? next : one)) };
  const isAnswer = answerBy(attempt) === undefined && answerBy(next) !== undefined;
  const others = isAnswer ? withoutRinging(moved, next, terms, now) : unchanged(moved);
  return {
    ...known,
    next: settled(others.next, terms, now, beside),
    asks: [...own, ...others.asks],
  };
};

/** Who has answered in an earlier call is not to be rung again: a late key may find the next call ringing. */
const withoutRinging = (recipient: Recipient, answered: Attempt, terms: ReachTerms, now: number): RecipientStep => {
  const asks: RecipientStep['asks'][number][] = [];
  const attempts = recipient.attempts.map((attempt) => {
    if (attempt.id === answered.id || attempt.state !== 'placed') return attempt;
    const { next, ask } = moveAttempt(attempt, { kind: 'look' }, callTerms(terms, recipient, attempt), now);
    if (ask !== undefined) asks.push({ ask, attemptId: attempt.id });
    return next;
  });
  return { next: { ...recipient, attempts }, asks };
};

/** It is time to look at a recipient, or it was stopped. */
export const looked = (recipient: Recipient, terms: ReachTerms, now: number): RecipientStep => {
  let next = recipient;
  const asks: RecipientStep['asks'][number][] = [];
  for (const { id } of recipient.attempts) {
    const step = afterEvent(next, id, { kind: 'look' }, terms, now);
    next = step.next;
    asks.push(...step.asks);
  }
  return { next, asks };
};

/** Claims to dial a recipient who waits. Nobody is dialled after the deadline. */
export const dialled = (recipient: Recipient, attemptId: string, terms: ReachTerms, now: number): RecipientStep => {
  if (recipient.state !== 'waiting' || (recipient.dueAt ?? 0) > now) return unchanged(recipient);
  if (now >= terms.deadlineAt) return unchanged(givenUp(recipient, attemptId, now));
  const attempts = [...recipient.attempts, newAttempt(attemptId, now, terms.line)];
  return {
    next: settled({ ...recipient, attempts, isCounted: true, reason: undefined }, terms, now),
    asks: [{ ask: 'dial', attemptId }],
  };
};

/** A claim to dial. */
export const newAttempt = (id: string, now: number, line?: LineTerms): Attempt => ({
  id,
  ...(line === undefined || line.name === FIRST_LINE.name ? {} : { line: line.name }),
  state: 'claimed',
  claimedAt: now,
});

/** An attempt that tells why somebody is not called at all. */
export const refusal = (id: string, reason: string, now: number): Attempt => ({
  id,
  state: 'over',
  claimedAt: now,
  endedAt: now,
  outcome: 'refused',
  reason,
});

/** No time is left. An attempt without a call tells why, if nothing else does. */
const givenUp = (recipient: Recipient, attemptId: string, now: number): Recipient => {
  const reason = recipient.reason ?? 'no time left';
  const why: Attempt = { ...refusal(attemptId, reason, now), outcome: 'unknown' };
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
  recipient.state === 'waiting' ? { ...recipient, dueAt: Math.min(until, deadlineAt), reason } : recipient;

/** The time of its wave has come. */
export const opened = (recipient: Recipient, now: number): Recipient =>
  recipient.state === 'later' ? { ...recipient, state: 'waiting', dueAt: now, queuedAt: now } : recipient;

/** The time of its wave comes too late. */
export const neverOpened = (recipient: Recipient, attemptId: string, now: number): Recipient =>
  recipient.state === 'later' ? givenUp(recipient, attemptId, now) : recipient;

/** Nobody is to dial it any more: who waits is done with; who rings is hung up when looked at; who is spoken to hears it to the end. */
export const stopped = (recipient: Recipient): Recipient => {
  if (recipient.isStopped === true) return recipient;
  const next = { ...recipient, isStopped: true };
  // Also who was given up: somebody may answer after all.
  return isFinal(recipient) || recipient.state === 'calling' ? next : final(next, finalWord(recipient) ?? 'stopped');
};

/** The number is not needed any more. */
export const final = (recipient: Recipient, state: RecipientState): Recipient => ({
  ...recipient,
  state,
  dueAt: undefined,
  isCovered: undefined,
  isCounted: undefined,
  toldFinal: undefined,
  reason: undefined,
});

/** What follows from the attempts. Late news about one that was over may change what was decided before. */
const settled = (recipient: Recipient, terms: ReachTerms, now: number, beside?: number): Recipient => {
  const notMade = isFinal(recipient) ? undefined : recipient.attempts.find(isNotMade);
  // Where nothing more will be done, it was an attempt all the same.
  const attempts = recipient.attempts.flatMap((attempt) =>
    isNotMade(attempt) ? (isFinal(recipient) ? { ...attempt, outcome: 'unknown' as const } : []) : attempt,
  );
  const next: Recipient = { ...recipient, attempts, isCovered: undefined };
  const lookAt = attempts.flatMap((attempt) => lookAtOf(attempt, callTerms(terms, recipient, attempt)) ?? []);
  if (attempts.some(isLive)) {
    const toldFinal = finalWord(recipient);
    return { ...next, state: 'calling', toldFinal, dueAt: Math.min(...lookAt), reason: undefined };
  }
  const follows = afterAttempts(attempts, terms);
  if (follows.kind === 'reached') return final(next, follows.outcome);
  if (recipient.isStopped === true) return final(next, finalWord(recipient) ?? 'stopped');
  if (notMade !== undefined) return waitingForLine(next, notMade, now, beside);
  if (isFinal(recipient))
    return recipient.state === 'not_reached' && follows.kind === 'failed' ? final(next, 'failed') : next;
  if (follows.kind === 'failed') return final(next, 'failed');
  if (follows.kind === 'given up' || next.number === undefined || isMaskedNumber(next.number)) {
    return final(next, 'not_reached');
  }
  // Never in the past: one with a wrong time must not be found again and again.
  const dueAt = Math.max(follows.at, now);
  return { ...next, state: 'waiting', dueAt, queuedAt: dueAt, isCounted: undefined, reason: undefined };
};

const isNotMade = ({ outcome }: Attempt): boolean => outcome === 'no_line' || outcome === 'set_up';

/** The call of the day that it was counted for is still to come. */
const waitingForLine = (
  recipient: Recipient,
  { outcome, reason }: Attempt & { readonly outcome?: Attempt['outcome'] | NotMade },
  now: number,
  beside: number | undefined,
): Recipient => ({
  ...recipient,
  state: 'waiting',
  reason,
  isCounted: true,
  ...(outcome === 'set_up'
    ? { dueAt: now + SET_UP_RETRY_MS }
    : {
        dueAt: recipient.queuedAt,
        // It may have rung: it counts among the day's calls.
        ...(beside === undefined
          ? {}
          : { noLine: (recipient.noLine ?? 0) + 1, refusedBeside: beside, isCounted: undefined }),
      }),
});
