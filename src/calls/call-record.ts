import type { AlertTypeName } from './alert-types.ts';
import type { AttemptRef } from './call-context.ts';
import type { CallResult } from './call-event.ts';
import { LONGEST_REQUEST_MS } from './phone-line.ts';
import type { MaskedNumber } from './phone-number.ts';

/**
 * The state of a call. It moves down this list; what became of the callee is its outcome (call-outcome.ts).
 * - `establishing`: the line has accepted the call; it may ring;
 * - `playing`: somebody answered, and an instance has claimed to speak the message;
 * - `hanging_up`: an instance has claimed to hang up;
 * - `ended`.
 */
export type CallState = 'establishing' | 'playing' | 'hanging_up' | 'ended';

/** What is known of one call. Times are in milliseconds since 1970. */
export interface CallRecord extends CallResult {
  readonly state: CallState;
  readonly alertType: AlertTypeName;
  readonly recipient?: MaskedNumber | undefined;
  /** Undefined where the line reported a call without saying whose it is. */
  readonly attempt?: AttemptRef | undefined;
  /** When the line answered the request that placed the call. */
  readonly placedAt?: number | undefined;
  /** When speaking was claimed. */
  readonly playingAt?: number | undefined;
  /** When the line accepted the message. */
  readonly playAcceptedAt?: number | undefined;
  /** When the line reported that the message is being spoken. */
  readonly playStartedAt?: number | undefined;
  /** When the line reported that the whole message was spoken. */
  readonly playCompletedAt?: number | undefined;
  /** When it turned out that the message is not spoken, or not to its end, though nobody hung up. */
  readonly playFailedAt?: number | undefined;
  /** When hanging up was claimed. */
  readonly hangingUpAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** When the line reported the end. */
  readonly disconnectedAt?: number | undefined;
  /**
   * Since when something about the call may be missing here: the table could not be used for a step, so what another process did is not
   * known; or the next event did not come.
   */
  readonly gapAt?: number | undefined;
}

/** What an event changes in a call's record, and what must be done next. */
export interface Step<Action> {
  /** The new record; undefined where the record does not change. */
  readonly next?: CallRecord;
  readonly action: Action;
  /** In no later state of this call does the event change anything or ask for anything: no need to look further. */
  readonly never?: true;
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

const NOTHING = { action: 'nothing' } as const;
const NEVER = { action: 'nothing', never: true } as const;

/** Whether anybody has ever claimed to speak or to hang up: then the call is past every claim before. */
export const wasTaken = ({ playingAt, hangingUpAt }: CallRecord): boolean =>
  playingAt !== undefined || hangingUpAt !== undefined;

/** Whether two records tell of the same claims: their times tell claims apart. */
export const hasClaimsOf = (record: CallRecord, other: CallRecord): boolean =>
  record.playingAt === other.playingAt && record.hangingUpAt === other.hangingUpAt;

/** Whether the line is surely speaking or has spoken the message: nobody may speak it again. */
export const isSpoken = ({ playAcceptedAt, playStartedAt, playCompletedAt }: CallRecord): boolean =>
  (playAcceptedAt ?? playStartedAt ?? playCompletedAt) !== undefined;

/** What is known of a call before its first event. */
export type CallDetails = Pick<CallRecord, 'alertType' | 'recipient' | 'attempt'>;

/** The line accepted the call. Starts its record, or completes the one that earlier events started. */
export const placed = (known: CallRecord | undefined, details: CallDetails, now: number): Step<'nothing'> => ({
  next: { state: 'establishing', ...known, ...details, placedAt: known?.placedAt ?? now },
  action: 'nothing',
});

/**
 * Somebody answered: speak, once. An answered call can be spoken to, whatever was reported before, by whomever: so this wins over a
 * reported end as long as nobody has spoken or hung up.
 */
export const connected = (known: CallRecord | undefined, details: CallDetails, now: number): Step<Claim> => {
  if (known === undefined || !wasTaken(known)) {
    const reportedEnd = {
      endedAt: undefined,
      disconnectedAt: undefined,
      code: undefined,
      subCode: undefined,
      reason: undefined,
      meaning: undefined,
    };
    return { next: { ...details, ...known, ...reportedEnd, state: 'playing', playingAt: now }, action: 'claimed' };
  }
  if (known.state !== 'playing' || isSpoken(known)) return NEVER;
  return isFresh(known.playingAt, now) ? { action: 'wait' } : { next: { ...known, playingAt: now }, action: 'claimed' };
};

// Taken down in every state: it tells what the callee heard.
const noted = (known: CallRecord | undefined, news: Partial<CallRecord>, isKnown: boolean): Step<'nothing'> => {
  if (known === undefined) return NOTHING;
  return isKnown ? NEVER : { next: { ...known, ...news }, action: 'nothing' };
};

/** The line accepted the message. */
export const playAccepted = (known: CallRecord | undefined, now: number): Step<'nothing'> =>
  noted(known, { playAcceptedAt: now }, known?.playAcceptedAt !== undefined);

/** The line reports that it speaks the message. */
export const playStarted = (known: CallRecord | undefined, now: number): Step<'nothing'> =>
  noted(known, { playStartedAt: now }, known?.playStartedAt !== undefined);

/** Why a line is hung up. */
export interface Ending extends CallResult {
  /** The message was spoken to its end. */
  readonly completed?: true;
  /** It was not, and nobody hung up. */
  readonly playFailed?: true;
}

/** The message is over, or cannot be spoken: hang up, once. A call without a record is hung up too. */
export const over = (
  known: CallRecord | undefined,
  details: CallDetails,
  { completed, playFailed, ...result }: Ending,
  now: number,
): Step<Claim> => {
  const isNews = completed === true && known?.playCompletedAt === undefined;
  const news = isNews ? { playCompletedAt: now } : {};
  if (known?.state === 'ended') {
    if (isNews) return { next: { ...known, ...news }, action: 'nothing' };
    return wasTaken(known) ? NEVER : NOTHING;
  }
  if (known?.state === 'hanging_up') {
    if (!isFresh(known.hangingUpAt, now)) return { next: { ...known, ...news, hangingUpAt: now }, action: 'claimed' };
    return isNews ? { next: { ...known, ...news }, action: 'wait' } : { action: 'wait' };
  }
  const failed = playFailed === true ? { playFailedAt: now } : {};
  return {
    next: { ...details, ...known, ...result, ...news, ...failed, state: 'hanging_up', hangingUpAt: now },
    action: 'claimed',
  };
};

/**
 * The message could not be spoken by whoever had claimed to: hang up. But not where it is being spoken all the same: its start was reported
 * after all, or another instance has claimed it meanwhile and will hang up itself.
 *
 * @param claimed the record as it was claimed
 */
export const notSpoken = (
  known: CallRecord | undefined,
  claimed: CallRecord,
  ending: Ending,
  now: number,
): Step<Claim> => {
  const isSpokenAllTheSame = known?.state === 'playing' && (isSpoken(known) || known.playingAt !== claimed.playingAt);
  return isSpokenAllTheSame ? NOTHING : over(known, claimed, ending, now);
};

/** The line is hung up. */
export const hungUp = (known: CallRecord | undefined, now: number): Step<'nothing'> =>
  known?.state === 'hanging_up' ? { next: { ...known, state: 'ended', endedAt: now }, action: 'nothing' } : NOTHING;

/** Whether an event is the first to report the end of a call. */
export type EndReport = 'ended' | 'nothing';

/** The step of an event that ends a call. */
export type EndStep = (
  known: CallRecord | undefined,
  details: CallDetails,
  result: CallResult,
  now: number,
) => Step<EndReport>;

/** The line reports the end of a connected call. Of a call that nobody knows, nothing is kept. */
export const disconnected: EndStep = (known, details, { code, subCode }, now) => {
  if (known === undefined && details.attempt === undefined) return NOTHING;
  if (known?.disconnectedAt !== undefined) return NOTHING;
  const reported = { disconnectedAt: now, endedAt: known?.endedAt ?? now, state: 'ended' } as const;
  // Why it was hung up is known better here.
  if (known?.hangingUpAt !== undefined) return { next: { ...known, ...reported }, action: 'ended' };
  return { next: { ...details, ...known, ...reported, code, subCode }, action: 'ended' };
};

/** The line reports that nobody was reached. Once somebody has answered, that is not so. */
export const notEstablished: EndStep = (known, details, result, now) => {
  if (known === undefined && details.attempt === undefined) return NOTHING;
  if (known !== undefined && (known.state === 'ended' || wasTaken(known))) return NOTHING;
  const reason = result.reason ?? 'not established';
  return { next: { ...details, ...known, ...result, reason, state: 'ended', endedAt: now }, action: 'ended' };
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
      return (
        Math.max(record.playStartedAt ?? 0, record.playAcceptedAt ?? 0, record.playingAt ?? 0) + timeouts.playingMs
      );
    case 'hanging_up':
      return (record.hangingUpAt ?? 0) + CLAIM_LEASE_MS;
    case 'ended':
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
  if (known === undefined || due === undefined || due > now) return NOTHING;
  if (known.state === 'hanging_up') return over(known, details, {}, now);
  const reason = known.state === 'establishing' ? 'no answer was reported' : 'the end of the message was not reported';
  return over({ ...known, gapAt: known.gapAt ?? now }, details, { reason }, now);
};

/** A record that only this process has: the table could not be used. */
export const unshared = (record: CallRecord, now: number): CallRecord => ({ ...record, gapAt: record.gapAt ?? now });

const isFresh = (since: number | undefined, now: number): boolean =>
  since !== undefined && now - since < CLAIM_LEASE_MS;
