import {
  type CallId,
  isMessage,
  MESSAGE,
  MAX_REPEATS,
  type PromptNumber,
  promptOf,
  GOODBYE_CONFIRMED,
  GOODBYE_CANNOT_GO,
} from '../model/ids.ts';
import { type CallResult, type Failure, MAX_RINGING_MS } from '../model/phone-provider.ts';
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

// An attempt after each event: a pure state machine. `commandsOf` derives the commands from the difference.

type Moved = Attempt | 'not made';

/** How often a call request is retried after a lost answer. */
const MOST_RESENT = { idempotent: 2, other: 1 } as const;
/** A line that did not answer for 15 s needs a moment. */
const RESEND_AFTER_MS = 10_000;
const HANG_UP_WITHIN_MS = 600_000;
/** How long after the last request a call without events may ring or be answered. */
const UNCLEAR_MS = MAX_RINGING_MS + 30_000;

/**
 * An attempt after an event; the same object if nothing changed. `not made`: the request surely placed no call, and the callee was not the
 * reason, so it does not count as an attempt.
 */
export const moveAttempt = (attempt: Attempt, event: AttemptEvent, terms: CallTerms, now: number): Moved => {
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
      return checked(known, event.mayResend, terms, now);
  }
};

const withCallId = (attempt: Attempt, callId: CallId): Attempt =>
  attempt.callIds.includes(callId) ? attempt : { ...attempt, callIds: [...attempt.callIds, callId] };

const placed = (attempt: Attempt, terms: CallTerms, now: number): Attempt => {
  if (attempt.placedAt !== undefined) return attempt;
  // Events of the call may arrive first.
  if (attempt.state !== 'claimed') return { ...attempt, placedAt: now };
  const ringing: LiveAttempt = { ...baseOf(attempt), state: 'ringing', placedAt: now };
  return terms.isStopped ? unanswered(ringing, 'stopped', now) : ringing;
};

const notPlaced = (attempt: Attempt, result: CallResult, terms: CallTerms, now: number): Moved => {
  // Events of the call have arrived: the request was carried out.
  if (attempt.state !== 'claimed') return attempt;
  const { failure = 'unanswered', reason } = result;
  // An earlier request of this attempt may have placed a call, regardless of this answer.
  const isSure = failure !== 'unanswered' && (attempt.sent === 1 || !terms.line.isIdempotent);
  if (!isSure) return { ...attempt, reason, checkAt: now + RESEND_AFTER_MS };
  return NOT_MADE.has(failure) ? 'not made' : ended(attempt, result, terms, now);
};

const NOT_MADE: ReadonlySet<Failure | undefined> = new Set<Failure>(['capacity', 'unreachable', 'set_up']);

/** The call is over, or was never established: only the second event has the reason. */
const lineEnded = (attempt: Attempt, event: CallReport, terms: CallTerms, now: number): Moved => {
  const { kind, callId, result = {}, connectedMs } = event;
  const talk = talkOf(attempt);
  const isEnd = kind === 'disconnected';
  if (!isLive(attempt) || (!isEnd && talk !== undefined)) return attempt;
  // A retry placed a second call: the attempt ends with the last of its calls.
  if (attempt.callIds.length > 1) return { ...attempt, callIds: attempt.callIds.filter((one) => one !== callId) };
  if (attempt.state === 'hanging_up' || talk !== undefined) {
    // The duration that the line reports is more exact than the arrival of its report.
    const heardUntil = talk === undefined || connectedMs === undefined ? now : talk.answeredAt + connectedMs;
    return ended(attempt, isEnd ? result : {}, terms, Math.min(now, heardUntil));
  }
  if (NOT_MADE.has(result.failure)) return 'not made';
  if (isEnd && result.failure === undefined) {
    return attempt.state === 'unexplained'
      ? attempt
      : { ...baseOf(attempt), state: 'unexplained', disconnectedAt: now };
  }
  const endedAt = attempt.state === 'unexplained' ? attempt.disconnectedAt : now;
  return ended(attempt, { ...result, reason: result.reason ?? 'not established' }, terms, endedAt);
};

const checked = (attempt: Attempt, mayResend: boolean, terms: CallTerms, now: number): Attempt => {
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

/** The answer to a call request was lost, or the instance has died. */
const claimRunOut = (attempt: AttemptIn<'claimed'>, mayResend: boolean, terms: CallTerms, now: number): Attempt => {
  // An event has named a call, which may be ringing.
  if (attempt.callIds.length > 0) return placed(attempt, terms, now);
  if (!mayResend) return waitingForNews(attempt, terms, now);
  if (terms.line.isIdempotent) return sentAgain(attempt, terms, now);
  // A retry may place a second call: search the line's list first, as long as a call could still ring.
  if (now < attempt.sentAt + UNCLEAR_MS) return { ...attempt, soughtAt: now, checkAt: now + DIAL_LEASE_MS };
  return waitingForNews(attempt, terms, now);
};

const sentAgain = (attempt: AttemptIn<'claimed'>, terms: CallTerms, now: number): Attempt => {
  const most = terms.line.isIdempotent ? MOST_RESENT.idempotent : MOST_RESENT.other;
  const isInTime = now < Math.min(terms.deadlineAt, attempt.claimedAt + MAX_RINGING_MS);
  if (attempt.sent > most || !isInTime || terms.isStopped) return waitingForNews(attempt, terms, now);
  return { ...attempt, sent: attempt.sent + 1, sentAt: now, checkAt: now + DIAL_LEASE_MS, soughtAt: undefined };
};

/** Sends no more requests, and waits for events until the call can no longer ring or be answered. */
const waitingForNews = (attempt: AttemptIn<'claimed'>, terms: CallTerms, now: number): Attempt => {
  const until = attempt.sentAt + UNCLEAR_MS;
  if (now < until) return { ...attempt, checkAt: until };
  return ended(attempt, { reason: attempt.reason ?? 'nothing was heard of the call' }, terms, now);
};

const withTalk = (attempt: Attempt, talk: Talk, terms: CallTerms): Attempt => {
  if (attempt.state === 'over') return withOutcome({ ...attempt, talk }, terms);
  if (attempt.state === 'hanging_up') return { ...attempt, talk };
  return { ...baseOf(attempt), state: 'speaking', talk };
};

const connected = (attempt: Attempt, terms: CallTerms, now: number): Attempt => {
  if (talkOf(attempt) !== undefined) return attempt;
  const { speaksByItself } = terms.line;
  const isHungUp = attempt.state === 'hanging_up' || (attempt.state === 'over' && attempt.wasHungUp === true);
  // An earlier hang-up does not end an answered call that speaks by itself.
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

const accepted = (attempt: Attempt, speech: PromptNumber, now: number): Attempt =>
  attempt.state === 'speaking' && isAwaited(attempt.talk, speech)
    ? { ...attempt, talk: { ...attempt.talk, speech: { ...attempt.talk.speech, acceptedAt: now } } }
    : attempt;

const isAwaited = ({ speech: { number, acceptedAt } }: Talk, speech: PromptNumber): boolean =>
  number === speech && acceptedAt === undefined;

const notSpoken = (
  attempt: Attempt,
  { speech, result }: { readonly speech: PromptNumber; readonly result: CallResult },
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

const started = (attempt: Attempt, speech: PromptNumber, terms: CallTerms, now: number): Attempt => {
  const known = accepted(attempt, speech, now);
  const talk = talkOf(known);
  if (talk === undefined || speech !== MESSAGE || talk.startedAt !== undefined) return known;
  return withTalk(known, { ...talk, startedAt: now }, terms);
};

/** A speech has completed, failed or was canceled. */
const speechOver = (attempt: Attempt, event: CallReport, terms: CallTerms, now: number): Attempt => {
  const { kind, speech = MESSAGE, result = {} } = event;
  const isWhole = kind === 'play completed' && isMessage(speech);
  // The answer to a call that speaks by itself was not reported.
  const before = talkOf(attempt) ?? (terms.line.speaksByItself && isWhole ? newTalk(true, now) : undefined);
  if (before === undefined) {
    // The service spoke without storage, or the report is false: it is not known what the callee heard.
    return isLive(attempt) && attempt.state !== 'hanging_up' ? hangingUp(attempt, now) : attempt;
  }
  const talk = isWhole && before.completedAt === undefined ? { ...before, completedAt: now } : before;
  const known = talk === before ? attempt : withTalk(attempt, talk, terms);
  // The end of an earlier speech, which a later speech has interrupted or follows.
  if (known.state !== 'speaking' || speech < talk.speech.number) return known;
  if (isWhole && terms.confirm && !terms.line.speaksByItself) {
    return talk.quietSince === undefined ? { ...known, talk: { ...talk, quietSince: now } } : known;
  }
  if (kind !== 'play failed') return hangingUp(known, now);
  // The callee has answered: the codes do not mean that the callee cannot be reached.
  const { code, subCode, reason = 'the message failed' } = result;
  return hangingUp(speech === MESSAGE ? withFailure(known) : known, now, { code, subCode, reason });
};

/** Keys always count, even during and after the hang-up. Only before it, the service speaks an answer. */
const keyPressed = (attempt: Attempt, { key }: CallReport, terms: CallTerms, now: number): Attempt => {
  const answer = answerOfKey(key?.key);
  if (!terms.confirm || answer === undefined || key === undefined) return attempt;
  // Without storage, no instance has noted the answer and the start of the message.
  const talk = talkOf(attempt) ?? newTalk(true, now);
  switch (answer) {
    case 'repeat': {
      const { repeatKeys } = talk;
      const number = promptOf(repeatKeys.length + 1);
      const isPossible = isLive(attempt) && attempt.state !== 'hanging_up' && isMessage(talk.speech.number);
      const isNew = repeatKeys.length < MAX_REPEATS && !repeatKeys.includes(key.sequence);
      if (!isPossible || !isNew || number === undefined) return attempt;
      return saying(attempt, { ...talk, repeatKeys: [...repeatKeys, key.sequence] }, number, terms, now);
    }
    case 'confirms':
      if (talk.confirmedAt !== undefined) return attempt;
      return saying(attempt, { ...talk, confirmedAt: now }, GOODBYE_CONFIRMED, terms, now);
    case 'cannot go':
      if (answerBy(attempt) !== undefined) return attempt;
      return saying(attempt, { ...talk, cannotGoAt: now }, GOODBYE_CANNOT_GO, terms, now);
  }
};

/** The next speech interrupts the current speech. After a hang-up the service does not speak. */
const saying = (attempt: Attempt, talk: Talk, number: PromptNumber, terms: CallTerms, now: number): Attempt => {
  if (attempt.state === 'hanging_up' || !isLive(attempt)) return withTalk(attempt, talk, terms);
  const speech = { number, askedAt: now, acceptedAt: terms.line.speaksByItself ? now : undefined };
  return withTalk(attempt, { ...talk, speech, quietSince: undefined }, terms);
};

const waitedForKeys = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'speaking' && now >= (attempt.talk.quietSince ?? Infinity) + KEYS_AFTER_MS
    ? hangingUp(attempt, now)
    : attempt;

const speechOverdue = (attempt: AttemptIn<'speaking'>, now: number): Attempt => {
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
