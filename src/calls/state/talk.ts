import type { CallResult } from '../model/call-event.ts';
import { isMessage, MESSAGE, MOST_REPEATS, type SpeechNumber, speechOf, THANKED, UNDERSTOOD } from '../model/speech.ts';
import { answerOfKey, KEYS_AFTER_MS } from '../rules/keys.ts';
import {
  answerBy,
  type Attempt,
  type AttemptIn,
  baseOf,
  type CallReport,
  type CallTerms,
  ended,
  hangingUp,
  isLive,
  latestEnd,
  type Talk,
  talkOf,
  unanswered,
  withOutcome,
} from './attempt.ts';

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
