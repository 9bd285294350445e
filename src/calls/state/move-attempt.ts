import {
  type CallId,
  isMessage,
  MESSAGE,
  MOST_REPEATS,
  type SpeechNumber,
  speechOf,
  THANKED,
  UNDERSTOOD,
} from '../model/ids.ts';
import { type CallResult, type Failure, LONGEST_RINGING_MS } from '../model/phone-line.ts';
import { answerOfKey, KEYS_AFTER_MS } from '../rules/message.ts';
import {
  answerBy,
  type Attempt,
  type AttemptEvent,
  type AttemptIn,
  baseOf,
  type CallReport,
  type CallTerms,
  checkAtOf,
  DIAL_LEASE_MS,
  ended,
  hangingUp,
  isLive,
  latestEnd,
  type LiveAttempt,
  type Talk,
  talkOf,
  unanswered,
  withOutcome,
} from './attempt.ts';

// What each event makes of an attempt: a pure state machine. What must be done then is the difference: see `commandsOf`.

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
      return notSpoken(known, event, terms, now);
    case 'play started':
      return started(known, event.speech ?? MESSAGE, terms, now);
    case 'play completed':
    case 'play failed':
    case 'play canceled':
      return speechOver(known, event, terms, now);
    case 'tone received':
      return keyPressed(known, event, terms, now);
    case 'no key':
      return waitedForKeys(known, now);
    case 'hung up':
      return known.state === 'hanging_up' ? ended(known, {}, terms, now) : known;
    case 'disconnected':
    case 'create failed':
      return lineEnded(known, event, terms, now);
    case 'look':
      return looked(known, event.mayResend, terms, now);
  }
};

const withCallId = (attempt: Attempt, callId: CallId): Attempt =>
  attempt.callIds.includes(callId) ? attempt : { ...attempt, callIds: [...attempt.callIds, callId] };

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
  const { failure = 'unanswered', reason } = result;
  // An earlier request of this attempt may have been done, whatever this one was answered.
  const isSure = failure !== 'unanswered' && (attempt.sent === 1 || !terms.line.isIdempotent);
  if (!isSure) return { ...attempt, reason, checkAt: now + RESEND_AFTER_MS };
  return isForAnother(failure) ? { state: 'not made', failure, result } : ended(attempt, result, terms, now);
};

const isForAnother = (failure: Failure | undefined): failure is NotMade['failure'] =>
  failure === 'capacity' || failure === 'unreachable' || failure === 'set_up';

/** The call is over, or was never established: only the latter event says why nobody answered. */
const lineEnded = (attempt: Attempt, event: CallReport, terms: CallTerms, now: number): Attempt | NotMade => {
  const { kind, callId, result = {}, connectedMs } = event;
  const talk = talkOf(attempt);
  const isEnd = kind === 'disconnected';
  if (!isLive(attempt) || (!isEnd && talk !== undefined)) return attempt;
  // The request was repeated and there were two calls: the end of one is not the end of the attempt.
  if (attempt.callIds.length > 1) return { ...attempt, callIds: attempt.callIds.filter((one) => one !== callId) };
  if (attempt.state === 'hanging_up' || talk !== undefined) {
    // The line knows better how long somebody listened than when its report arrives.
    const heardUntil = talk === undefined || connectedMs === undefined ? now : talk.answeredAt + connectedMs;
    return ended(attempt, isEnd ? result : {}, terms, Math.min(now, heardUntil));
  }
  if (isForAnother(result.failure)) return { state: 'not made', failure: result.failure, result };
  if (isEnd && result.failure === undefined) {
    return attempt.state === 'unexplained'
      ? attempt
      : { ...baseOf(attempt), state: 'unexplained', disconnectedAt: now };
  }
  const endedAt = attempt.state === 'unexplained' ? attempt.disconnectedAt : now;
  return ended(attempt, { ...result, reason: result.reason ?? 'not established' }, terms, endedAt);
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

/** The answer to a call request was lost, or the instance that sent it has died. */
const claimRunOut = (attempt: AttemptIn<'claimed'>, mayResend: boolean, terms: CallTerms, now: number): Attempt => {
  // An event has named a call: it may be ringing.
  if (attempt.callIds.length > 0) return placed(attempt, terms, now);
  if (!mayResend) return waitingForNews(attempt, terms, now);
  if (terms.line.isIdempotent) return sentAgain(attempt, terms, now);
  // The line may place a second call for the same request: its list is searched first, as long as a call could still ring.
  if (now < attempt.sentAt + UNCLEAR_MS) return { ...attempt, soughtAt: now, checkAt: now + DIAL_LEASE_MS };
  return waitingForNews(attempt, terms, now);
};

/** The request is sent once more, unless it was sent often enough or must not be sent any more. */
const sentAgain = (attempt: AttemptIn<'claimed'>, terms: CallTerms, now: number): Attempt => {
  const most = terms.line.isIdempotent ? MOST_RESENT.idempotent : MOST_RESENT.other;
  const isInTime = now < Math.min(terms.deadlineAt, attempt.claimedAt + LONGEST_RINGING_MS);
  if (attempt.sent > most || !isInTime || terms.isStopped) return waitingForNews(attempt, terms, now);
  return { ...attempt, sent: attempt.sent + 1, sentAt: now, checkAt: now + DIAL_LEASE_MS, soughtAt: undefined };
};

/** Nothing more is sent: until the call can be neither ringing nor answered any more, its events are waited for. */
const waitingForNews = (attempt: AttemptIn<'claimed'>, terms: CallTerms, now: number): Attempt => {
  const until = attempt.sentAt + UNCLEAR_MS;
  if (now < until) return { ...attempt, checkAt: until };
  return ended(attempt, { reason: attempt.reason ?? 'nothing was heard of the call' }, terms, now);
};

// What each event makes of a conversation: the message, its repeats, keys, and goodbyes.

const withTalk = (attempt: Attempt, talk: Talk, terms: CallTerms): Attempt => {
  if (attempt.state === 'over') return withOutcome({ ...attempt, talk }, terms);
  if (attempt.state === 'hanging_up') return { ...attempt, talk };
  return { ...baseOf(attempt), state: 'speaking', talk };
};

/** Somebody has answered, perhaps late. */
export const connected = (attempt: Attempt, terms: CallTerms, now: number): Attempt => {
  if (talkOf(attempt) !== undefined) return attempt;
  const { speaksByItself } = terms.line;
  const isHungUp = attempt.state === 'hanging_up' || (attempt.state === 'over' && attempt.wasHungUp === true);
  // A hang-up that was asked for before leaves a call that speaks by itself in peace.
  if (isHungUp && !speaksByItself) return attempt;
  if (terms.isStopped && !speaksByItself && isLive(attempt)) return unanswered(attempt, 'stopped', now);
  return { ...baseOf(attempt), state: 'speaking', talk: newTalk(speaksByItself, now) };
};

const newTalk = (isSpeaking: boolean, now: number): Talk => {
  const startedAt = isSpeaking ? now : undefined;
  return {
    answeredAt: now,
    speech: { number: MESSAGE, askedAt: now, acceptedAt: startedAt },
    startedAt,
    repeatKeys: [],
  };
};

/** The line accepted a speech. */
export const accepted = (attempt: Attempt, speech: SpeechNumber, now: number): Attempt =>
  attempt.state === 'speaking' && isAwaited(attempt.talk, speech)
    ? { ...attempt, talk: { ...attempt.talk, speech: { ...attempt.talk.speech, acceptedAt: now } } }
    : attempt;

/** Whether nothing is known of a speech but that it was asked for. */
const isAwaited = ({ speech: { number, acceptedAt } }: Talk, speech: SpeechNumber): boolean =>
  number === speech && acceptedAt === undefined;

/** The line did not accept a speech, or did not say so. */
export const notSpoken = (
  attempt: Attempt,
  { speech, result }: { readonly speech: SpeechNumber; readonly result: CallResult },
  terms: CallTerms,
  now: number,
): Attempt => {
  if (attempt.state !== 'speaking' || !isAwaited(attempt.talk, speech)) return attempt;
  const { talk } = attempt;
  if (result.failure === 'gone') return ended(attempt, result, terms, now);
  if (result.failure === 'unanswered') {
    return { ...attempt, talk: { ...talk, speech: { ...talk.speech, unclearAt: now } } };
  }
  return speech === MESSAGE ? hangingUp(withFailure(attempt), now, result) : hangingUp(attempt, now);
};

const withFailure = (attempt: AttemptIn<'speaking'>): AttemptIn<'speaking'> => {
  const talk = { ...attempt.talk, hasFailed: true };
  return { ...attempt, talk };
};

/** A speech has started. */
export const started = (attempt: Attempt, speech: SpeechNumber, terms: CallTerms, now: number): Attempt => {
  const known = accepted(attempt, speech, now);
  const talk = talkOf(known);
  if (talk === undefined || speech !== MESSAGE || talk.startedAt !== undefined) return known;
  return withTalk(known, { ...talk, startedAt: now }, terms);
};

/** A speech was spoken to its end, has failed or was canceled. */
export const speechOver = (attempt: Attempt, event: CallReport, terms: CallTerms, now: number): Attempt => {
  const { kind, speech = MESSAGE, result = {} } = event;
  const isWhole = kind === 'play completed' && isMessage(speech);
  // A call that speaks by itself was answered, although that was not reported.
  const before = talkOf(attempt) ?? (terms.line.speaksByItself && isWhole ? newTalk(true, now) : undefined);
  if (before === undefined) {
    // It was spoken while storage could not be used, or the report is not true: nothing is sure of what was heard.
    return isLive(attempt) && attempt.state !== 'hanging_up' ? hangingUp(attempt, now) : attempt;
  }
  const talk = isWhole && before.completedAt === undefined ? { ...before, completedAt: now } : before;
  const known = talk === before ? attempt : withTalk(attempt, talk, terms);
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

/** A key counts from the first moment, also while the line is hung up and afterwards. Something is said to it only before. */
export const keyPressed = (attempt: Attempt, { key }: CallReport, terms: CallTerms, now: number): Attempt => {
  const answer = answerOfKey(key?.key);
  if (!terms.confirm || answer === undefined || key === undefined) return attempt;
  // Nobody may have noted the answer, and the start of the message, while storage could not be used.
  const talk = talkOf(attempt) ?? newTalk(true, now);
  switch (answer) {
    case 'repeat': {
      const { repeatKeys } = talk;
      const number = speechOf(repeatKeys.length + 1);
      const isPossible = isLive(attempt) && attempt.state !== 'hanging_up' && isMessage(talk.speech.number);
      const isNew = repeatKeys.length < MOST_REPEATS && !repeatKeys.includes(key.sequence);
      if (!isPossible || !isNew || number === undefined) return attempt;
      return saying(attempt, { ...talk, repeatKeys: [...repeatKeys, key.sequence] }, number, terms, now);
    }
    case 'confirms':
      if (talk.confirmedAt !== undefined) return attempt;
      return saying(attempt, { ...talk, confirmedAt: now }, THANKED, terms, now);
    case 'cannot go':
      if (answerBy(attempt) !== undefined) return attempt;
      return saying(attempt, { ...talk, cannotGoAt: now }, UNDERSTOOD, terms, now);
  }
};

/** The next speech ends what is spoken. Nothing is said if nobody is listening any more. */
const saying = (attempt: Attempt, talk: Talk, number: SpeechNumber, terms: CallTerms, now: number): Attempt => {
  if (attempt.state === 'hanging_up' || !isLive(attempt)) return withTalk(attempt, talk, terms);
  const speech = { number, askedAt: now, acceptedAt: terms.line.speaksByItself ? now : undefined };
  return withTalk(attempt, { ...talk, speech, quietSince: undefined }, terms);
};

/** Keys were waited for: the line is hung up if that was long enough. */
export const waitedForKeys = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'speaking' && now >= (attempt.talk.quietSince ?? Infinity) + KEYS_AFTER_MS
    ? hangingUp(attempt, now)
    : attempt;

/** Nothing was heard of a speech until its time. */
export const speechOverdue = (attempt: AttemptIn<'speaking'>, now: number): Attempt => {
  const { talk } = attempt;
  const { number, acceptedAt, unclearAt, isRetried } = talk.speech;
  if (talk.quietSince !== undefined || number !== MESSAGE) return hangingUp(attempt, now);
  if (now >= latestEnd(talk)) return hangingUp(attempt, now, { reason: 'the call took too long' });
  if (acceptedAt !== undefined) return hangingUp(attempt, now, { reason: 'the end of the message was not reported' });
  if (unclearAt !== undefined || isRetried === true) {
    return hangingUp(withFailure(attempt), now, { reason: 'the request to speak was not answered' });
  }
  return { ...attempt, talk: { ...talk, speech: { number, askedAt: now, isRetried: true } } };
};
