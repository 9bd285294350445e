import {
  type CallId,
  GOODBYE_CANNOT_GO,
  GOODBYE_CONFIRMED,
  isMessage,
  MAX_REPEATS,
  MESSAGE,
  type PromptNumber,
  promptOf,
} from '../model/ids.ts';
import { type CallResult, type Failure, MAX_RINGING_MS } from '../model/phone-provider.ts';
import { meaningOfKey, KEYS_AFTER_MS } from '../rules/message.ts';
import { KEYS_COUNT_FOR_MS } from '../rules/retention.ts';
import {
  choiceBy,
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
  latestEnd,
  type LiveAttempt,
  type Moment,
  openCallIds,
  type Talk,
  talkOf,
  hangingUpBeforeMessage,
  withOutcome,
} from './attempt.ts';

// An attempt after each event: a pure state machine. An action that begins is named after the commit that stores it.

type Moved = Attempt | 'not made';

/** How often a call request is sent again after a lost answer. */
const MAX_SENT_AGAIN = { idempotent: 2, other: 1 } as const;
/** If no event has named a call within this time after an unanswered request, the request is sent again. */
const SEND_AGAIN_AFTER_MS = 10_000;
const HANG_UP_WITHIN_MS = 600_000;
/** How long after the last request a call without events may ring or be answered. */
const UNCLEAR_MS = MAX_RINGING_MS + 30_000;

/**
 * An attempt after an event; the same object if nothing changed. `not made`: the request surely placed no call, and the callee was not the
 * reason, so it does not count as an attempt.
 */
export const moveAttempt = (attempt: Attempt, event: AttemptEvent, terms: CallTerms, moment: Moment): Moved => {
  if (attempt.state === 'over') return afterEnd(attempt, event, terms, moment);
  switch (event.kind) {
    case 'placed':
    case 'ringing':
      return placed(withCallId(attempt, event.callId, moment), terms, moment);
    case 'not placed':
      return notPlaced(attempt, event.result, terms, moment);
    case 'connected':
      return connected(attempt, event.callId, terms, moment);
    case 'prompt accepted':
      return accepted(attempt, event.prompt, moment);
    case 'not spoken':
      return notSpoken(attempt, event, terms, moment);
    case 'play started':
      return started(withCallId(attempt, event.callId, moment), event.prompt ?? MESSAGE, moment);
    case 'play completed':
    case 'play failed':
    case 'play canceled':
      return promptOver(withCallId(attempt, event.callId, moment), event, terms, moment);
    case 'tone received':
      return keyPressed(withCallId(attempt, event.callId, moment), event, terms, moment);
    case 'no key':
      return waitedForKeys(attempt, moment);
    case 'hung up':
      return hungUp(attempt, terms, moment);
    case 'gone':
      return attempt.state === 'hanging_up' ? whenGone(attempt, terms, moment) : attempt;
    case 'disconnected':
    case 'create failed':
      return callEnded(withCallId(attempt, event.callId, moment), event, terms, moment);
    case 'check':
      return checked(attempt, terms, moment);
  }
};

/** Whether an event certainly changes nothing, even if this copy of the attempt is old: its report is known and final. */
export const isRepeat = (attempt: Attempt, event: AttemptEvent): boolean => {
  // The report of the end came before the answer to the hang-up.
  if (event.kind === 'hung up' || event.kind === 'gone')
    return attempt.state === 'over' && attempt.action === undefined;
  if (!('callId' in event) || !attempt.callIds.includes(event.callId)) return false;
  if (event.kind === 'placed' || event.kind === 'ringing') return attempt.placedAt !== undefined;
  const isEnd = event.kind === 'disconnected' || event.kind === 'create failed';
  return isEnd && (attempt.state === 'over' || attempt.endedIds?.includes(event.callId) === true);
};

/** A new call of an attempt that hangs up is hung up, too. */
const withCallId = (attempt: LiveAttempt, callId: CallId, { now, commit }: Moment): LiveAttempt => {
  if (attempt.callIds.includes(callId)) return attempt;
  const action = attempt.state === 'hanging_up' ? { commit, at: now } : attempt.action;
  return { ...attempt, action, callIds: [...attempt.callIds, callId] };
};

/** An end is final. A late report tells only more of the talk, and a new call of the attempt is hung up. */
const afterEnd = (
  attempt: AttemptIn<'over'>,
  event: AttemptEvent,
  terms: CallTerms,
  { now, commit }: Moment,
): Attempt => {
  switch (event.kind) {
    case 'placed':
    case 'ringing':
    case 'connected':
      return attempt.callIds.includes(event.callId)
        ? attempt
        : { ...attempt, callIds: [...attempt.callIds, event.callId], action: { commit, at: now } };
    case 'play started':
      return talkOf(attempt) === undefined ? attempt : lateTalk(attempt, withStart(attempt, event.prompt, now), terms);
    case 'play completed': {
      const before = talkOf(attempt) ?? (terms.provider.speaksByItself ? newTalk(true, now) : undefined);
      if (before === undefined || !isMessage(event.prompt ?? MESSAGE)) return attempt;
      return lateTalk(attempt, before.completedAt === undefined ? { ...before, completedAt: now } : before, terms);
    }
    case 'tone received':
      return now - attempt.endedAt > KEYS_COUNT_FOR_MS
        ? attempt
        : lateTalk(attempt, withChoice(attempt, event, terms, now), terms);
    case 'hung up':
    case 'gone':
      return attempt.action === undefined ? attempt : { ...attempt, action: undefined };
    case 'check': {
      if (now < (checkAtOf(attempt, terms) ?? Infinity)) return attempt;
      return { ...attempt, action: now - attempt.endedAt < HANG_UP_WITHIN_MS ? { commit, at: now } : undefined };
    }
    case 'not placed':
    case 'prompt accepted':
    case 'not spoken':
    case 'play failed':
    case 'play canceled':
    case 'no key':
    case 'disconnected':
    case 'create failed':
      return attempt;
  }
};

/** A hang-up of a new call that is in progress continues. */
const lateTalk = (attempt: AttemptIn<'over'>, talk: Talk | undefined, terms: CallTerms): Attempt =>
  talk === undefined || talk === talkOf(attempt) ? attempt : withOutcome(attempt, talk, terms);

const withStart = (attempt: Attempt, prompt: PromptNumber = MESSAGE, now: number): Talk | undefined => {
  const talk = talkOf(attempt);
  return talk === undefined || prompt !== MESSAGE || talk.startedAt !== undefined ? talk : { ...talk, startedAt: now };
};

const placed = (attempt: LiveAttempt, terms: CallTerms, moment: Moment): Attempt => {
  if (attempt.placedAt !== undefined) return attempt;
  // Events of the call may arrive first.
  if (attempt.state !== 'claimed') return { ...attempt, placedAt: moment.now };
  const ringing: LiveAttempt = { ...baseOf(attempt), state: 'ringing', placedAt: moment.now };
  return terms.isStopped ? hangingUpBeforeMessage(ringing, 'stopped', moment) : ringing;
};

const notPlaced = (attempt: LiveAttempt, result: CallResult, terms: CallTerms, { now }: Moment): Moved => {
  // Events of the call have arrived: the request was carried out.
  if (attempt.state !== 'claimed' || attempt.callIds.length > 0) return attempt;
  const { failure = 'unanswered', reason } = result;
  // An earlier request of this attempt may have placed a call, unless its number cannot be called at all.
  const isSure = failure === 'refused' || (failure !== 'unanswered' && attempt.sent === 1);
  if (!isSure) return { ...attempt, action: undefined, reason, checkAt: now + SEND_AGAIN_AFTER_MS };
  return NOT_MADE.has(failure) ? 'not made' : ended(attempt, result, terms, now);
};

const NOT_MADE: ReadonlySet<Failure | undefined> = new Set<Failure>(['capacity', 'unreachable', 'set_up']);

/** A call is over, or was never established: only the second event has the reason. */
const callEnded = (attempt: LiveAttempt, event: CallReport, terms: CallTerms, { now }: Moment): Moved => {
  const { kind, callId, result = {}, connectedMs } = event;
  if (attempt.endedIds?.includes(callId) === true) return attempt;
  // A request that was sent again placed a second call: the attempt ends with the last of its calls.
  if (openCallIds(attempt).length > 1) return { ...attempt, endedIds: [...(attempt.endedIds ?? []), callId] };
  const talk = talkOf(attempt);
  if (kind === 'create failed' && attempt.state === 'speaking' && !isSurelyTalked(attempt.talk)) {
    return ended({ ...baseOf(attempt), state: 'ringing' }, result, terms, now);
  }
  if (attempt.state === 'hanging_up' || talk !== undefined) {
    // The duration that the provider reports is more exact than the arrival of its report.
    const heardUntil = talk === undefined || connectedMs === undefined ? now : talk.answeredAt + connectedMs;
    return ended(attempt, kind === 'disconnected' ? result : {}, terms, Math.min(now, heardUntil));
  }
  if (NOT_MADE.has(result.failure)) return 'not made';
  if (kind === 'disconnected' && result.failure === undefined) {
    return attempt.state === 'unexplained'
      ? attempt
      : { ...baseOf(attempt), state: 'unexplained', disconnectedAt: now, connectedMs };
  }
  const endedAt = attempt.state === 'unexplained' ? attempt.disconnectedAt : now;
  return ended(attempt, { ...result, reason: result.reason ?? 'not established' }, terms, endedAt);
};

/** Whether the talk is proved by more than the report of the answer. */
const isSurelyTalked = ({ completedAt, confirmedAt, cannotGoAt, repeatKeys }: Talk): boolean =>
  completedAt !== undefined || confirmedAt !== undefined || cannotGoAt !== undefined || repeatKeys.length > 0;

const checked = (attempt: LiveAttempt, terms: CallTerms, moment: Moment): Attempt => {
  const { now } = moment;
  if (attempt.provider !== terms.provider.name) {
    return ended(attempt, { reason: 'the phone service was changed meanwhile' }, terms, now);
  }
  if (terms.isStopped && attempt.state === 'ringing') return hangingUpBeforeMessage(attempt, 'stopped', moment);
  if (now < (checkAtOf(attempt, terms) ?? Infinity)) return attempt;
  switch (attempt.state) {
    case 'claimed':
      return claimOverdue(attempt, terms, moment);
    case 'ringing':
      return hangingUpBeforeMessage(attempt, 'no_answer', moment);
    case 'unexplained':
      return ended(attempt, {}, terms, attempt.disconnectedAt);
    case 'speaking':
      return promptOverdue(attempt, moment);
    case 'hanging_up':
      // Without an action, the provider has answered the hang-up, and the report of the end is lost.
      if (attempt.action === undefined) return ended(asUnclear(attempt), {}, terms, now);
      return now - attempt.since < HANG_UP_WITHIN_MS
        ? { ...attempt, action: { commit: moment.commit, at: now } }
        : ended(attempt, { reason: 'the call could not be hung up' }, terms, now);
  }
};

/** The answer to a call request was lost, or the instance has died. */
const claimOverdue = (attempt: AttemptIn<'claimed'>, terms: CallTerms, moment: Moment): Attempt => {
  const { now, commit } = moment;
  // An event has named a call, which may be ringing.
  if (attempt.callIds.length > 0) return placed(attempt, terms, moment);
  const most = terms.provider.isIdempotent ? MAX_SENT_AGAIN.idempotent : MAX_SENT_AGAIN.other;
  const isInTime = now < Math.min(terms.deadlineAt, attempt.claimedAt + MAX_RINGING_MS);
  if (attempt.sent <= most && isInTime && !terms.isStopped) {
    const action = { commit, at: now };
    return { ...attempt, action, sent: attempt.sent + 1, sentAt: now, checkAt: now + DIAL_LEASE_MS };
  }
  // Waits for events until the call can no longer ring or be answered.
  const until = attempt.sentAt + UNCLEAR_MS;
  if (now < until) return { ...attempt, action: undefined, checkAt: until };
  return ended(attempt, { reason: attempt.reason ?? 'nothing was heard of the call' }, terms, now);
};

const withTalk = (attempt: LiveAttempt, talk: Talk): LiveAttempt => {
  if (attempt.state === 'hanging_up') return { ...attempt, talk };
  const { action } = attempt.state === 'speaking' ? attempt : {};
  return { ...baseOf(attempt), action, state: 'speaking', talk };
};

const connected = (before: LiveAttempt, callId: CallId, terms: CallTerms, moment: Moment): Attempt => {
  // The call has ended: the report is late.
  if (before.endedIds?.includes(callId) === true) return before;
  const attempt = withCallId(before, callId, moment);
  const { now, commit } = moment;
  if (talkOf(attempt) !== undefined) return attempt;
  const { speaksByItself } = terms.provider;
  if (attempt.state === 'unexplained') return answeredAndEnded(attempt, speaksByItself, terms);
  // An earlier hang-up does not end an answered call that speaks by itself.
  if (attempt.state === 'hanging_up' && !speaksByItself) return attempt;
  if (terms.isStopped && !speaksByItself) return hangingUpBeforeMessage(attempt, 'stopped', moment);
  const action = speaksByItself ? undefined : { commit, at: now };
  return { ...baseOf(attempt), action, state: 'speaking', talk: newTalk(speaksByItself, now) };
};

/** The call was answered, and its end was reported first: the callee listened for the reported duration. */
const answeredAndEnded = (attempt: AttemptIn<'unexplained'>, hasSpoken: boolean, terms: CallTerms): Attempt => {
  const { disconnectedAt, connectedMs } = attempt;
  const talk = newTalk(hasSpoken && connectedMs !== undefined, disconnectedAt - (connectedMs ?? 0));
  return ended({ ...baseOf(attempt), state: 'speaking', talk }, {}, terms, disconnectedAt);
};

const newTalk = (isSpeaking: boolean, now: number): Talk => {
  const startedAt = isSpeaking ? now : undefined;
  return {
    answeredAt: now,
    prompt: { number: MESSAGE, askedAt: now, acceptedAt: startedAt },
    startedAt,
    repeatKeys: [],
  };
};

const accepted = (attempt: LiveAttempt, prompt: PromptNumber, { now }: Moment): LiveAttempt =>
  attempt.state === 'speaking' && isAwaited(attempt.talk, prompt)
    ? {
        ...attempt,
        action: undefined,
        talk: { ...attempt.talk, prompt: { ...attempt.talk.prompt, acceptedAt: now } },
      }
    : attempt;

const isAwaited = ({ prompt: { number, acceptedAt } }: Talk, prompt: PromptNumber): boolean =>
  number === prompt && acceptedAt === undefined;

const notSpoken = (
  attempt: LiveAttempt,
  { prompt, result }: { readonly prompt: PromptNumber; readonly result: CallResult },
  terms: CallTerms,
  moment: Moment,
): Attempt => {
  if (attempt.state !== 'speaking' || !isAwaited(attempt.talk, prompt)) return attempt;
  const { talk } = attempt;
  const { now } = moment;
  if (result.failure === 'gone') return ended(attempt, result, terms, now);
  if (result.failure === 'unanswered') {
    return { ...attempt, action: undefined, talk: { ...talk, prompt: { ...talk.prompt, unclearAt: now } } };
  }
  return prompt === MESSAGE ? hangingUp(asUnclear(attempt), moment, now, result) : hangingUp(attempt, moment, now);
};

const asUnclear = <One extends AttemptIn<'speaking' | 'hanging_up'>>(attempt: One): One => ({
  ...attempt,
  talk: attempt.talk && { ...attempt.talk, isUnclear: true },
});

const started = (attempt: LiveAttempt, prompt: PromptNumber, moment: Moment): LiveAttempt => {
  const after = accepted(attempt, prompt, moment);
  const talk = withStart(after, prompt, moment.now);
  return talk === undefined || talk === talkOf(after) ? after : withTalk(after, talk);
};

/** A prompt has completed, failed or was canceled. */
const promptOver = (attempt: LiveAttempt, event: CallReport, terms: CallTerms, moment: Moment): Attempt => {
  const { kind, prompt = MESSAGE, result = {} } = event;
  const { now } = moment;
  const isWhole = kind === 'play completed' && isMessage(prompt);
  // The answer to a call that speaks by itself was not reported.
  const before = talkOf(attempt) ?? (terms.provider.speaksByItself && isWhole ? newTalk(true, now) : undefined);
  // The service spoke without storage, or the report is false: it is not known what the callee heard.
  if (before === undefined) return attempt.state === 'hanging_up' ? attempt : hangingUp(attempt, moment, now);
  const talk = isWhole && before.completedAt === undefined ? { ...before, completedAt: now } : before;
  const after = talk === before ? attempt : withTalk(attempt, talk);
  // The end of an earlier prompt, which a later prompt has interrupted or follows.
  if (after.state !== 'speaking' || prompt < talk.prompt.number) return after;
  if (isWhole && terms.confirm && !terms.provider.speaksByItself) return waitingForKeys(after, talk, moment);
  if (kind !== 'play failed') return hangingUp(after, moment, now);
  // The callee has answered: the codes do not mean that the callee cannot be reached.
  const { code, subCode, reason = 'the message failed' } = result;
  return hangingUp(prompt === MESSAGE ? asUnclear(after) : after, moment, now, { code, subCode, reason });
};

/** The last word is spoken: an instance waits for keys. */
const waitingForKeys = (attempt: AttemptIn<'speaking'>, talk: Talk, { now, commit }: Moment): Attempt =>
  talk.quietSince === undefined
    ? { ...attempt, action: { commit, at: now }, talk: { ...talk, quietSince: now } }
    : attempt;

/** Keys always count, even during the hang-up. Only before it, the service speaks another prompt. */
const keyPressed = (attempt: LiveAttempt, event: CallReport, terms: CallTerms, moment: Moment): Attempt => {
  const { now } = moment;
  const before = talkOf(attempt);
  if (terms.confirm && meaningOfKey(event.key?.key) === 'repeat' && event.key !== undefined) {
    // Without storage, no instance has noted the answer and the start of the message.
    const talk = before ?? newTalk(true, now);
    const { repeatKeys } = talk;
    const number = promptOf(repeatKeys.length + 1);
    const isPossible = !isHungUp(attempt, terms) && isMessage(talk.prompt.number);
    const isNew = repeatKeys.length < MAX_REPEATS && !repeatKeys.includes(event.key.sequence);
    if (!isPossible || !isNew || number === undefined) return attempt;
    return saying(attempt, { ...talk, repeatKeys: [...repeatKeys, event.key.sequence] }, number, terms, moment);
  }
  const talk = withChoice(attempt, event, terms, now);
  if (talk === undefined || talk === before) return attempt;
  return saying(attempt, talk, talk.confirmedAt === undefined ? GOODBYE_CANNOT_GO : GOODBYE_CONFIRMED, terms, moment);
};

/** The talk with the callee's choice by key; the same object if it has that choice already. */
const withChoice = (attempt: Attempt, { key }: CallReport, terms: CallTerms, now: number): Talk | undefined => {
  const before = talkOf(attempt);
  const meaning = meaningOfKey(key?.key);
  if (!terms.confirm) return before;
  const talk = before ?? newTalk(true, now);
  if (meaning === 'confirms') return talk.confirmedAt === undefined ? { ...talk, confirmedAt: now } : before;
  return meaning === 'cannot go' && choiceBy(attempt) === undefined ? { ...talk, cannotGoAt: now } : before;
};

/** Whether no prompt follows. A call that speaks by itself may have been answered at the moment of its hang-up: it is open. */
const isHungUp = (attempt: LiveAttempt, { provider: { speaksByItself } }: CallTerms): boolean =>
  attempt.state === 'hanging_up' && (attempt.talk !== undefined || !speaksByItself);

/** The next prompt interrupts the current prompt. After a hang-up the service does not speak. */
const saying = (
  attempt: LiveAttempt,
  talk: Talk,
  number: PromptNumber,
  terms: CallTerms,
  { now, commit }: Moment,
): Attempt => {
  const { speaksByItself } = terms.provider;
  if (isHungUp(attempt, terms)) return withTalk(attempt, talk);
  const prompt = { number, askedAt: now, acceptedAt: speaksByItself ? now : undefined };
  const action = speaksByItself ? undefined : { commit, at: now };
  return { ...baseOf(attempt), action, state: 'speaking', talk: { ...talk, prompt, quietSince: undefined } };
};

const waitedForKeys = (attempt: LiveAttempt, moment: Moment): Attempt =>
  attempt.state === 'speaking' && moment.now >= (attempt.talk.quietSince ?? Infinity) + KEYS_AFTER_MS
    ? hangingUp(attempt, moment, moment.now)
    : attempt;

/** A call that speaks by itself may have been answered in the meantime: its provider reports the end. */
const hungUp = (attempt: LiveAttempt, terms: CallTerms, { now }: Moment): Attempt => {
  if (attempt.state !== 'hanging_up') return attempt;
  const isEndReported = terms.provider.speaksByItself && attempt.talk === undefined;
  return isEndReported ? { ...attempt, action: undefined } : ended(attempt, {}, terms, now);
};

/**
 * The call had ended before the hang-up, at a time that is known only if the end of its prompt was reported. If the callee seems to have heard a
 * unit, the attempt stays open: the report of the call's end may give an earlier time.
 */
const whenGone = (attempt: AttemptIn<'hanging_up'>, terms: CallTerms, { now }: Moment): Attempt => {
  if (attempt.heardUntil === undefined) return ended(asUnclear(attempt), {}, terms, now);
  const after = ended(attempt, {}, terms, now);
  return after.outcome === 'cut_short' && after.hasHeardUnit === true ? { ...attempt, action: undefined } : after;
};

const promptOverdue = (attempt: AttemptIn<'speaking'>, moment: Moment): Attempt => {
  const { now, commit } = moment;
  const { talk } = attempt;
  const { number, acceptedAt, unclearAt, askedAt } = talk.prompt;
  if (talk.quietSince !== undefined || number !== MESSAGE) return hangingUp(attempt, moment, undefined);
  if (now >= latestEnd(talk)) return hangingUp(attempt, moment, undefined, { reason: 'the call took too long' });
  if (acceptedAt !== undefined) {
    return hangingUp(attempt, moment, undefined, { reason: 'the end of the message was not reported' });
  }
  // Asked again: the instance that claimed it first died before the provider answered.
  const isRetried = askedAt > talk.answeredAt;
  if (unclearAt !== undefined || isRetried) {
    return hangingUp(asUnclear(attempt), moment, undefined, { reason: 'the request to speak was not answered' });
  }
  return {
    ...attempt,
    action: { commit, at: now },
    talk: { ...talk, prompt: { number, askedAt: now } },
  };
};
