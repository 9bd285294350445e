import type { CallOutcome } from './call-outcome.ts';
import type { ResultCodes } from './call-event.ts';
import type { CallId } from './call-id.ts';
import { LONGEST_REQUEST_MS, LONGEST_RINGING_MS } from './phone-line.ts';
import { isMaskedNumber } from './phone-number.ts';
import {
  type Attempt,
  attemptOf,
  currentAttempt,
  hasHeard,
  isFinal,
  isReached,
  type Recipient,
  type RecipientState,
} from './recipient-state.ts';

// What an event changes about a recipient: pure functions, from a recipient to the next one and what must be done.

/** How long a person is tried. */
export interface ReachRules {
  /** Calls at most; those that had no line or got lost do not count. There are at most as many again of the latter. */
  readonly attempts: number;
  /** From the end of an attempt to the next one, in milliseconds. */
  readonly retryMs: number;
}

/** What an event changes about a recipient, and what follows. */
export interface RecipientStep<Action> {
  /** Undefined where nothing changes. */
  readonly next?: Recipient;
  readonly action: Action;
}

/** How long one instance has to send a call request and to write down the answer, in milliseconds. */
export const DIAL_LEASE_MS = LONGEST_REQUEST_MS + 10_000;
// A call request whose answer is unclear is sent again so often: the line acts once for it.
const MOST_RESENT = 2;
/** How long an attempt of which nothing was heard may still ring or be answered after its call request was last sent, in milliseconds. */
export const UNCLEAR_MS = LONGEST_RINGING_MS + 30_000;
/** How long after a call was placed it is looked after, in milliseconds; the last event needs time to arrive. */
export const LOOK_AFTER_MS = LONGEST_RINGING_MS + 10_000;

const NOTHING = { action: 'nothing' } as const;

const withAttempt = (recipient: Recipient, changed: Attempt): readonly Attempt[] =>
  recipient.attempts.map((attempt) => (attempt.id === changed.id ? changed : attempt));

/** Whether this instance may send the call request. */
export type DialClaim =
  /** It must send it, and write down the answer. */
  | 'claimed'
  /** Too late; the recipient is `not_reached` now. */
  | 'given up'
  | 'nothing';

/**
 * Claims to dial a waiting recipient. Claiming twice with the same id is one claim: the answer to the first write may have been lost.
 *
 * @param attemptId a new UUID
 */
export const claim = (recipient: Recipient, attemptId: string, now: number): RecipientStep<DialClaim> => {
  if (recipient.state === 'dialling' && currentAttempt(recipient)?.id === attemptId) return { action: 'claimed' };
  if (recipient.state !== 'waiting' || (recipient.dueAt ?? 0) > now) return NOTHING;
  if (now >= recipient.deadlineAt || isMaskedNumber(recipient.number))
    return { next: givenUp(recipient, attemptId, now), action: 'given up' };
  const attempt: Attempt = { id: attemptId, claimedAt: now };
  return {
    next: {
      ...recipient,
      state: 'dialling',
      attempts: [...recipient.attempts, attempt],
      dueAt: now + DIAL_LEASE_MS,
      reserved: true,
    },
    action: 'claimed',
  };
};

/** No time is left. An attempt without a call tells why, if nothing else does. */
const givenUp = (recipient: Recipient, attemptId: string, now: number): Recipient => {
  const isExplained = recipient.attempts.length > 0 && recipient.reason === undefined;
  if (isExplained) return final(recipient, 'not_reached', recipient.attempts);
  const reason = recipient.reason ?? 'no time left';
  const why: Attempt = { id: attemptId, claimedAt: now, endedAt: now, outcome: 'unknown', reason };
  return final(recipient, 'not_reached', [...recipient.attempts, why]);
};

// Who heard in an earlier attempt, which became known late, heard: whatever the last one came to.
const final = (recipient: Recipient, state: RecipientState, attempts: readonly Attempt[]): Recipient => ({
  ...recipient,
  state: hasHeard(attempts) ? 'heard' : state,
  attempts,
  dueAt: undefined,
  reserved: false,
  reason: undefined,
});

/** The day's calls are used up: nothing is dialled before `until`. */
export const postponed = (
  recipient: Recipient,
  until: number,
  reason: string,
  now: number,
): RecipientStep<'nothing'> =>
  recipient.state === 'waiting' && (recipient.dueAt ?? 0) <= now
    ? {
        next: { ...recipient, dueAt: Math.max(now + 1, Math.min(until, recipient.deadlineAt)), reason },
        action: 'nothing',
      }
    : NOTHING;

/** The line accepted the call. Its events may have come first. */
export const placed = (
  recipient: Recipient,
  attemptId: string,
  callId: CallId,
  now: number,
): RecipientStep<'nothing'> => {
  const attempt = attemptOf(recipient, attemptId);
  if (attempt === undefined || (attempt.placedAt !== undefined && attempt.callId === callId)) return NOTHING;
  const attempts = withAttempt(recipient, {
    ...attempt,
    callId: attempt.callId ?? callId,
    placedAt: attempt.placedAt ?? now,
  });
  return recipient.state === 'dialling' && currentAttempt(recipient)?.id === attemptId
    ? { next: calling({ ...recipient, attempts }, now + LOOK_AFTER_MS), action: 'nothing' }
    : { next: { ...recipient, attempts }, action: 'nothing' };
};

const calling = (recipient: Recipient, dueAt: number): Recipient => ({
  ...recipient,
  state: 'calling',
  dueAt,
  reserved: false,
  reason: undefined,
});

/** Whether the attempt that an event names is this recipient's. */
export type Owned = 'owned' | 'unknown attempt';

/**
 * A call of the attempt was answered. That may be the first that is known of it, and it may have been reported as over, wrongly: nobody
 * may be dialled while the message is being spoken.
 *
 * @param dueAt when the message should be over
 */
export const answered = (
  recipient: Recipient,
  attemptId: string,
  callId: CallId,
  dueAt: number,
): RecipientStep<Owned> => {
  const attempt = attemptOf(recipient, attemptId);
  if (attempt === undefined) return { action: 'unknown attempt' };
  if (recipient.attempts.at(-1)?.id !== attemptId || recipient.state === 'heard') return { action: 'owned' };
  const { id, claimedAt, resent, resentAt, placedAt } = attempt;
  const attempts = withAttempt(recipient, {
    id,
    claimedAt,
    resent,
    resentAt,
    placedAt,
    callId: attempt.callId ?? callId,
  });
  return { next: calling({ ...recipient, attempts }, dueAt), action: 'owned' };
};

/** Why a call request was not carried out. */
export interface NotPlaced extends ResultCodes {
  /**
   * - `passing`: surely not done, for a reason that passes: costs no attempt;
   * - `refused`: surely not done, and of no use to ask again;
   * - `unclear`: it may have been done.
   */
  readonly kind: 'passing' | 'refused' | 'unclear';
  /** In words. */
  readonly reason: string;
}

/** The line did not accept the call, or did not say so. */
export const notPlaced = (
  recipient: Recipient,
  attemptId: string,
  { kind, ...why }: NotPlaced,
  queuedAt: number,
  now: number,
): RecipientStep<'nothing' | 'ended'> => {
  const attempt = currentAttempt(recipient);
  // Its events have come: it was done after all.
  if (recipient.state !== 'dialling' || attempt?.id !== attemptId) return NOTHING;
  const isFirstOrder = attempt.resent === undefined;
  if (kind === 'passing' && isFirstOrder) {
    const attempts = recipient.attempts.filter(({ id }) => id !== attemptId);
    if (hasHeard(attempts)) return { next: final(recipient, 'heard', attempts), action: 'ended' };
    return {
      next: { ...recipient, state: 'waiting', attempts, dueAt: queuedAt, reason: why.reason },
      action: 'nothing',
    };
  }
  if (kind === 'refused' && isFirstOrder) {
    const attempts = withAttempt(recipient, { ...attempt, ...why, outcome: 'refused', endedAt: now });
    return { next: final(recipient, 'failed', attempts), action: 'ended' };
  }
  // The line acts once for a call request, so it is sent again. A throttled line has not looked at it: that does not count.
  const resent = kind === 'passing' ? (attempt.resent ?? 1) - 1 : attempt.resent;
  const attempts = withAttempt(recipient, { ...attempt, resent });
  return { next: { ...recipient, attempts, dueAt: now + RESEND_AFTER_MS, reason: why.reason }, action: 'nothing' };
};

// A line that did not answer for 15 s needs a moment.
const RESEND_AFTER_MS = 10_000;

/** What to do about a recipient that is looked after. */
export type Look =
  /** Send the call request again: whoever claimed it has died, or got no clear answer. */
  | 'resend'
  /** Nothing was heard of it for too long: it counts as `unknown`. */
  | 'ended'
  /** Look at the call itself. */
  | 'call'
  | 'nothing';

/** Takes over a call request whose answer nobody has written down, or ends the wait for it. */
export const lookAfter = (recipient: Recipient, rules: ReachRules, now: number): RecipientStep<Look> => {
  if ((recipient.dueAt ?? Infinity) > now) return NOTHING;
  if (recipient.state === 'calling') return { action: 'call' };
  const attempt = currentAttempt(recipient);
  if (recipient.state !== 'dialling' || attempt === undefined) return NOTHING;
  const resent = (attempt.resent ?? 0) + 1;
  const maySendAgain = resent <= MOST_RESENT && now < attempt.claimedAt + LONGEST_RINGING_MS;
  if (maySendAgain && !hasHeard(recipient.attempts)) {
    const attempts = withAttempt(recipient, { ...attempt, resent, resentAt: now });
    return { next: { ...recipient, attempts, dueAt: now + DIAL_LEASE_MS }, action: 'resend' };
  }
  const until = (attempt.resentAt ?? attempt.claimedAt) + UNCLEAR_MS;
  if (now < until) return { next: { ...recipient, dueAt: until }, action: 'nothing' };
  const reason = recipient.reason ?? 'nothing was heard of the call';
  return {
    next: afterAttempt(recipient, attempt, { outcome: 'unknown', reason, endedAt: now, isLost: true }, rules, now),
    action: 'ended',
  };
};

/** The call lasts: it is looked after again at `dueAt`. */
export const stillCalling = (recipient: Recipient, attemptId: string, dueAt: number): RecipientStep<'nothing'> =>
  recipient.state === 'calling' && currentAttempt(recipient)?.id === attemptId && recipient.dueAt !== dueAt
    ? { next: { ...recipient, dueAt }, action: 'nothing' }
    : NOTHING;

/**
 * A call of the attempt has ended. Better knowledge of an attempt that was over already is taken down too: who heard is not dialled
 * again, unless that has happened meanwhile.
 */
export const ended = (
  recipient: Recipient,
  attemptId: string,
  callId: CallId | undefined,
  outcome: CallOutcome,
  rules: ReachRules,
  now: number,
): RecipientStep<'ended' | 'nothing'> => {
  const attempt = attemptOf(recipient, attemptId);
  if (attempt === undefined) return NOTHING;
  const of = { ...attempt, callId: attempt.callId ?? callId };
  // What got lost may turn up while nothing has been done about it.
  const wasLost = attempt.isLost === true && recipient.state === 'waiting' && recipient.attempts.at(-1) === attempt;
  if (attempt.outcome === undefined || (wasLost && outcome.isLost !== true)) {
    return { next: afterAttempt(recipient, of, outcome, rules, now), action: 'ended' };
  }
  if (!isReached(outcome.outcome) || attempt.outcome === outcome.outcome || attempt.outcome === 'heard') return NOTHING;
  const attempts = withAttempt(recipient, { ...of, ...told(outcome) });
  const isOver = isFinal(recipient) || recipient.state === 'waiting';
  return { next: isOver ? final(recipient, 'heard', attempts) : { ...recipient, attempts }, action: 'ended' };
};

const told = ({ outcome, code, subCode, reason, endedAt, isLost }: CallOutcome): Partial<Attempt> =>
  outcome === 'throttled' ? {} : { outcome, code, subCode, reason, endedAt, isLost };

/** Whether there may be no further attempt. Those that got lost do not count; but a process that loses everything must not ring for ever. */
const areUsedUp = (attempts: readonly Attempt[], most: number): boolean =>
  attempts.filter(({ isLost }) => isLost !== true).length >= most || attempts.length >= 2 * most;

const afterAttempt = (
  recipient: Recipient,
  attempt: Attempt,
  outcome: CallOutcome,
  { attempts: mostAttempts, retryMs }: ReachRules,
  now: number,
): Recipient => {
  if (outcome.outcome === 'throttled') {
    const rest = recipient.attempts.filter(({ id }) => id !== attempt.id);
    if (hasHeard(rest)) return final(recipient, 'heard', rest);
    return { ...recipient, state: 'waiting', attempts: rest, dueAt: now, reserved: true, reason: outcome.reason };
  }
  const attempts = withAttempt(recipient, { ...attempt, ...told(outcome) });
  if (hasHeard(attempts)) return final(recipient, 'heard', attempts);
  if (outcome.outcome === 'refused') return final(recipient, 'failed', attempts);
  const retryAt = outcome.endedAt + retryMs;
  const isLast = isMaskedNumber(recipient.number) || areUsedUp(attempts, mostAttempts);
  if (outcome.outcome === 'declined' || isLast || retryAt >= recipient.deadlineAt) {
    return final(recipient, 'not_reached', attempts);
  }
  // Never in the past, or the time of a damaged row would bring up the same recipient again and again.
  return {
    ...recipient,
    state: 'waiting',
    attempts,
    dueAt: Math.max(retryAt, now),
    reserved: false,
    reason: undefined,
  };
};
