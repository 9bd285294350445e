import type { AlertTypeName } from './alert-types.ts';
import type { MaskedNumber } from './phone-number.ts';
import { type CallResult, reasonInWords } from './acs/result-reason.ts';

/**
 * Where a call stands. It only ever moves down this list; `hung_up` and `failed` are the two ends.
 * - `establishing`: ACS has taken the request; it may ring;
 * - `playing`: somebody answered and an instance has claimed to speak the message;
 * - `hanging_up`: an instance has claimed to hang up;
 * - `hung_up`: over, after the message was spoken, or the callee hung up while it was;
 * - `failed`: over, and nobody heard the message: `reason` says why.
 */
export type CallState = 'establishing' | 'playing' | 'hanging_up' | 'hung_up' | 'failed';

/** What is known of one call. Times are in milliseconds since 1970. */
export interface CallRecord {
  readonly state: CallState;
  readonly alertType: AlertTypeName;
  readonly recipient?: MaskedNumber | undefined;
  readonly requestId?: string | undefined;
  /** When ACS answered the request that placed the call. */
  readonly placedAt?: number | undefined;
  /** When speaking was claimed. */
  readonly playingAt?: number | undefined;
  /** When ACS took the message, or reported that it is being spoken. */
  readonly playConfirmedAt?: number | undefined;
  /** When hanging up was claimed. */
  readonly hangingUpAt?: number | undefined;
  /** The end to be once the line is hung up. */
  readonly endsAs?: 'hung_up' | 'failed' | undefined;
  readonly endedAt?: number | undefined;
  readonly disconnectedAt?: number | undefined;
  readonly code?: number | undefined;
  readonly subCode?: number | undefined;
  /** In words. */
  readonly reason?: string | undefined;
}

/** What an event changes in a call's record, and what is to be done about it. */
export interface Step<Action> {
  /** The record to be; undefined where it stays as it is. */
  readonly next?: CallRecord;
  readonly action: Action;
}

/**
 * How long an instance that claimed to speak or to hang up is left to do so, in milliseconds. Longer than its requests may take
 * (see acs-phone-line.ts): after that it has died in between, and whoever hears of the call again takes over.
 */
export const CLAIM_LEASE_MS = 20_000;

/** What an action that may be claimed by one instance alone comes to. */
export type Claim =
  /** It is ours to do. */
  | 'claimed'
  /** Another one is at it, and may yet die: look again. */
  | 'wait'
  /** It is done, or the call is past it. */
  | 'nothing';

const hasEnded = (record: CallRecord): boolean => record.state === 'hung_up' || record.state === 'failed';

/** ACS took the call: the first writer of the record, or, where events came before its answer, only an addition to it. */
export const placed = (known: CallRecord | undefined, details: CallDetails, now: number): Step<'nothing'> => ({
  next:
    known === undefined
      ? { state: 'establishing', ...details, placedAt: now }
      : { ...details, ...known, placedAt: now },
  action: 'nothing',
});

/** What is known of a call before anything happened to it. */
export type CallDetails = Pick<CallRecord, 'alertType' | 'recipient' | 'requestId'>;

/** Somebody answered: speak, once. */
export const connected = (known: CallRecord | undefined, details: CallDetails, now: number): Step<Claim> => {
  if (known === undefined || known.state === 'establishing') {
    return { next: { ...details, ...known, state: 'playing', playingAt: now }, action: 'claimed' };
  }
  if (known.state !== 'playing' || known.playConfirmedAt !== undefined) return { action: 'nothing' };
  // Claimed and never confirmed: the instance that did so is at it, or has died before it could ask.
  return isFresh(known.playingAt, now) ? { action: 'wait' } : { next: { ...known, playingAt: now }, action: 'claimed' };
};

/** ACS took the message, or reports that it is being spoken: nobody needs to speak it again. */
export const playConfirmed = (known: CallRecord | undefined, now: number): Step<'nothing'> =>
  known?.state === 'playing' && known.playConfirmedAt === undefined
    ? { next: { ...known, playConfirmedAt: now }, action: 'nothing' }
    : { action: 'nothing' };

/** Why a line is to be hung up. */
export interface Ending extends CallResult {
  readonly endsAs: 'hung_up' | 'failed';
  readonly reason?: string | undefined;
}

/** The message is over, or will never be spoken: hang up, once. Also for a call of which nothing else is known. */
export const over = (known: CallRecord | undefined, details: CallDetails, ending: Ending, now: number): Step<Claim> => {
  if (known !== undefined && hasEnded(known)) return { action: 'nothing' };
  if (known?.state === 'hanging_up') {
    return isFresh(known.hangingUpAt, now)
      ? { action: 'wait' }
      : { next: { ...known, hangingUpAt: now }, action: 'claimed' };
  }
  return { next: { ...details, ...known, ...ending, state: 'hanging_up', hangingUpAt: now }, action: 'claimed' };
};

/** The line is hung up. */
export const hungUp = (known: CallRecord | undefined, now: number): Step<'nothing'> =>
  known?.state === 'hanging_up'
    ? { next: { ...known, state: known.endsAs ?? 'hung_up', endedAt: now }, action: 'nothing' }
    : { action: 'nothing' };

/** What the end of a call comes to: `failed` where nobody heard the message and nobody has said so yet. */
export type End = 'ended' | 'failed' | 'nothing';

/** ACS reports the end of a connected call. */
export const disconnected = (
  known: CallRecord | undefined,
  details: CallDetails,
  result: CallResult,
  now: number,
): Step<End> => {
  if (known?.disconnectedAt !== undefined) return { action: 'nothing' };
  if (known !== undefined && hasEnded(known)) return { next: { ...known, disconnectedAt: now }, action: 'ended' };
  const ended = { disconnectedAt: now, endedAt: now };
  if (known?.state === 'hanging_up') {
    return { next: { ...known, ...ended, state: known.endsAs ?? 'hung_up' }, action: 'ended' };
  }
  const heard = known?.state === 'playing';
  return {
    next: {
      ...details,
      ...known,
      ...ended,
      ...result,
      state: heard ? 'hung_up' : 'failed',
      reason: heard ? 'the callee hung up' : 'the call ended before the message',
    },
    action: heard ? 'ended' : 'failed',
  };
};

/** ACS reports that nobody could be reached. */
export const notEstablished = (
  known: CallRecord | undefined,
  details: CallDetails,
  result: CallResult,
  now: number,
): Step<End> => {
  if (known !== undefined && hasEnded(known)) return { action: 'nothing' };
  const reason = reasonInWords(result) ?? 'not established';
  return { next: { ...details, ...known, ...result, state: 'failed', endedAt: now, reason }, action: 'failed' };
};

/** Bounds after which a call that has not ended was forgotten: an event was lost. In milliseconds. */
export interface Patience {
  /** From the placing to an answer. ACS gives up after 115 s. */
  readonly establishingMs: number;
  /** From the start of the message to its end. */
  readonly playingMs: number;
}

/** When a call's line must be looked after if nothing more is heard; undefined where it has ended. */
export const overdueAt = (record: CallRecord, patience: Patience): number | undefined => {
  switch (record.state) {
    case 'establishing':
      return (record.placedAt ?? 0) + patience.establishingMs;
    case 'playing':
      return (record.playConfirmedAt ?? record.playingAt ?? 0) + patience.playingMs;
    case 'hanging_up':
      return (record.hangingUpAt ?? 0) + CLAIM_LEASE_MS;
    case 'hung_up':
    case 'failed':
      return undefined;
  }
};

/** Nothing was heard of a call for too long: hang up, unless somebody has moved it on in the meantime. */
export const overdue = (
  known: CallRecord | undefined,
  details: CallDetails,
  patience: Patience,
  now: number,
): Step<Claim> => {
  const due = known === undefined ? undefined : overdueAt(known, patience);
  if (known === undefined || due === undefined || due > now) return { action: 'nothing' };
  const ending: Ending =
    known.state === 'establishing'
      ? { endsAs: 'failed', reason: 'no answer was reported' }
      : { endsAs: 'hung_up', reason: 'the end of the message was not reported' };
  return over(known, details, ending, now);
};

const isFresh = (since: number | undefined, now: number): boolean =>
  since !== undefined && now - since < CLAIM_LEASE_MS;

const ORDER: Readonly<Record<CallState, number>> = {
  establishing: 0,
  playing: 1,
  hanging_up: 2,
  hung_up: 3,
  failed: 3,
};

/** Of two records of one call the one that is further on: what was known when the table could not be reached may be ahead of it. */
export const furtherOn = (one: CallRecord | undefined, other: CallRecord | undefined): CallRecord | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  if (ORDER[one.state] === ORDER[other.state]) return { ...other, ...one };
  return ORDER[other.state] > ORDER[one.state] ? other : one;
};
