import type { CallResult, ResultMeaning } from '../model/call-event.ts';
import { LONGEST_RINGING_MS } from '../model/phone-line.ts';
import { isMessage, MESSAGE, MOST_REPEATS, type SpeechNumber, speechOf, THANKED, UNDERSTOOD } from '../model/speech.ts';
import { answerOfKey, KEYS_AFTER_MS } from '../rules/keys.ts';
import {
  answerBy,
  type Attempt,
  type AttemptEvent,
  type CallReport,
  type CallTerms,
  CLAIM_LEASE_MS,
  type Command,
  DIAL_LEASE_MS,
  type EventOf,
  FIRST_LINE,
  isAcceptedKnown,
  isGoodbye,
  isLive,
  isWithoutReason,
  type LaterSpeech,
  latestEnd,
  lookAtOf,
  speechNow,
  speechOfNow,
  wasTaken,
} from './attempt.ts';

// What each event makes of an attempt: a pure state machine.

/** An attempt after an event; the same object if nothing changed. */
export interface AttemptChange {
  readonly next: Attempt;
  readonly command?: Command;
}

const MOST_RESENT = 2;
// A line that did not answer for 15 s needs a moment.
const RESEND_AFTER_MS = 10_000;
const HANG_UP_WITHIN_MS = 600_000;
/** How long an attempt of which nothing was heard may still ring or be answered after its call request was last sent. */
export const UNCLEAR_MS = LONGEST_RINGING_MS + 30_000;

/** An attempt after an event. */
export const moveAttempt = (attempt: Attempt, event: AttemptEvent, terms: CallTerms, now: number): AttemptChange => {
  // Any event of its call may be the first that is heard of it.
  const heard = 'callId' in event && attempt.callId === undefined ? { ...attempt, callId: event.callId } : attempt;
  const isAwaiting = 'isAwaiting' in event && event.isAwaiting === true;
  // Who asks what to do next was spoken to, also if that was not written down.
  const isUnknown = isAwaiting && event.kind !== 'connected' && !wasTaken(heard) && isLive(heard);
  const known = isUnknown ? spokenTo(heard, now) : heard;
  const change = moved(known, event, terms, now);
  const told = isAwaiting ? withCommand(change, now) : change;
  return told.next === known && !isLive(attempt) ? { ...told, next: attempt } : told;
};

/** A line that waits is told in any case what its call is to do: if nothing has changed, what it was to do before. */
const withCommand = (change: AttemptChange, now: number): AttemptChange => {
  if (change.command !== undefined) return change;
  const { next } = change;
  if (next.state !== 'speaking') return { next, command: 'hang up' };
  if (isQuiet(next, now)) return hangingUp(next, {}, now);
  return { next, command: next.quietSince === undefined ? 'speak' : 'wait for keys' };
};

const moved = (attempt: Attempt, event: AttemptEvent, terms: CallTerms, now: number): AttemptChange => {
  switch (event.kind) {
    case 'placed':
    case 'ringing':
      return placed(attempt, terms, now);
    case 'not found':
      return notFound(attempt, terms, now);
    case 'not placed':
      return { next: notPlaced(attempt, event, terms, now) };
    case 'connected':
      return connected(attempt, event, terms, now);
    case 'speech accepted':
      return { next: accepted(attempt, event, terms, now) };
    case 'not spoken':
      return notSpoken(attempt, event, terms, now);
    case 'play started':
      return { next: started(attempt, event.speech ?? MESSAGE, terms, now) };
    case 'tone received':
      return keyPressed(attempt, event, terms, now);
    case 'play completed':
    case 'play failed':
    case 'play canceled':
      return speechOver(attempt, event, terms, now);
    case 'no key':
      return isQuiet(attempt, now) ? hangingUp(attempt, {}, now) : { next: attempt };
    case 'spoken to':
      return { next: spokenTo(attempt, now) };
    case 'make way':
      return attempt.state === 'placed' ? unanswered({ ...attempt, makesWay: true }, MADE_WAY, now) : { next: attempt };
    case 'hung up':
      return { next: attempt.state === 'hanging_up' ? ended(attempt, {}, terms, now) : attempt };
    case 'disconnected':
      return { next: disconnected(attempt, event, terms, now) };
    case 'create failed':
      return { next: createFailed(attempt, event, terms, now) };
    case 'look':
      return looked(attempt, terms, now);
  }
};

const placed = (attempt: Attempt, terms: CallTerms, now: number): AttemptChange => {
  if (attempt.placedAt !== undefined) return { next: attempt };
  const next = { ...attempt, placedAt: now };
  // Its events may have come first.
  if (attempt.state !== 'claimed') return { next };
  return terms.isStopped ? unanswered(next, STOPPED, now) : { next: { ...next, state: 'placed' } };
};

const STOPPED = 'stopped before it was answered';
const MADE_WAY = 'made way for an urgent call';

const notPlaced = (
  attempt: Attempt,
  { why, result }: EventOf<'not placed'>,
  terms: CallTerms,
  now: number,
): Attempt => {
  // Its events have come: it was done after all.
  if (attempt.state !== 'claimed') return attempt;
  // An earlier request of this attempt may have been done, whatever this one was answered.
  const isSure = why !== 'unclear' && (attempt.resent === undefined || !terms.line.isIdempotent);
  if (isSure) return ended(attempt, { ...result, meaning: why === 'failed' ? undefined : why }, terms, now);
  // A line that throttles has not looked at the request: it does not count as sent again.
  const resent = why === 'no_line' || why === 'set_up' ? (attempt.resent ?? 1) - 1 : attempt.resent;
  return { ...attempt, resent, reason: result.reason, lookAt: now + RESEND_AFTER_MS };
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
const connected = (
  attempt: Attempt,
  { isAwaiting, isMachine }: CallReport,
  terms: CallTerms,
  now: number,
): AttemptChange => {
  // A line that waits reports its ends for sure: somebody had answered, and hung up before anything could be said.
  if (isAwaiting === true && attempt.disconnectedAt !== undefined) {
    return { next: isLive(attempt) ? ended(attempt, {}, terms, attempt.disconnectedAt) : attempt };
  }
  const known = isMachine === true ? { ...attempt, isMachine } : attempt;
  if (wasTaken(known)) return { next: known };
  const answered = { ...known, ...NO_END, answeredAt: known.answeredAt ?? now };
  if (terms.isStopped) return hangingUp(answered, { reason: STOPPED }, now);
  return { next: { ...answered, state: 'speaking', speakingAt: now }, command: 'speak' };
};

const accepted = (
  attempt: Attempt,
  { speech = MESSAGE, isStarted }: Omit<EventOf<'speech accepted'>, 'kind'>,
  terms: CallTerms,
  now: number,
): Attempt => {
  if (speech === MESSAGE) {
    const next = isAcceptedKnown(attempt) ? attempt : { ...attempt, acceptedAt: now };
    // Whoever asks again what to say has not heard what was said before.
    return isStarted === true ? credited(next, { startedAt: now }, terms) : next;
  }
  const { later } = attempt;
  // After a goodbye the line is hung up soon enough, whatever is known of it.
  const isNews = later?.number === speech && !isGoodbye(speech) && later.acceptedAt === undefined;
  return isNews ? { ...attempt, later: { ...later, acceptedAt: now } } : attempt;
};

const NO_HANG_UP = { hangingUpAt: undefined, hangingUpSince: undefined, isUnanswered: undefined, makesWay: undefined };

/** What follows needs no command: it is done already. Whose call was to be hung up because it only rang hears the message to the end. */
const spokenTo = (attempt: Attempt, now: number): Attempt => {
  if (attempt.speakingAt !== undefined) return attempt;
  const spoken = { ...attempt, answeredAt: attempt.answeredAt ?? now, speakingAt: now, acceptedAt: now };
  const isHungUp = attempt.state === 'over' && attempt.hangingUpAt !== undefined;
  return isHungUp ? spoken : { ...spoken, ...NO_END, ...NO_HANG_UP, state: 'speaking' };
};

const notSpoken = (
  attempt: Attempt,
  { why, result, speech = MESSAGE }: EventOf<'not spoken'>,
  terms: CallTerms,
  now: number,
): AttemptChange => {
  if (attempt.state !== 'speaking' || speech !== speechNow(attempt)) return { next: attempt };
  const { later } = attempt;
  // It is being spoken all the same.
  if ((later === undefined ? attempt.startedAt : later.acceptedAt) !== undefined) return { next: attempt };
  if (why === 'gone') return { next: ended(attempt, result, terms, now) };
  // The key counts.
  if (isGoodbye(speech)) return hangingUp(attempt, {}, now);
  if (why === 'failed') {
    return later === undefined
      ? hangingUp({ ...attempt, hasSpeechFailed: true }, result, now)
      : withoutRepeat(attempt, now);
  }
  return {
    next: { ...attempt, ...(later === undefined ? { unclearAt: now } : { later: { ...later, unclearAt: now } }) },
  };
};

/** The repeat does not come: what was spoken goes on, or keys are waited for. */
const withoutRepeat = (attempt: Attempt, now: number): AttemptChange => {
  const { before = MESSAGE, isBeforeOver = false } = attempt.later ?? {};
  const later: LaterSpeech | undefined =
    before === MESSAGE ? undefined : { number: before, before: MESSAGE, askedAt: now, acceptedAt: now };
  const next = { ...attempt, later };
  return isBeforeOver ? { next: { ...next, quietSince: now }, command: 'wait for keys' } : { next };
};

const started = (attempt: Attempt, speech: SpeechNumber, terms: CallTerms, now: number): Attempt => {
  if (speech === MESSAGE) {
    return attempt.startedAt === undefined ? credited(attempt, { startedAt: now }, terms) : attempt;
  }
  if (attempt.state !== 'speaking' || isGoodbye(speech) || speech < speechNow(attempt)) return attempt;
  if (speech === speechNow(attempt)) return accepted(attempt, { speech }, terms, now);
  // It was given up, and comes after all.
  const later: LaterSpeech = { number: speech, before: speechNow(attempt), askedAt: now, acceptedAt: now };
  return { ...attempt, later, quietSince: undefined };
};

/** News about the message counts only if speaking it was claimed; it improves the outcome of what is over. */
const credited = (attempt: Attempt, news: Partial<Attempt>, terms: CallTerms): Attempt => {
  if (attempt.speakingAt === undefined) return attempt;
  const next = { ...attempt, ...news };
  return isLive(next) ? next : { ...next, ...outcomeOf(next, undefined, terms, next.endedAt ?? 0) };
};

/** A key counts from the first moment, also while the line is hung up and when it was; something is said to it only before. */
const keyPressed = (attempt: Attempt, { key }: CallReport, terms: CallTerms, now: number): AttemptChange => {
  const answer = answerOfKey(key?.key);
  if (!terms.confirm || answer === undefined || key === undefined) return { next: attempt };
  // Keys are listened for with the message: somebody heard it while that could not be written down.
  const known = spokenTo(attempt, now);
  if (answer === 'repeat') return repeated(known, key.sequence, now);
  const isKnown = answer === 'confirms' ? known.confirmedAt !== undefined : answerBy(known) !== undefined;
  if (isKnown) return { next: attempt };
  return answer === 'confirms'
    ? saying(credited(known, { confirmedAt: now }, terms), THANKED, now)
    : saying(credited(known, { cannotGoAt: now }, terms), UNDERSTOOD, now);
};

const repeated = (attempt: Attempt, sequence: number, now: number): AttemptChange => {
  const { repeatKeys = [] } = attempt;
  const number = speechOf(repeatKeys.length + 1);
  const isTooMany = number === undefined || repeatKeys.length >= MOST_REPEATS;
  if (attempt.state !== 'speaking' || isTooMany || repeatKeys.includes(sequence) || isGoodbye(speechNow(attempt))) {
    return { next: attempt };
  }
  return saying({ ...attempt, repeatKeys: [...repeatKeys, sequence] }, number, now);
};

/** The next speech, which ends what is spoken; nothing if nobody is spoken to. */
const saying = (attempt: Attempt, number: SpeechNumber, now: number): AttemptChange => {
  if (attempt.state !== 'speaking' || number === MESSAGE) return { next: attempt };
  const isBeforeOver = attempt.quietSince !== undefined;
  const later: LaterSpeech = {
    number,
    askedAt: now,
    before: speechNow(attempt),
    ...(isBeforeOver ? { isBeforeOver } : {}),
  };
  return { next: { ...attempt, later, quietSince: undefined }, command: 'speak' };
};

const speechOver = (attempt: Attempt, event: CallReport, terms: CallTerms, now: number): AttemptChange => {
  const { kind, speech = MESSAGE, result = {} } = event;
  const isWhole = kind === 'play completed' && isMessage(speech);
  const next = isWhole && attempt.completedAt === undefined ? credited(attempt, { completedAt: now }, terms) : attempt;
  if (next.state === 'over') return { next };
  if (next.state === 'hanging_up') {
    return now - (next.hangingUpAt ?? 0) < CLAIM_LEASE_MS ? { next } : hangingUp(next, {}, now);
  }
  if (speech < speechNow(next)) return { next: earlierOver(next, speech, kind === 'play canceled') };
  // Reported again.
  if (next.quietSince !== undefined) return { next };
  if (isWhole && terms.confirm && next.state === 'speaking') {
    return { next: { ...next, quietSince: now }, command: 'wait for keys' };
  }
  if (kind !== 'play failed') return hangingUp(next, {}, now);
  // What its codes would mean for reaching a person they do not mean here: somebody has answered.
  const { code, subCode, reason = 'the message failed' } = result;
  const failed = speech === MESSAGE ? { ...next, hasSpeechFailed: true } : next;
  return hangingUp(failed, { code, subCode, reason }, now);
};

/** The end of an earlier speech ends nothing; but if the repeat that was to follow does not come, nothing is being spoken. */
const earlierOver = (attempt: Attempt, speech: SpeechNumber, isCanceled: boolean): Attempt => {
  const { later } = attempt;
  const isAwaited = later?.before === speech && later.acceptedAt === undefined && !isGoodbye(later.number);
  return isAwaited && !isCanceled && later.isBeforeOver !== true
    ? { ...attempt, later: { ...later, isBeforeOver: true } }
    : attempt;
};

const isQuiet = ({ state, quietSince }: Attempt, now: number): boolean =>
  state === 'speaking' && quietSince !== undefined && now >= quietSince + KEYS_AFTER_MS;

const disconnected = (
  attempt: Attempt,
  { result = {}, connectedMs }: CallReport,
  terms: CallTerms,
  now: number,
): Attempt => {
  if (!isLive(attempt) || isWithoutReason(attempt)) return attempt;
  if (!wasTaken(attempt) && result.meaning === undefined) return { ...attempt, disconnectedAt: now };
  // The line knows better how long somebody listened than when its report arrives.
  const until = connectedMs === undefined ? now : (attempt.answeredAt ?? now) + connectedMs;
  return ended(attempt, result, terms, Math.min(now, until), until);
};

const createFailed = (attempt: Attempt, { result = {} }: CallReport, terms: CallTerms, now: number): Attempt => {
  if (attempt.speakingAt !== undefined || attempt.isReasonReported === true) return attempt;
  // Whoever hung up a ringing line knows better why.
  if (attempt.hangingUpAt !== undefined) return isLive(attempt) ? ended(attempt, {}, terms, now) : attempt;
  // The end may have been reported first, without the reason.
  const endedAt = attempt.endedAt ?? attempt.disconnectedAt ?? now;
  const why = { ...result, reason: result.reason ?? 'not established' };
  return { ...ended(attempt, why, terms, endedAt), isReasonReported: true };
};

const looked = (attempt: Attempt, terms: CallTerms, now: number): AttemptChange => {
  if (isLive(attempt) && (attempt.line ?? FIRST_LINE) !== terms.line.name) {
    return { next: ended(attempt, { reason: 'the phone service was changed meanwhile' }, terms, now) };
  }
  if (terms.isStopped && attempt.state === 'placed') return unanswered(attempt, STOPPED, now);
  if (now < (lookAtOf(attempt, terms) ?? Infinity)) return { next: attempt };
  if (isWithoutReason(attempt)) return { next: ended(attempt, {}, terms, attempt.disconnectedAt) };
  switch (attempt.state) {
    case 'claimed':
      return claimRunOut(attempt, terms, now);
    case 'placed':
      return unanswered(attempt, 'no answer', now);
    case 'speaking':
      return speechOverdue(attempt, now);
    case 'hanging_up':
      return now - (attempt.hangingUpSince ?? now) < HANG_UP_WITHIN_MS
        ? hangingUp(attempt, {}, now)
        : { next: ended(attempt, {}, terms, now) };
    case 'over':
      return { next: attempt };
  }
};

const speechOverdue = (attempt: Attempt, now: number): AttemptChange => {
  const { acceptedAt, unclearAt } = speechOfNow(attempt);
  const speech = speechNow(attempt);
  if (attempt.quietSince !== undefined) return hangingUp(attempt, {}, now);
  if (now >= latestEnd(attempt)) return hangingUp(attempt, { reason: 'the call took too long' }, now);
  if (isGoodbye(speech)) return hangingUp(attempt, {}, now);
  if (acceptedAt !== undefined) {
    return hangingUp(attempt, { reason: 'the end of the message was not reported' }, now);
  }
  if (speech !== MESSAGE) return withoutRepeat(attempt, now);
  if (unclearAt !== undefined || attempt.isTakenOver === true) {
    return hangingUp({ ...attempt, hasSpeechFailed: true }, { reason: 'the request to speak was not answered' }, now);
  }
  return { next: { ...attempt, speakingAt: now, isTakenOver: true }, command: 'speak' };
};

/** The answer to a call request was lost, or whoever sent it has died: the line acts once for it, so it is sent again. */
const claimRunOut = (attempt: Attempt, terms: CallTerms, now: number): AttemptChange => {
  // An event has told its id: there is a call, and it may be ringing.
  if (attempt.callId !== undefined) return placed(attempt, terms, now);
  if (!terms.line.isIdempotent) return { next: { ...attempt, lookAt: now + DIAL_LEASE_MS }, command: 'find' };
  const until = (attempt.resentAt ?? attempt.claimedAt) + UNCLEAR_MS;
  return sentAgain(attempt, terms, now, now < until ? { ...attempt, lookAt: until } : undefined);
};

/** There is surely no call: the request may be sent again. */
const notFound = (attempt: Attempt, terms: CallTerms, now: number): AttemptChange =>
  attempt.state !== 'claimed' || attempt.callId !== undefined ? { next: attempt } : sentAgain(attempt, terms, now);

/**
 * The request is sent once more, unless it was sent often enough, or is not to be sent any more.
 *
 * @param otherwise if it is not; undefined: there is no call
 */
const sentAgain = (attempt: Attempt, terms: CallTerms, now: number, otherwise?: Attempt): AttemptChange => {
  const resent = (attempt.resent ?? 0) + 1;
  const isTime = now < Math.min(terms.deadlineAt, attempt.claimedAt + LONGEST_RINGING_MS);
  if (resent <= MOST_RESENT && isTime && !terms.isStopped && attempt.isReplaced !== true) {
    return { next: { ...attempt, resent, resentAt: now, lookAt: now + DIAL_LEASE_MS }, command: 'dial' };
  }
  const reason = attempt.reason ?? 'nothing was heard of the call';
  return { next: otherwise ?? ended(attempt, { reason }, terms, now) };
};

const hangingUp = (attempt: Attempt, result: CallResult, now: number): AttemptChange => ({
  next: {
    ...attempt,
    ...codesOf(attempt, result),
    state: 'hanging_up',
    hangingUpAt: now,
    hangingUpSince: attempt.hangingUpSince ?? now,
  },
  command: 'hang up',
});

/** A ringing call after a stop, with its hang-up claimed; the same object if it does not only ring. */
export const stoppedRinging = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'placed' ? unanswered(attempt, STOPPED, now).next : attempt;

/** A call whose hang-up is claimed again, because whoever had claimed it may have died; the same object if it is not to be hung up. */
export const hungUpAgain = (attempt: Attempt, now: number): Attempt =>
  attempt.state === 'hanging_up' ? hangingUp(attempt, {}, now).next : attempt;

const unanswered = (attempt: Attempt, reason: string, now: number): AttemptChange =>
  hangingUp({ ...attempt, isUnanswered: true }, { reason }, now);

const codesOf = (attempt: Attempt, { code, subCode, reason }: CallResult) => ({
  code: attempt.code ?? code,
  subCode: attempt.subCode ?? subCode,
  reason: attempt.reason ?? reason,
});

/** @param heardUntil if that is not when it ended, as far as this service knows */
const ended = (
  attempt: Attempt,
  result: CallResult,
  terms: CallTerms,
  endedAt: number,
  heardUntil = endedAt,
): Attempt => {
  // Why it was hung up is known better here than on the line; of a provisional end nothing is kept.
  const isOwnEnd = attempt.hangingUpAt !== undefined;
  const { code, subCode, reason } = isOwnEnd ? codesOf(attempt, result) : result;
  const over: Attempt = { ...attempt, code, subCode, reason, state: 'over', endedAt, holdsNumber: undefined };
  return { ...over, ...outcomeOf(over, isOwnEnd ? undefined : result.meaning, terms, heardUntil) };
};

/** @param meaning what the line's codes mean */
const outcomeOf = (
  attempt: Attempt,
  meaning: ResultMeaning | undefined,
  { confirm, unitMs }: CallTerms,
  endedAt: number,
): Pick<Attempt, 'outcome' | 'hasHeardUnit' | 'reason'> => {
  const { completedAt, startedAt, speakingAt, hangingUpSince, hasSpeechFailed, reason } = attempt;
  const answer = answerBy(attempt);
  if (answer !== undefined) return { outcome: answer, reason: undefined };
  const isMachine = attempt.isMachine === true;
  if (completedAt !== undefined) {
    if (confirm) return { outcome: 'unconfirmed', reason: NO_ANSWER_BY_KEY };
    return isMachine ? { outcome: 'no_answer', reason: MACHINE } : { outcome: 'heard', reason: undefined };
  }
  if (startedAt !== undefined && hasSpeechFailed !== true) {
    const hasHeardUnit = !isMachine && (hangingUpSince ?? endedAt) - startedAt >= unitMs;
    return { outcome: 'cut_short', hasHeardUnit, reason: reason ?? 'the callee hung up' };
  }
  if (speakingAt !== undefined) return { outcome: 'unknown', reason: reason ?? NOT_SURELY_STARTED };
  if (attempt.makesWay === true) return { outcome: 'made_way', reason };
  if (attempt.isUnanswered === true) return { outcome: 'no_answer', reason };
  const isUnclear = meaning === undefined || meaning === 'forbidden' || meaning === 'no_speech';
  return { outcome: isUnclear ? 'unknown' : meaning, reason: reason ?? NOT_SPOKEN };
};

const MACHINE = 'a machine answered';
const NO_ANSWER_BY_KEY = 'neither 1 nor 3 was pressed';
const NOT_SURELY_STARTED = 'the call ended before the message surely started';
const NOT_SPOKEN = 'the call ended before the message';
