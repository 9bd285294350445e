import type { CallResult, Failure } from '../model/call-event.ts';
import type { CallId } from '../model/ids.ts';
import type { Outcome } from '../model/outcome.ts';
import { LONGEST_RINGING_MS } from '../model/phone-line.ts';
import { isMessage, MESSAGE, MOST_REPEATS, type SpeechNumber, speechOf, THANKED, UNDERSTOOD } from '../model/speech.ts';
import { answerOfKey, KEYS_AFTER_MS } from '../rules/keys.ts';
import {
  answerBy,
  type Attempt,
  type AttemptEvent,
  type AttemptIn,
  type CallReport,
  type CallTerms,
  checkAtOf,
  DIAL_LEASE_MS,
  isLive,
  latestEnd,
  type LiveAttempt,
  type Talk,
  talkOf,
} from './attempt.ts';

// What each event makes of an attempt: a pure state machine. What must be done then follows from the difference: see `commands.ts`.

/** The request surely placed no call, for a reason that has nothing to do with the callee: there was no attempt. */
export interface NotMade {
  readonly state: 'not made';
  readonly failure: 'capacity' | 'unreachable' | 'set_up';
  readonly result: CallResult;
}

/** How often a call request is sent again after a lost answer. */
const MOST_RESENT = { idempotent: 2, other: 1 } as const;
/** A line that did not answer for 15 s needs a moment. */
const RESEND_AFTER_MS = 10_000;
/** How long hanging up is tried. */
const HANG_UP_WITHIN_MS = 600_000;
/** How long an attempt of which nothing is heard may still ring or be answered after its last request. */
export const UNCLEAR_MS = LONGEST_RINGING_MS + 30_000;

/** An attempt after an event; the same object if nothing changed. */
export const moveAttempt = (
  attempt: Attempt,
  event: AttemptEvent,
  terms: CallTerms,
  now: number,
): Attempt | NotMade => {
  const known = 'callId' in event ? withCallId(attempt, event.callId) : attempt;
  switch (event.kind) {
    case 'placed':
    case 'ringing':
      return placed(known, terms, now);
    case 'not placed':
      return notPlaced(known, event.result, terms, now);
    case 'not found':
      return known.state === 'claimed' && known.callIds.length === 0 ? sentAgain(known, terms, now) : known;
    case 'connected':
      return connected(known, terms, now);
    case 'speech accepted':
      return accepted(known, event.speech, now);
    case 'not spoken':
      return notSpoken(known, event.speech, event.result, terms, now);
    case 'play started':
      return started(known, event.speech ?? MESSAGE, terms, now);
    case 'play completed':
    case 'play failed':
    case 'play canceled':
      return speechOver(known, event, terms, now);
    case 'tone received':
      return keyPressed(known, event, terms, now);
    case 'no key':
      return known.state === 'speaking' && isQuiet(known.talk, now) ? hangingUp(known, now) : known;
    case 'hung up':
      return known.state === 'hanging_up' ? ended(known, {}, terms, now) : known;
    case 'disconnected':
      return disconnected(known, event, terms, now);
    case 'create failed':
      return createFailed(known, event, terms, now);
    case 'look':
      return looked(known, event.mayResend, terms, now);
  }
};

const withCallId = (attempt: Attempt, callId: CallId): Attempt =>
  attempt.callIds.includes(callId) ? attempt : { ...attempt, callIds: [...attempt.callIds, callId] };

const withTalk = (attempt: Attempt, talk: Talk, terms: CallTerms): Attempt => {
  switch (attempt.state) {
    case 'claimed':
    case 'ringing':
    case 'unexplained':
      return { ...baseOf(attempt), state: 'speaking', talk };
    case 'speaking':
    case 'hanging_up':
      return { ...attempt, talk };
    case 'over':
      return concluded({ ...attempt, talk }, undefined, terms);
  }
};

/** What every state has. */
const baseOf = ({ id, line, claimedAt, openThen, callIds, placedAt }: Attempt) => ({
  id,
  line,
  claimedAt,
  openThen,
  callIds,
  placedAt,
});

const placed = (attempt: Attempt, terms: CallTerms, now: number): Attempt => {
  if (attempt.placedAt !== undefined) return attempt;
  // Its events may have come first.
  if (attempt.state !== 'claimed') return { ...attempt, placedAt: now };
  const ringing: LiveAttempt = { ...baseOf(attempt), state: 'ringing', placedAt: now };
  return terms.isStopped ? unanswered(ringing, 'stopped', now) : ringing;
};

const notPlaced = (attempt: Attempt, result: CallResult, terms: CallTerms, now: number): Attempt | NotMade => {
  // Its events have come: it was done after all.
  if (attempt.state !== 'claimed') return attempt;
  const { failure = 'unanswered' } = result;
  // An earlier request of this attempt may have been done, whatever this one was answered.
  const isSure = failure !== 'unanswered' && (attempt.sent === 1 || !terms.line.isIdempotent);
  if (!isSure) {
    // A line that has no capacity has not looked at the request: it does not count as sent.
    const sent = isForAnother(failure) ? attempt.sent - 1 : attempt.sent;
    return { ...attempt, sent, reason: result.reason, checkAt: now + RESEND_AFTER_MS };
  }
  return isForAnother(failure) ? { state: 'not made', failure, result } : ended(attempt, result, terms, now);
};

const isForAnother = (failure: Failure | undefined): failure is NotMade['failure'] =>
  failure === 'capacity' || failure === 'unreachable' || failure === 'set_up';

const connected = (attempt: Attempt, terms: CallTerms, now: number): Attempt => {
  if (talkOf(attempt) !== undefined) return attempt;
  const { speaksByItself } = terms.line;
  const isHungUp = attempt.state === 'hanging_up' || (attempt.state === 'over' && attempt.wasHungUp === true);
  // A hang-up that was asked for before leaves a call that speaks by itself in peace.
  if (isHungUp && !speaksByItself) return attempt;
  if (terms.isStopped && !speaksByItself && isLive(attempt)) return unanswered(attempt, 'stopped', now);
  // Late, too, somebody who has answered is spoken to.
  return { ...baseOf(attempt), state: 'speaking', talk: newTalk(speaksByItself, now) };
};

const newTalk = (isSpeaking: boolean, now: number): Talk => ({
  answeredAt: now,
  speech: { number: MESSAGE, askedAt: now, acceptedAt: isSpeaking ? now : undefined },
  startedAt: isSpeaking ? now : undefined,
  repeatKeys: [],
});

/** The conversation that an event is part of. Nobody may have heard of its beginning while storage could not be used. */
const talkThen = (attempt: Attempt, now: number): Talk =>
  talkOf(attempt) ?? { ...newTalk(false, now), speech: { number: MESSAGE, askedAt: now, acceptedAt: now } };

const accepted = (attempt: Attempt, speech: SpeechNumber, now: number): Attempt =>
  attempt.state === 'speaking' && isAwaited(attempt.talk, speech)
    ? { ...attempt, talk: { ...attempt.talk, speech: { ...attempt.talk.speech, acceptedAt: now } } }
    : attempt;

/** Whether nothing is known of a speech but that it was asked for. */
const isAwaited = ({ speech: { number, acceptedAt } }: Talk, speech: SpeechNumber): boolean =>
  number === speech && acceptedAt === undefined;

const notSpoken = (
  attempt: Attempt,
  speech: SpeechNumber,
  result: CallResult,
  terms: CallTerms,
  now: number,
): Attempt => {
  if (attempt.state !== 'speaking' || !isAwaited(attempt.talk, speech)) return attempt;
  const { talk } = attempt;
  if (result.failure === 'gone') return ended(attempt, result, terms, now);
  if (result.failure === undefined || result.failure === 'unanswered') {
    return { ...attempt, talk: { ...talk, speech: { ...talk.speech, unclearAt: now } } };
  }
  return speech === MESSAGE ? hangingUp(withFailure(attempt), now, result) : hangingUp(attempt, now);
};

const withFailure = (attempt: AttemptIn<'speaking'>): AttemptIn<'speaking'> => ({
  ...attempt,
  talk: { ...attempt.talk, hasFailed: true },
});

const started = (attempt: Attempt, speech: SpeechNumber, terms: CallTerms, now: number): Attempt => {
  const talk = talkOf(attempt);
  const known = accepted(attempt, speech, now);
  if (talk === undefined || speech !== MESSAGE || talk.startedAt !== undefined) return known;
  return withTalk(known, { ...(talkOf(known) ?? talk), startedAt: now }, terms);
};

const speechOver = (attempt: Attempt, event: CallReport, terms: CallTerms, now: number): Attempt => {
  const { kind, speech = MESSAGE, result = {} } = event;
  const isWhole = kind === 'play completed' && isMessage(speech);
  const before = talkThen(attempt, now);
  const talk = isWhole && before.completedAt === undefined ? { ...before, completedAt: now } : before;
  const known = talk === talkOf(attempt) ? attempt : withTalk(attempt, talk, terms);
  // The end of an earlier speech: a later one has interrupted it, or follows.
  if (known.state !== 'speaking' || speech < talk.speech.number) return known;
  if (isWhole && terms.confirm && !terms.line.speaksByItself) {
    return talk.quietSince === undefined ? { ...known, talk: { ...talk, quietSince: now } } : known;
  }
  if (kind !== 'play failed') return hangingUp(known, now);
  // Somebody has answered: what the codes mean for reaching a person they do not mean here.
  const { code, subCode, reason = 'the message failed' } = result;
  return hangingUp(speech === MESSAGE ? withFailure(known) : known, now, { code, subCode, reason });
};

const isQuiet = ({ quietSince }: Talk, now: number): boolean =>
  quietSince !== undefined && now >= quietSince + KEYS_AFTER_MS;

/** A key counts from the first moment, also while the line is hung up and afterwards. Something is said to it only before. */
const keyPressed = (attempt: Attempt, { key }: CallReport, terms: CallTerms, now: number): Attempt => {
  const answer = answerOfKey(key?.key);
  if (!terms.confirm || answer === undefined || key === undefined) return attempt;
  const talk = talkThen(attempt, now);
  switch (answer) {
    case 'repeat':
      return repeated(attempt, talk, key.sequence, terms, now);
    case 'confirms':
      if (talk.confirmedAt !== undefined) return attempt;
      return saying(attempt, { ...talk, confirmedAt: now }, THANKED, terms, now);
    case 'cannot go':
      if (answerBy(attempt) !== undefined) return attempt;
      return saying(attempt, { ...talk, cannotGoAt: now }, UNDERSTOOD, terms, now);
  }
};

const repeated = (attempt: Attempt, talk: Talk, sequence: number, terms: CallTerms, now: number): Attempt => {
  const { repeatKeys } = talk;
  const number = speechOf(repeatKeys.length + 1);
  const isPossible =
    attempt.state !== 'hanging_up' &&
    isLive(attempt) &&
    isMessage(talk.speech.number) &&
    !repeatKeys.includes(sequence);
  return isPossible && number !== undefined && repeatKeys.length < MOST_REPEATS
    ? saying(attempt, { ...talk, repeatKeys: [...repeatKeys, sequence] }, number, terms, now)
    : attempt;
};

/** The next speech ends what is spoken; nothing is said if nobody is listening any more. */
const saying = (attempt: Attempt, talk: Talk, number: SpeechNumber, terms: CallTerms, now: number): Attempt => {
  if (attempt.state === 'hanging_up' || !isLive(attempt)) return withTalk(attempt, talk, terms);
  const acceptedAt = terms.line.speaksByItself ? now : undefined;
  return withTalk(attempt, { ...talk, speech: { number, askedAt: now, acceptedAt }, quietSince: undefined }, terms);
};

const disconnected = (
  attempt: Attempt,
  { callId, result = {}, connectedMs }: CallReport,
  terms: CallTerms,
  now: number,
): Attempt | NotMade => {
  if (!isLive(attempt)) return attempt;
  if (attempt.callIds.length > 1) return withoutCall(attempt, callId);
  const talk = talkOf(attempt);
  if (talk === undefined && attempt.state !== 'hanging_up') {
    if (isForAnother(result.failure)) return { state: 'not made', failure: result.failure, result };
    if (result.failure === undefined) {
      return attempt.state === 'unexplained'
        ? attempt
        : { ...baseOf(attempt), state: 'unexplained', disconnectedAt: now };
    }
  }
  // The line knows better how long somebody listened than when its report arrives.
  const heardUntil = talk === undefined || connectedMs === undefined ? now : talk.answeredAt + connectedMs;
  return ended(attempt, result, terms, Math.min(now, heardUntil), heardUntil);
};

/** The request was repeated and there were two calls: the end of one is not the end of the attempt. */
const withoutCall = (attempt: LiveAttempt, callId: CallId): LiveAttempt => ({
  ...attempt,
  callIds: attempt.callIds.filter((one) => one !== callId),
});

const createFailed = (
  attempt: Attempt,
  { callId, result = {} }: CallReport,
  terms: CallTerms,
  now: number,
): Attempt | NotMade => {
  if (talkOf(attempt) !== undefined) return attempt;
  if (isLive(attempt) && attempt.callIds.length > 1) return withoutCall(attempt, callId);
  // The instance that hung up a ringing line knows better why it ended.
  if (attempt.state === 'hanging_up') return ended(attempt, {}, terms, now);
  if (attempt.state === 'over') {
    if (attempt.isExplained === true || attempt.wasHungUp === true) return attempt;
    const { code, subCode, reason = attempt.reason } = result;
    return concluded({ ...attempt, code, subCode, reason, isExplained: true }, result.failure, terms);
  }
  if (isForAnother(result.failure)) return { state: 'not made', failure: result.failure, result };
  const endedAt = attempt.state === 'unexplained' ? attempt.disconnectedAt : now;
  return {
    ...ended(attempt, { ...result, reason: result.reason ?? 'not established' }, terms, endedAt),
    isExplained: true,
  };
};

const looked = (attempt: Attempt, mayResend: boolean, terms: CallTerms, now: number): Attempt => {
  if (!isLive(attempt)) return attempt;
  if (attempt.line !== terms.line.name) {
    return ended(attempt, { reason: 'the phone service was changed meanwhile' }, terms, now);
  }
  if (terms.isStopped && attempt.state === 'ringing') return unanswered(attempt, 'stopped', now);
  if (now < checkAtOf(attempt, terms)) return attempt;
  switch (attempt.state) {
    case 'claimed':
      return claimRunOut(attempt, mayResend, terms, now);
    case 'ringing':
      return unanswered(attempt, 'no_answer', now);
    case 'unexplained':
      return ended(attempt, {}, terms, attempt.disconnectedAt);
    case 'speaking':
      return speechOverdue(attempt, now);
    case 'hanging_up':
      return now - attempt.since < HANG_UP_WITHIN_MS
        ? { ...attempt, at: now }
        : ended(attempt, { reason: 'the line could not be hung up' }, terms, now);
  }
};

const speechOverdue = (attempt: AttemptIn<'speaking'>, now: number): Attempt => {
  const { talk } = attempt;
  const { number, acceptedAt, unclearAt, isRetried } = talk.speech;
  if (talk.quietSince !== undefined) return hangingUp(attempt, now);
  if (now >= latestEnd(talk)) return hangingUp(attempt, now, { reason: 'the call took too long' });
  if (number !== MESSAGE) return hangingUp(attempt, now);
  if (acceptedAt !== undefined) return hangingUp(attempt, now, { reason: 'the end of the message was not reported' });
  if (unclearAt !== undefined || isRetried === true) {
    return hangingUp(withFailure(attempt), now, { reason: 'the request to speak was not answered' });
  }
  return { ...attempt, talk: { ...talk, speech: { number, askedAt: now, isRetried: true } } };
};

/** The answer to a call request was lost, or the instance that sent it has died. */
const claimRunOut = (attempt: AttemptIn<'claimed'>, mayResend: boolean, terms: CallTerms, now: number): Attempt => {
  // An event has named a call: it may be ringing.
  if (attempt.callIds.length > 0) return placed(attempt, terms, now);
  if (!mayResend) return waitingForNews(attempt, terms, now);
  // The line may place a second call for the same request: its list is searched first.
  if (!terms.line.isIdempotent) return { ...attempt, soughtAt: now, checkAt: now + DIAL_LEASE_MS };
  return sentAgain(attempt, terms, now);
};

/** The request is sent once more, unless it was sent often enough or must not be sent any more. */
const sentAgain = (attempt: AttemptIn<'claimed'>, terms: CallTerms, now: number): Attempt => {
  const most = terms.line.isIdempotent ? MOST_RESENT.idempotent : MOST_RESENT.other;
  const isInTime = now < Math.min(terms.deadlineAt, attempt.claimedAt + LONGEST_RINGING_MS);
  return attempt.sent <= most && isInTime && !terms.isStopped
    ? { ...attempt, sent: attempt.sent + 1, sentAt: now, checkAt: now + DIAL_LEASE_MS, soughtAt: undefined }
    : waitingForNews(attempt, terms, now);
};

/** Nothing more is sent: until the call can be neither ringing nor answered any more, its events are waited for. */
const waitingForNews = (attempt: AttemptIn<'claimed'>, terms: CallTerms, now: number): Attempt => {
  const until = attempt.sentAt + UNCLEAR_MS;
  return now < until
    ? { ...attempt, checkAt: until }
    : ended(attempt, { reason: attempt.reason ?? 'nothing was heard of the call' }, terms, now);
};

const hangingUp = (
  attempt: LiveAttempt,
  now: number,
  { code, subCode, reason }: CallResult = {},
): AttemptIn<'hanging_up'> => ({
  ...baseOf(attempt),
  state: 'hanging_up',
  talk: talkOf(attempt),
  code,
  subCode,
  reason,
  since: now,
  at: now,
});

const REASON_UNANSWERED = { no_answer: 'no answer', stopped: 'stopped before it was answered' } as const;

const unanswered = (attempt: LiveAttempt, kind: 'no_answer' | 'stopped', now: number): AttemptIn<'hanging_up'> => ({
  ...hangingUp(attempt, now, { reason: REASON_UNANSWERED[kind] }),
  unanswered: kind,
});

/** A ringing call is hung up because its recipient is stopped; the same object in any other state. */
export const stoppedRinging = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'ringing' ? unanswered(attempt, 'stopped', now) : attempt;

/** The phone was switched off: nothing more will be heard of the call. The same object if it is over. */
export const abandonedAttempt = (attempt: Attempt, now: number): Attempt =>
  isLive(attempt)
    ? {
        ...baseOf(attempt),
        state: 'over',
        talk: talkOf(attempt),
        endedAt: now,
        heardUntil: now,
        outcome: answerBy(attempt) ?? 'unknown',
        reason: 'the phone was switched off',
      }
    : attempt;

/** @param heardUntil if the line says how long somebody listened */
const ended = (
  attempt: LiveAttempt,
  result: CallResult,
  terms: CallTerms,
  endedAt: number,
  heardUntil?: number,
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
    heardUntil: own?.since ?? heardUntil ?? endedAt,
    outcome: 'unknown',
    wasHungUp: own === undefined ? undefined : true,
  };
  return concluded(over, own === undefined ? result.failure : undefined, terms);
};

/** An attempt that is over, with its outcome. @param failure what the line's codes mean */
const concluded = (
  attempt: AttemptIn<'over'>,
  failure: Failure | undefined,
  { confirm, unitMs }: CallTerms,
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
