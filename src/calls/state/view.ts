import type { AlertTypeName } from '../model/alert-types.ts';
import type { CallId, NotificationId } from '../model/ids.ts';
import type { WaitingCode } from '../model/notification-request.ts';
import type { Outcome } from '../model/outcome.ts';
import { type MaskedNumber, maskPhoneNumber } from '../model/phone-number.ts';
import { DEFAULT_CONFIRMATIONS_NEEDED } from '../rules/confirmations.ts';
import { CALLS_USED_UP } from '../rules/day-limit.ts';
import { type Attempt, isLive, talkOf } from './attempt.ts';
import { confirmedBy, hasWorsened, reachedOf } from './attention.ts';
import type { NotificationCase } from './notification.ts';
import { answerOf, FINAL_STATES, isFinal, type Recipient } from './recipient.ts';

// A notification as `GET` answers it and as events tell it: the names of the JSON, times as ISO 8601 in UTC, numbers masked.

/** What a recipient's state is to those who ask. */
export const RECIPIENT_STATUSES = ['waiting', 'ringing', 'speaking', ...FINAL_STATES] as const;

/** What a recipient's state is to those who ask. */
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number];

/** A notification as it stands. What is not known is undefined. */
export interface NotificationBody {
  readonly notification_id: NotificationId;
  readonly alert_type: AlertTypeName;
  readonly reference?: string | undefined;
  readonly details?: string | undefined;
  readonly created_at: string;
  readonly status: 'in_progress' | 'completed' | 'stopped';
  /** How many were reached: those that have confirmed if a key is asked for, else those that have heard the message. */
  readonly reached: number;
  /** How many have to confirm; undefined without waves. */
  readonly confirmations_needed?: number | undefined;
  /** The indexes of the recipients that have confirmed. */
  readonly confirmed_by: number[];
  /** When the next wave is called if too few confirm until then; undefined: no wave waits. */
  readonly next_wave_at?: string | undefined;
  readonly acknowledged_by?: string | undefined;
  readonly acknowledged_at?: string | undefined;
  /** Its outcome became worse after it was acknowledged. */
  readonly worsened_since_acknowledged?: true | undefined;
  /** In the order of the request. */
  readonly recipients: RecipientBody[];
}

/** A recipient as it stands. */
export interface RecipientBody {
  readonly recipient: MaskedNumber;
  readonly name?: string | undefined;
  readonly status: RecipientStatus;
  /** From 1; undefined without waves. */
  readonly wave?: number | undefined;
  /** Those of which anything can be told. */
  readonly attempts: AttemptBody[];
  readonly next_attempt_at?: string | undefined;
  /** When somebody, or a machine, answered first, and when 1 was pressed first. */
  readonly answered_at?: string | undefined;
  readonly confirmed_at?: string | undefined;
  /** Of a waiting recipient: why, for machines and in words, and since when. */
  readonly code?: WaitingCode | undefined;
  readonly reason?: string | undefined;
  readonly since?: string | undefined;
}

/** An attempt as it stands. */
export interface AttemptBody {
  readonly call_connection_id?: CallId | undefined;
  readonly placed_at?: string | undefined;
  readonly ended_at?: string | undefined;
  readonly outcome?: Outcome | undefined;
  readonly code?: number | undefined;
  readonly sub_code?: number | undefined;
  readonly reason?: string | undefined;
}

/** A time in milliseconds since 1970 → ISO 8601. */
export const isoTime = (at: number): string => new Date(at).toISOString();

const optionalTime = (at: number | undefined): string | undefined => (at === undefined ? undefined : isoTime(at));

const earliest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((at) => at !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

/**
 * A notification for those who ask.
 *
 * @param why the reasons of recipients that could be dialed now, by index, as far as they are known
 */
export const bodyOf = (
  known: NotificationCase,
  now: number,
  why: ReadonlyMap<number, WaitingCode> = new Map(),
): NotificationBody => {
  const { notification, recipients } = known;
  const {
    id,
    stoppedAt,
    waveMs,
    nextWaveAt,
    acknowledged,
    confirmationsNeeded = DEFAULT_CONFIRMATIONS_NEEDED,
  } = notification;
  const status = stoppedAt !== undefined ? 'stopped' : recipients.every(isFinal) ? 'completed' : 'in_progress';
  return {
    notification_id: id,
    alert_type: notification.alertType,
    reference: notification.reference,
    details: notification.details,
    created_at: isoTime(notification.createdAt),
    status,
    reached: reachedOf(known),
    confirmations_needed: waveMs === undefined ? undefined : confirmationsNeeded,
    confirmed_by: [...confirmedBy(known)],
    next_wave_at: stoppedAt === undefined ? optionalTime(nextWaveAt) : undefined,
    acknowledged_by: acknowledged?.by,
    acknowledged_at: optionalTime(acknowledged?.at),
    worsened_since_acknowledged: hasWorsened(known) || undefined,
    recipients: recipients.map((recipient, index) => recipientBody(recipient, known, now, why.get(index))),
  };
};

const recipientBody = (
  recipient: Recipient,
  { notification }: NotificationCase,
  now: number,
  why: WaitingCode | undefined,
): RecipientBody => {
  const { number, name, wave, attempts } = recipient;
  const status = statusOf(recipient);
  const nextAt = nextAttemptAt(recipient, notification);
  const talks = attempts.map(talkOf);
  return {
    recipient: maskPhoneNumber(number),
    name,
    status,
    wave: notification.waveMs === undefined ? undefined : wave,
    attempts: attempts.flatMap((attempt) =>
      attempt.callIds.length > 0 || attempt.state === 'over' ? attemptBody(attempt) : [],
    ),
    next_attempt_at:
      nextAt !== undefined && nextAt > now && nextAt < notification.deadlineAt ? isoTime(nextAt) : undefined,
    answered_at: optionalTime(earliest(talks.map((talk) => talk?.answeredAt))),
    confirmed_at: optionalTime(earliest(talks.map((talk) => talk?.confirmedAt))),
    ...(status === 'waiting' ? waitingBody(recipient, notification, now, why) : {}),
  };
};

/** Of a later wave, the time when it is opened if nobody confirms. */
const nextAttemptAt = (recipient: Recipient, { nextWaveAt, waveMs = 0, wave }: NotificationCase['notification']) => {
  if (recipient.state === 'waiting') return recipient.dueAt;
  if (recipient.state !== 'later' || nextWaveAt === undefined) return undefined;
  return nextWaveAt + (recipient.wave - wave - 1) * waveMs;
};

const statusOf = (recipient: Recipient): RecipientStatus => {
  if (isFinal(recipient)) return recipient.state;
  if (recipient.state !== 'calling') return 'waiting';
  const answer = answerOf(recipient);
  if (answer !== undefined) return answer;
  const live = recipient.attempts.filter(isLive);
  if (live.some((attempt) => talkOf(attempt) !== undefined)) return 'speaking';
  if (recipient.isStopped === true) return 'stopped';
  return live.some(({ state, callIds }) => state !== 'claimed' || callIds.length > 0) ? 'ringing' : 'waiting';
};

const WORDS: Readonly<Record<WaitingCode, string>> = {
  line: 'no line is free',
  number: 'another call to this number is under way',
  pause: 'the phone service asked for a pause',
  set_up: 'the phone service does not accept this app',
  later_wave: 'its wave has not begun',
  redial: 'is called again',
  day_limit: CALLS_USED_UP,
};

const waitingBody = (
  recipient: Recipient,
  { createdAt }: NotificationCase['notification'],
  now: number,
  why: WaitingCode | undefined,
): Required<Pick<RecipientBody, 'code' | 'reason' | 'since'>> => {
  const code = waitingCode(recipient, now, why);
  const claimedAt = recipient.attempts.at(-1)?.claimedAt;
  const since = recipient.state === 'waiting' ? recipient.queuedAt : (claimedAt ?? createdAt);
  return { code, reason: ownReason(recipient) ?? WORDS[code], since: isoTime(Math.min(since, now)) };
};

const waitingCode = (recipient: Recipient, now: number, why: WaitingCode | undefined): WaitingCode => {
  if (recipient.state === 'later') return 'later_wave';
  if (recipient.state !== 'waiting') return 'line';
  if (recipient.isOverDayLimit === true) return 'day_limit';
  return recipient.dueAt > now ? 'redial' : (why ?? 'line');
};

/** The last reason of the recipient's own calls, in words. */
const ownReason = (recipient: Recipient): string | undefined => {
  if (recipient.state === 'later') return undefined;
  if (recipient.state === 'calling') return 'is being dialed';
  const last = recipient.attempts.at(-1);
  return recipient.state === 'waiting'
    ? (recipient.reason ?? (last?.state === 'over' ? last.reason : undefined))
    : undefined;
};

const attemptBody = (attempt: Attempt): AttemptBody => ({
  call_connection_id: attempt.callIds.at(-1),
  placed_at: optionalTime(attempt.placedAt),
  ...(attempt.state === 'over'
    ? {
        ended_at: isoTime(attempt.endedAt),
        outcome: attempt.outcome,
        code: attempt.code,
        sub_code: attempt.subCode,
        reason: attempt.reason,
      }
    : {}),
});
