import type { AlertTypeName } from './alert-types.ts';
import type { CallResult } from './call-event.ts';
import { LONGEST_REQUEST_MS } from './phone-line.ts';
import type { MaskedNumber } from './phone-number.ts';

/**
 * The state of a call. It only ever moves down this list; `hung_up` and `failed` are final.
 * - `establishing`: the line has accepted the call; it may ring;
 * - `playing`: somebody answered, and an instance has claimed to speak the message;
 * - `hanging_up`: an instance has claimed to hang up;
 * - `hung_up`: ended after the message, or the callee hung up during it;
 * - `failed`: ended, and nobody heard the message; `reason` says why.
 */
export type CallState = 'establishing' | 'playing' | 'hanging_up' | 'hung_up' | 'failed';

/** What is known of one call. Times are in milliseconds since 1970. */
export interface CallRecord {
  readonly state: CallState;
  readonly alertType: AlertTypeName;
  readonly recipient?: MaskedNumber | undefined;
  readonly requestId?: string | undefined;
  /** When the line answered the request that placed the call. */
  readonly placedAt?: number | undefined;
  /** When speaking was claimed. */
  readonly playingAt?: number | undefined;
  /** When the line accepted the message, or reported that it is being spoken. */
  readonly playConfirmedAt?: number | undefined;
  /** When hanging up was claimed. */
  readonly hangingUpAt?: number | undefined;
  /** The final state that follows `hanging_up`. */
  readonly endsAs?: 'hung_up' | 'failed' | undefined;
  readonly endedAt?: number | undefined;
  readonly disconnectedAt?: number | undefined;
  readonly code?: number | undefined;
  readonly subCode?: number | undefined;
  /** In words. */
  readonly reason?: string | undefined;
}

/** What an event changes in a call's record, and what must be done next. */
export interface Step<Action> {
  /** The new record; undefined where the record does not change. */
  readonly next?: CallRecord;
  readonly action: Action;
}

/**
 * How long an instance that claimed to speak or to hang up has to do so, in milliseconds: longer than its request takes at most.
 * An instance that has not confirmed by then has died, and another one may take over.
 */
export const CLAIM_LEASE_MS = LONGEST_REQUEST_MS + 5_000;

/** Whether this instance may do what only one instance may do. */
export type Claim =
  /** This instance must do it. */
  | 'claimed'
  /** Another instance is doing it, and may die before it is done: ask again. */
  | 'wait'
  /** It is done, or the call is past it. */
  | 'nothing';

const hasEnded = (record: CallRecord): boolean => record.state === 'hung_up' || record.state === 'failed';

/** The line accepted the call. Starts its record, or completes the one that earlier events started. */
export const placed = (known: CallRecord | undefined, details: CallDetails, now: number): Step<'nothing'> => ({
  next: { state: 'establishing', ...details, ...known, placedAt: now },
  action: 'nothing',
});

/** What is known of a call before its first event. */
export type CallDetails = Pick<CallRecord, 'alertType' | 'recipient' | 'requestId'>;

/** Somebody answered: speak, once. */
export const connected = (known: CallRecord | undefined, details: CallDetails, now: number): Step<Claim> => {
  if (known === undefined || known.state === 'establishing') {
    return { next: { ...details, ...known, state: 'playing', playingAt: now }, action: 'claimed' };
  }
  if (known.state !== 'playing' || known.playConfirmedAt !== undefined) return { action: 'nothing' };
  return isFresh(known.playingAt, now) ? { action: 'wait' } : { next: { ...known, playingAt: now }, action: 'claimed' };
};

/** The line accepted the message, or reports that it is being spoken: nobody may speak it again. */
export const playConfirmed = (known: CallRecord | undefined, now: number): Step<'nothing'> =>
  known?.state === 'playing' && known.playConfirmedAt === undefined
    ? { next: { ...known, playConfirmedAt: now }, action: 'nothing' }
    : { action: 'nothing' };

/** Why a line is hung up. */
export interface Ending extends CallResult {
  readonly endsAs: 'hung_up' | 'failed';
}

/** The message is over, or cannot be spoken: hang up, once. A call without a record is hung up too. */
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

/** What to log about the end of a call; `failed`: nobody heard the message. `nothing`: it is logged already. */
export type EndReport = 'ended' | 'failed' | 'nothing';

/** The step of an event that ends a call. */
export type EndStep = (
  known: CallRecord | undefined,
  details: CallDetails,
  result: CallResult,
  now: number,
) => Step<EndReport>;

/** The line reports the end of a connected call. */
export const disconnected: EndStep = (known, details, result, now) => {
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

/** The line reports that nobody could be reached. */
export const notEstablished: EndStep = (known, details, result, now) => {
  if (known !== undefined && hasEnded(known)) return { action: 'nothing' };
  const reason = result.reason ?? 'not established';
  return { next: { ...details, ...known, ...result, state: 'failed', endedAt: now, reason }, action: 'failed' };
};

/** How long to wait for a call's next event before it counts as lost, in milliseconds. */
export interface CallTimeouts {
  /** From the placing of the call to an answer. */
  readonly establishingMs: number;
  /** From the start of the message to its end. */
  readonly playingMs: number;
}

/** When a call is overdue if no further event comes; undefined where it has ended. */
export const overdueAt = (record: CallRecord, timeouts: CallTimeouts): number | undefined => {
  switch (record.state) {
    case 'establishing':
      return (record.placedAt ?? 0) + timeouts.establishingMs;
    case 'playing':
      return (record.playConfirmedAt ?? record.playingAt ?? 0) + timeouts.playingMs;
    case 'hanging_up':
      return (record.hangingUpAt ?? 0) + CLAIM_LEASE_MS;
    case 'hung_up':
    case 'failed':
      return undefined;
  }
};

/** An event of the call was lost: hang up, unless another event has come meanwhile. */
export const overdue = (
  known: CallRecord | undefined,
  details: CallDetails,
  timeouts: CallTimeouts,
  now: number,
): Step<Claim> => {
  const due = known === undefined ? undefined : overdueAt(known, timeouts);
  if (known === undefined || due === undefined || due > now) return { action: 'nothing' };
  const ending: Ending =
    known.state === 'establishing'
      ? { endsAs: 'failed', reason: 'no answer was reported' }
      : { endsAs: 'hung_up', reason: 'the end of the message was not reported' };
  return over(known, details, ending, now);
};

const isFresh = (since: number | undefined, now: number): boolean =>
  since !== undefined && now - since < CLAIM_LEASE_MS;

const ADVANCE: Readonly<Record<CallState, number>> = {
  establishing: 0,
  playing: 1,
  hanging_up: 2,
  hung_up: 3,
  failed: 3,
};

/** The most advanced of two records of one call. What is remembered from an outage of the table may be ahead of the table. */
export const mostAdvanced = (one: CallRecord | undefined, other: CallRecord | undefined): CallRecord | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  if (ADVANCE[one.state] === ADVANCE[other.state]) return { ...other, ...one };
  return ADVANCE[other.state] > ADVANCE[one.state] ? other : one;
};
