import type { CallResult, ResultCodes, ResultMeaning } from '../model/call-event.ts';
import type { CallId } from '../model/call-id.ts';
import type { NotMade, Outcome } from '../model/outcome.ts';
import { LONGEST_REQUEST_MS, LONGEST_RINGING_MS } from '../model/phone-line.ts';

// One attempt to reach somebody, which is one call: a pure state machine. It moves down this list, and only back to `speaking` if somebody
// turns out to be there after all.

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

/** One attempt to reach somebody. Times are in milliseconds since 1970. */
export interface Attempt extends ResultCodes {
  /** A UUID; the line acts once for it. */
  readonly id: string;
  readonly state: (typeof ATTEMPT_STATES)[number];
  /** When it was claimed, before anything was sent. */
  readonly claimedAt: number;
  /** It has the row of its number's open call: no other call to the number is claimed meanwhile, and its end deletes that row. */
  readonly holdsNumber?: boolean | undefined;
  /** An urgent call has taken the number over, because this one was held to be over: it is not sent again. */
  readonly isReplaced?: boolean | undefined;
  /** How many calls were open when it was claimed, and whether it was to find out if there is one line more. */
  readonly beside?: number | undefined;
  readonly isProbe?: boolean | undefined;
  /** It only rang, and was hung up for an urgent call. */
  readonly makesWay?: boolean | undefined;
  /** When the call request was sent again for the last time, and how often it was. */
  readonly resentAt?: number | undefined;
  readonly resent?: number | undefined;
  /** When to look at a claim again, if not when it runs out. */
  readonly lookAt?: number | undefined;
  readonly callId?: CallId | undefined;
  readonly placedAt?: number | undefined;
  /** When speaking was claimed. */
  readonly speakingAt?: number | undefined;
  /** Who had claimed it before has died. */
  readonly isTakenOver?: boolean | undefined;
  /** When the line accepted the message. */
  readonly acceptedAt?: number | undefined;
  /** When the request to speak ended without a usable answer. */
  readonly unclearAt?: number | undefined;
  /** When the line reported that the message is being spoken. */
  readonly startedAt?: number | undefined;
  /** When the line reported that the whole message was spoken. */
  readonly completedAt?: number | undefined;
  /** When the callee pressed a key. */
  readonly confirmedAt?: number | undefined;
  /** The message could not be spoken, or not to its end, though nobody hung up. */
  readonly hasSpeechFailed?: boolean | undefined;
  /** When the line reported the end of a call that nobody had answered: why comes in another event. */
  readonly disconnectedAt?: number | undefined;
  /** It was hung up because nobody had answered. */
  readonly isUnanswered?: boolean | undefined;
  /** When hanging up was claimed first, and for the last time. */
  readonly hangingUpSince?: number | undefined;
  readonly hangingUpAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** Undefined while it lasts. */
  readonly outcome?: Outcome | NotMade | undefined;
  /** Of `cut_short`: one whole unit of the message was spoken. */
  readonly hasHeardUnit?: boolean | undefined;
  /** In words. */
  readonly reason?: string | undefined;
  /** The line has said why nobody was reached: that stays, whatever else is reported. */
  readonly isReasonReported?: boolean | undefined;
}

/** What the machine must know beside the attempt. Durations are in milliseconds. */
export interface CallTerms {
  /** Whether a key is asked for. */
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

/** What happened. */
export type AttemptEvent =
  /** The line accepted the call request. */
  | { readonly kind: 'placed'; readonly callId: CallId }
  /** It did not, or did not say so. */
  | { readonly kind: 'not placed'; readonly why: NotPlaced; readonly result: CallResult }
  | { readonly kind: 'connected'; readonly callId: CallId }
  /** The line accepted the message. */
  | { readonly kind: 'speech accepted' }
  /** It did not. `gone`: the callee has left; `unclear`: it may have been done. */
  | { readonly kind: 'not spoken'; readonly why: 'gone' | 'failed' | 'unclear'; readonly result: CallResult }
  | { readonly kind: 'play started' | 'tone received'; readonly callId: CallId }
  | {
      readonly kind: 'play completed' | 'play failed' | 'play canceled';
      readonly callId: CallId;
      readonly result: CallResult;
    }
  | { readonly kind: 'hung up' }
  | { readonly kind: 'disconnected' | 'create failed'; readonly callId: CallId; readonly result: CallResult }
  /** It was spoken to while the table could not be used. */
  | { readonly kind: 'spoken to'; readonly callId: CallId }
  /** An urgent call needs its line or its number, if it only rings. */
  | { readonly kind: 'make way' }
  /** It is time to look, or somebody has stopped the notification. */
  | { readonly kind: 'look' };

/** What the one who made the step must do now. */
export type Ask = 'dial' | 'speak' | 'hang up';

/** An attempt after an event; the same object if nothing changed. */
export interface AttemptStep {
  readonly next: Attempt;
  readonly ask?: Ask;
}

/** How long one instance has for a request to the line and for writing down the answer. After that, it has died. */
export const CLAIM_LEASE_MS = LONGEST_REQUEST_MS + 5_000;
/** As `CLAIM_LEASE_MS`, of a call request: the first ones of a notification wait for one another. */
export const DIAL_LEASE_MS = LONGEST_REQUEST_MS + 10_000;
/** How long an attempt of which nothing was heard may still ring or be answered after its call request was last sent. */
export const UNCLEAR_MS = LONGEST_RINGING_MS + 30_000;
const MOST_RESENT = 2;
// A line that did not answer for 15 s needs a moment.
const RESEND_AFTER_MS = 10_000;
// How long after an unclear answer to a request to speak `play started` may take.
const START_WITHIN_MS = 4_500;
// The reason of an end and the end itself are two events, at about the same time.
const REASON_WITHIN_MS = 5_000;
const HANG_UP_WITHIN_MS = 600_000;

/** Whether a call of the attempt may be ringing or open. */
export const isLive = ({ state }: Attempt): boolean => state !== 'over';

const isWithoutReason = (attempt: Attempt): attempt is Attempt & { readonly disconnectedAt: number } =>
  attempt.disconnectedAt !== undefined && (attempt.state === 'claimed' || attempt.state === 'placed');

/** When to look at an attempt if nothing is heard of it; undefined if it is over. */
export const lookAtOf = (attempt: Attempt, { ringMs, messageMs }: CallTerms): number | undefined => {
  if (isWithoutReason(attempt)) return attempt.disconnectedAt + REASON_WITHIN_MS;
  switch (attempt.state) {
    case 'claimed':
      return attempt.lookAt ?? (attempt.resentAt ?? attempt.claimedAt) + DIAL_LEASE_MS;
    case 'placed':
      return (attempt.placedAt ?? attempt.claimedAt) + ringMs;
    case 'speaking': {
      const spokenSince = Math.max(attempt.acceptedAt ?? 0, attempt.startedAt ?? 0);
      if (spokenSince > 0) return spokenSince + messageMs;
      return attempt.unclearAt === undefined
        ? (attempt.speakingAt ?? 0) + CLAIM_LEASE_MS
        : attempt.unclearAt + START_WITHIN_MS;
    }
    case 'hanging_up':
      return (attempt.hangingUpAt ?? 0) + CLAIM_LEASE_MS;
    case 'over':
      return undefined;
  }
};

/** An attempt after an event. */
export const moveAttempt = (attempt: Attempt, event: AttemptEvent, terms: CallTerms, now: number): AttemptStep => {
  // Any event of its call may be the first that is heard of it.
  const known = 'callId' in event && attempt.callId === undefined ? { ...attempt, callId: event.callId } : attempt;
  const step = moved(known, event, terms, now);
  return step.next === known && !isLive(attempt) ? { ...step, next: attempt } : step;
};

const moved = (attempt: Attempt, event: AttemptEvent, terms: CallTerms, now: number): AttemptStep => {
  switch (event.kind) {
    case 'placed':
      return placed(attempt, terms, now);
    case 'not placed':
      return notPlaced(attempt, event, terms, now);
    case 'connected':
      return connected(attempt, terms, now);
    case 'speech accepted':
      return { next: attempt.acceptedAt === undefined ? { ...attempt, acceptedAt: now } : attempt };
    case 'not spoken':
      return notSpoken(attempt, event, terms, now);
    case 'play started':
      return credited(attempt, { startedAt: attempt.startedAt ?? now }, terms);
    case 'tone received':
      return terms.confirm ? credited(attempt, { confirmedAt: attempt.confirmedAt ?? now }, terms) : { next: attempt };
    case 'play completed':
    case 'play failed':
    case 'play canceled':
      return speechOver(attempt, event, terms, now);
    case 'spoken to':
      return spokenTo(attempt, now);
    case 'make way':
      return attempt.state === 'placed'
        ? ringingHungUp({ ...attempt, makesWay: true }, MADE_WAY, now)
        : { next: attempt };
    case 'hung up':
      return attempt.state === 'hanging_up' ? { next: ended(attempt, {}, terms, now) } : { next: attempt };
    case 'disconnected':
      return disconnected(attempt, event.result, terms, now);
    case 'create failed':
      return createFailed(attempt, event.result, terms, now);
    case 'look':
      return looked(attempt, terms, now);
  }
};

const placed = (attempt: Attempt, terms: CallTerms, now: number): AttemptStep => {
  if (attempt.placedAt !== undefined) return { next: attempt };
  const next = { ...attempt, placedAt: now };
  // Its events may have come first.
  if (attempt.state !== 'claimed') return { next };
  return terms.isStopped ? ringingHungUp(next, STOPPED, now) : { next: { ...next, state: 'placed' } };
};

const STOPPED = 'stopped before it was answered';
const MADE_WAY = 'made way for an urgent call';

const notPlaced = (
  attempt: Attempt,
  { why, result }: Extract<AttemptEvent, { kind: 'not placed' }>,
  terms: CallTerms,
  now: number,
): AttemptStep => {
  // Its events have come: it was done after all.
  if (attempt.state !== 'claimed') return { next: attempt };
  // An earlier request of this attempt may have been done, whatever this one was answered.
  const isSure = why !== 'unclear' && attempt.resent === undefined;
  if (isSure) {
    return { next: ended(attempt, { ...result, meaning: why === 'failed' ? undefined : why }, terms, now) };
  }
  // A line that throttles has not looked at the request: it does not count as sent again.
  const resent = why === 'no_line' || why === 'set_up' ? (attempt.resent ?? 1) - 1 : attempt.resent;
  return { next: { ...attempt, resent, reason: result.reason, lookAt: now + RESEND_AFTER_MS } };
};

const NO_END = {
  disconnectedAt: undefined,
  endedAt: undefined,
  outcome: undefined,
  code: undefined,
  subCode: undefined,
  reason: undefined,
  isReasonReported: undefined,
};

/** An answered call can be spoken to, whatever was reported before: nobody has spoken, and nobody has hung up. */
const connected = (attempt: Attempt, terms: CallTerms, now: number): AttemptStep => {
  if (attempt.speakingAt !== undefined || attempt.hangingUpAt !== undefined) return { next: attempt };
  const answered = { ...attempt, ...NO_END };
  if (terms.isStopped) return hangingUp(answered, { reason: STOPPED }, now);
  return { next: { ...answered, state: 'speaking', speakingAt: now }, ask: 'speak' };
};

/** What follows is not asked for: it is done already. */
const spokenTo = (attempt: Attempt, now: number): AttemptStep => {
  if (attempt.speakingAt !== undefined) return { next: attempt };
  const spoken = { ...attempt, speakingAt: now, acceptedAt: now };
  return { next: attempt.hangingUpAt === undefined ? { ...spoken, ...NO_END, state: 'speaking' } : spoken };
};

const notSpoken = (
  attempt: Attempt,
  { why, result }: Extract<AttemptEvent, { kind: 'not spoken' }>,
  terms: CallTerms,
  now: number,
): AttemptStep => {
  // It is being spoken all the same.
  if (attempt.state !== 'speaking' || attempt.startedAt !== undefined) return { next: attempt };
  if (why === 'unclear') return { next: { ...attempt, unclearAt: now } };
  if (why === 'gone') return { next: ended(attempt, result, terms, now) };
  return hangingUp({ ...attempt, hasSpeechFailed: true }, result, now);
};

/** News about the message counts only if speaking it was claimed; it improves the outcome of what is over. */
const credited = (attempt: Attempt, news: Partial<Attempt>, terms: CallTerms): AttemptStep => {
  const isNews = Object.entries(news).some(([name, value]) => Reflect.get(attempt, name) !== value);
  if (attempt.speakingAt === undefined || !isNews) return { next: attempt };
  const next = { ...attempt, ...news };
  return { next: isLive(next) ? next : { ...next, ...outcomeOf(next, undefined, terms, next.endedAt ?? 0) } };
};

const speechOver = (
  attempt: Attempt,
  { kind, result }: Extract<AttemptEvent, { kind: 'play completed' | 'play failed' | 'play canceled' }>,
  terms: CallTerms,
  now: number,
): AttemptStep => {
  const isNews = kind === 'play completed' && attempt.completedAt === undefined;
  const { next } = isNews ? credited(attempt, { completedAt: now }, terms) : { next: attempt };
  if (next.state === 'over') return { next };
  if (next.state === 'hanging_up') {
    return now - (next.hangingUpAt ?? 0) < CLAIM_LEASE_MS ? { next } : hangingUp(next, {}, now);
  }
  if (kind !== 'play failed') return hangingUp(next, {}, now);
  // What its codes would mean for reaching a person they do not mean here: somebody has answered.
  const { code, subCode, reason = 'the message failed' } = result;
  return hangingUp({ ...next, hasSpeechFailed: true }, { code, subCode, reason }, now);
};

const disconnected = (attempt: Attempt, result: CallResult, terms: CallTerms, now: number): AttemptStep => {
  if (!isLive(attempt) || isWithoutReason(attempt)) return { next: attempt };
  const isAnswered = attempt.speakingAt !== undefined || attempt.hangingUpAt !== undefined;
  if (isAnswered || result.meaning !== undefined) return { next: ended(attempt, result, terms, now) };
  return { next: { ...attempt, disconnectedAt: now } };
};

const createFailed = (attempt: Attempt, result: CallResult, terms: CallTerms, now: number): AttemptStep => {
  const isAnswered = attempt.speakingAt !== undefined;
  if (isAnswered || attempt.isReasonReported === true) return { next: attempt };
  // Whoever hung up a ringing line knows better why.
  if (attempt.hangingUpAt !== undefined) return { next: isLive(attempt) ? ended(attempt, {}, terms, now) : attempt };
  // The end may have been reported first, without the reason.
  const endedAt = attempt.endedAt ?? attempt.disconnectedAt ?? now;
  const why = { ...result, reason: result.reason ?? 'not established' };
  return { next: { ...ended(attempt, why, terms, endedAt), isReasonReported: true } };
};

const looked = (attempt: Attempt, terms: CallTerms, now: number): AttemptStep => {
  const isDue = (lookAtOf(attempt, terms) ?? Infinity) <= now;
  if (terms.isStopped && attempt.state === 'placed') return ringingHungUp(attempt, STOPPED, now);
  if (!isDue) return { next: attempt };
  if (isWithoutReason(attempt)) return { next: ended(attempt, {}, terms, attempt.disconnectedAt) };
  switch (attempt.state) {
    case 'claimed':
      return claimRunOut(attempt, terms, now);
    case 'placed':
      return ringingHungUp(attempt, 'no answer', now);
    case 'speaking': {
      const isSpoken = attempt.acceptedAt !== undefined || attempt.startedAt !== undefined;
      if (isSpoken) return hangingUp(attempt, { reason: 'the end of the message was not reported' }, now);
      if (attempt.unclearAt !== undefined || attempt.isTakenOver === true) {
        const reason = 'the request to speak was not answered';
        return hangingUp({ ...attempt, hasSpeechFailed: true }, { reason }, now);
      }
      return { next: { ...attempt, speakingAt: now, isTakenOver: true }, ask: 'speak' };
    }
    case 'hanging_up':
      return now - (attempt.hangingUpSince ?? now) < HANG_UP_WITHIN_MS
        ? hangingUp(attempt, {}, now)
        : { next: ended(attempt, {}, terms, now) };
    case 'over':
      return { next: attempt };
  }
};

/** The answer to a call request was lost, or whoever sent it has died: the line acts once for it, so it is sent again. */
const claimRunOut = (attempt: Attempt, terms: CallTerms, now: number): AttemptStep => {
  // An event has told its id: there is a call, and it may be ringing.
  if (attempt.callId !== undefined) return placed(attempt, terms, now);
  const resent = (attempt.resent ?? 0) + 1;
  const isTime = now < Math.min(terms.deadlineAt, attempt.claimedAt + LONGEST_RINGING_MS);
  if (resent <= MOST_RESENT && isTime && !terms.isStopped && attempt.isReplaced !== true) {
    return { next: { ...attempt, resent, resentAt: now, lookAt: now + DIAL_LEASE_MS }, ask: 'dial' };
  }
  const until = (attempt.resentAt ?? attempt.claimedAt) + UNCLEAR_MS;
  if (now < until) return { next: { ...attempt, lookAt: until } };
  return { next: ended(attempt, { reason: attempt.reason ?? 'nothing was heard of the call' }, terms, now) };
};

const hangingUp = (attempt: Attempt, result: CallResult, now: number): AttemptStep => ({
  next: {
    ...attempt,
    ...codesOf(attempt, result),
    state: 'hanging_up',
    hangingUpAt: now,
    hangingUpSince: attempt.hangingUpSince ?? now,
  },
  ask: 'hang up',
});

/** A ringing call after a stop, with its hang-up claimed; the same object if it does not only ring. */
export const stoppedRinging = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'placed' ? ringingHungUp(attempt, STOPPED, now).next : attempt;

/** A call whose hang-up is claimed again, because whoever had claimed it may have died; the same object if it is not to be hung up. */
export const hungUpAgain = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'hanging_up' ? hangingUp(attempt, {}, now).next : attempt;

const ringingHungUp = (attempt: Attempt, reason: string, now: number): AttemptStep =>
  hangingUp({ ...attempt, isUnanswered: true }, { reason }, now);

const codesOf = (attempt: Attempt, { code, subCode, reason }: CallResult) => ({
  code: attempt.code ?? code,
  subCode: attempt.subCode ?? subCode,
  reason: attempt.reason ?? reason,
});

const ended = (attempt: Attempt, result: CallResult, terms: CallTerms, endedAt: number): Attempt => {
  // Why it was hung up is known better here than on the line; of a provisional end nothing is kept.
  const why = attempt.hangingUpAt === undefined ? result : codesOf(attempt, result);
  const { code, subCode, reason } = why;
  const over: Attempt = { ...attempt, code, subCode, reason, state: 'over', endedAt, holdsNumber: undefined };
  return {
    ...over,
    ...outcomeOf(over, attempt.hangingUpAt === undefined ? result.meaning : undefined, terms, endedAt),
  };
};

type End = Pick<Attempt, 'outcome' | 'hasHeardUnit' | 'reason'>;

/** @param meaning what the line's codes mean */
const outcomeOf = (
  attempt: Attempt,
  meaning: ResultMeaning | undefined,
  { confirm, unitMs }: CallTerms,
  endedAt: number,
): End => {
  const { confirmedAt, completedAt, startedAt, speakingAt, hangingUpSince, hasSpeechFailed, reason } = attempt;
  if (confirmedAt !== undefined) return { outcome: 'confirmed', reason: undefined };
  if (completedAt !== undefined) {
    return confirm ? { outcome: 'unconfirmed', reason: 'no key was pressed' } : { outcome: 'heard', reason: undefined };
  }
  if (startedAt !== undefined && hasSpeechFailed !== true) {
    const spokenMs = (hangingUpSince ?? endedAt) - startedAt;
    return { outcome: 'cut_short', hasHeardUnit: spokenMs >= unitMs, reason: reason ?? 'the callee hung up' };
  }
  if (speakingAt !== undefined) return { outcome: 'unknown', reason: reason ?? NOT_SURELY_STARTED };
  if (attempt.makesWay === true) return { outcome: 'made_way', reason };
  if (attempt.isUnanswered === true) return { outcome: 'no_answer', reason };
  return {
    outcome: meaning === undefined || meaning === 'forbidden' ? 'unknown' : meaning,
    reason: reason ?? NOT_SPOKEN,
  };
};

const NOT_SURELY_STARTED = 'the call ended before the message surely started';
const NOT_SPOKEN = 'the call ended before the message';

/** Whether an event can change nothing about an attempt in this state or any later one: then there is no need to ask the table. */
export const isPast = (attempt: Attempt, { kind }: AttemptEvent): boolean => {
  switch (kind) {
    case 'connected':
      return attempt.acceptedAt !== undefined || attempt.startedAt !== undefined || attempt.hangingUpAt !== undefined;
    case 'play started':
      return attempt.startedAt !== undefined;
    case 'play completed':
      return attempt.state === 'over' && attempt.completedAt !== undefined;
    case 'tone received':
      return attempt.confirmedAt !== undefined;
    case 'create failed':
      return (
        attempt.speakingAt !== undefined ||
        (attempt.state === 'over' && (attempt.isReasonReported === true || attempt.hangingUpAt !== undefined))
      );
    case 'placed':
    case 'not placed':
    case 'speech accepted':
    case 'not spoken':
    case 'play failed':
    case 'play canceled':
    case 'hung up':
    case 'disconnected':
    case 'spoken to':
    case 'make way':
    case 'look':
      return attempt.state === 'over' && wasTaken(attempt);
  }
};

const wasTaken = ({ speakingAt, hangingUpAt }: Attempt): boolean =>
  speakingAt !== undefined || hangingUpAt !== undefined;
