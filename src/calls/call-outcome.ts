import type { ResultCodes, ResultMeaning } from './call-event.ts';
import { type CallRecord } from './call-record.ts';
import { START_OF_SPEECH_MS } from './message.ts';

/**
 * What became of one attempt to reach somebody; the same words in answers, rows, logs and alerts.
 * - `heard`: the line reported that the whole message was spoken;
 * - `cut_short`: it surely started, and the callee hung up, or its end was not reported;
 * - `no_answer`, `busy`, `declined`: as the telephone network says;
 * - `refused`: calling this number is of no use, or the line refused to call it;
 * - `unknown`: nothing was surely spoken, for another reason or for none that is known.
 */
export const OUTCOMES = ['heard', 'cut_short', 'no_answer', 'busy', 'declined', 'refused', 'unknown'] as const;

/** What became of one attempt. */
export type Outcome = (typeof OUTCOMES)[number];

/** An outcome with its cause. */
export interface CallOutcome extends ResultCodes {
  /** `throttled`: no line was free after all; no attempt at reaching the person was made. */
  readonly outcome: Outcome | 'throttled';
  /** In words. */
  readonly reason?: string | undefined;
  /** In milliseconds since 1970. */
  readonly endedAt: number;
}

const surelyStarted = (record: CallRecord): boolean => {
  if (record.playStartedAt !== undefined) return true;
  const end = record.disconnectedAt ?? record.hangingUpAt ?? record.endedAt;
  // The event was lost, but the callee was there when the speech must have begun.
  return record.playAcceptedAt !== undefined && end !== undefined && end - record.playAcceptedAt >= START_OF_SPEECH_MS;
};

/** The outcome of a call; undefined while it lasts. */
export const outcomeOf = (record: CallRecord): CallOutcome | undefined => {
  if (record.state !== 'ended') return undefined;
  const { code, subCode, reason, meaning } = record;
  const endedAt = record.disconnectedAt ?? record.endedAt ?? 0;
  if (record.playCompletedAt !== undefined) return { outcome: 'heard', endedAt };
  if (record.playFailedAt === undefined && surelyStarted(record)) {
    return { outcome: 'cut_short', code, subCode, reason: reason ?? 'the callee hung up', endedAt };
  }
  const fallback =
    record.playingAt === undefined
      ? 'the call ended before the message'
      : 'the call ended before the message surely started';
  return { outcome: outcomeOfMeaning(meaning), code, subCode, reason: reason ?? fallback, endedAt };
};

const outcomeOfMeaning = (meaning: ResultMeaning | undefined): CallOutcome['outcome'] => meaning ?? 'unknown';
