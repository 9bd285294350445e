import type { CallResult, Failure } from '../model/call-event.ts';
import type { Outcome } from '../model/outcome.ts';
import { answerBy, type Attempt, type AttemptIn, type CallTerms, isLive, type LiveAttempt, talkOf } from './attempt.ts';

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
