import type { ResultCodes } from './call-event.ts';
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
  /** Of `unknown`: what became of the call got lost on this side, so it may be anything. It does not count as an attempt. */
  readonly isLost?: true;
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
  const why = { code, subCode, reason: reason ?? fallback, endedAt };
  if (meaning !== undefined) return { outcome: meaning, ...why };
  return { outcome: 'unknown', ...why, ...(isLost(record) ? { isLost: true } : {}) };
};

// That a message failed is known for certain. A call that only its end was heard of was answered: nobody knows what was spoken.
const isLost = ({ playFailedAt, gapAt, playingAt, disconnectedAt }: CallRecord): boolean =>
  playFailedAt === undefined && (gapAt !== undefined || (playingAt === undefined && disconnectedAt !== undefined));
