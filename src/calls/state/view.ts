import type { SentCall, WaitingCode } from '../model/notification-request.ts';
import { maskPhoneNumber, type PhoneNumber } from '../model/phone-number.ts';
import { CALLS_USED_UP, type NotCallable } from '../rules/policy.ts';
import { type Attempt, isLive, talkOf } from './attempt.ts';
import type { Lines } from './lines.ts';
import {
  type AnyCase,
  confirmedBy,
  hasWorsened,
  isStopped,
  type Notification,
  reachedOf,
  wavesOf,
} from './notification.ts';
import { choiceOf, type AnyRecipient, FINAL_STATES, isFinal } from './recipient.ts';

// A notification as `GET` and events show it: the names of the JSON, times as ISO 8601 in UTC, numbers masked.

export const RECIPIENT_STATUSES = ['waiting', 'ringing', 'speaking', ...FINAL_STATES] as const;

export type NotificationBody = ReturnType<typeof bodyOf>;

export type RecipientBody = NotificationBody['recipients'][number];

export const isoTime = (at: number): string => new Date(at).toISOString();

const optionalTime = (at: number | undefined): string | undefined => (at === undefined ? undefined : isoTime(at));

const earliest = (times: readonly (number | undefined)[]): string | undefined => {
  const given = times.filter((at) => at !== undefined);
  return given.length === 0 ? undefined : isoTime(Math.min(...given));
};

/** A notification in answers and events. @param why the reasons of recipients that wait for a line, by index */
export const bodyOf = (stored: AnyCase, now: number, why: ReadonlyMap<number, WaitingCode> = new Map()) => {
  const { notification, recipients } = stored;
  const { stoppedAt, stoppedBy, phoneOffAt, acknowledged } = notification;
  const waves = wavesOf(notification);
  return {
    notification_id: notification.id,
    alert_type: notification.alertType,
    reference: notification.reference,
    details: notification.details,
    created_at: isoTime(notification.createdAt),
    status: statusOf(stored),
    reached: reachedOf(stored),
    confirmations_needed: waves?.needed,
    confirmed_by: [...confirmedBy(stored)],
    next_wave_at: stoppedAt === undefined ? optionalTime(waves?.nextAt) : undefined,
    stopped_at: optionalTime(stoppedAt),
    stopped_by: stoppedBy,
    phone_off_at: optionalTime(phoneOffAt),
    acknowledged_by: acknowledged?.by,
    acknowledged_at: optionalTime(acknowledged?.at),
    worsened_since_acknowledged: hasWorsened(stored) ? (true as const) : undefined,
    recipients: recipients.map((recipient, index) => recipientBody(recipient, notification, now, why.get(index))),
  };
};

const statusOf = ({ notification, recipients }: AnyCase): 'in_progress' | 'completed' | 'stopped' => {
  if (notification.stoppedAt !== undefined) return 'stopped';
  return recipients.every(isFinal) ? 'completed' : 'in_progress';
};

const recipientBody = (
  recipient: AnyRecipient,
  notification: Notification,
  now: number,
  why: WaitingCode | undefined,
) => {
  const { number, name, wave, attempts } = recipient;
  const status = recipientStatus(recipient, notification);
  const nextAt = nextAttemptAt(recipient, notification) ?? 0;
  const talks = attempts.map(talkOf);
  return {
    recipient: maskPhoneNumber(number),
    name,
    status,
    wave: wavesOf(notification) === undefined ? undefined : wave,
    attempts: attempts.filter(isShown).map(attemptBody),
    next_attempt_at: nextAt > now && nextAt < notification.deadlineAt ? isoTime(nextAt) : undefined,
    answered_at: earliest(talks.map((talk) => talk?.answeredAt)),
    confirmed_at: earliest(talks.map((talk) => talk?.confirmedAt)),
    ...(status === 'waiting' ? waitingBody(recipient, notification, now, why) : NOT_WAITING),
  };
};

/** A call request without an answer is not shown. */
const isShown = (attempt: Attempt): boolean => attempt.callIds.length > 0 || attempt.state === 'over';

const NOT_WAITING = { code: undefined, reason: undefined, since: undefined };

/** For a later wave: when it begins without confirmations. */
const nextAttemptAt = (recipient: AnyRecipient, notification: Notification): number | undefined => {
  if (recipient.state === 'waiting') return recipient.dueAt;
  const waves = wavesOf(notification);
  if (recipient.state !== 'later' || waves?.nextAt === undefined) return undefined;
  return waves.nextAt + (recipient.wave - waves.current - 1) * waves.everyMs;
};

const recipientStatus = (recipient: AnyRecipient, notification: Notification): (typeof RECIPIENT_STATUSES)[number] => {
  if (isFinal(recipient)) return recipient.state;
  if (recipient.state !== 'calling') return 'waiting';
  const choice = choiceOf(recipient);
  if (choice !== undefined) return choice;
  const live = recipient.attempts.filter(isLive);
  if (live.some((attempt) => talkOf(attempt) !== undefined)) return 'speaking';
  if (isStopped(notification)) return 'stopped';
  return live.some(({ state, callIds }) => state !== 'claimed' || callIds.length > 0) ? 'ringing' : 'waiting';
};

const WORDS: Readonly<Record<WaitingCode, string>> = {
  line: 'no line is free',
  number: 'another call to this number is under way',
  pause: 'the phone service asked for a pause',
  set_up: 'the phone service does not accept this app',
  later_wave: 'its wave has not begun',
  redial: 'waits for the next attempt',
  day_limit: CALLS_USED_UP,
};

/** Why a recipient waits, and since when. The reason of its own last call comes first. */
const waitingBody = (
  recipient: AnyRecipient,
  { createdAt }: Notification,
  now: number,
  why: WaitingCode | undefined,
) => {
  const last = recipient.attempts.at(-1);
  if (recipient.state !== 'waiting') {
    const isLater = recipient.state === 'later';
    const since = isoTime(isLater ? createdAt : (last?.claimedAt ?? createdAt));
    const code: WaitingCode = isLater ? 'later_wave' : 'line';
    return { code, reason: isLater ? WORDS.later_wave : 'is being dialed', since };
  }
  const { isOverDayLimit, dueAt, queuedAt } = recipient;
  const code: WaitingCode = isOverDayLimit === true ? 'day_limit' : dueAt > now ? 'redial' : (why ?? 'line');
  const own = recipient.reason ?? (last?.state === 'over' ? last.reason : undefined);
  return { code, reason: own ?? WORDS[code], since: isoTime(Math.min(queuedAt, now)) };
};

const attemptBody = (attempt: Attempt) => {
  const end = attempt.state === 'over' ? attempt : undefined;
  return {
    call_connection_id: attempt.callIds.at(-1),
    placed_at: optionalTime(attempt.placedAt),
    ended_at: optionalTime(end?.endedAt),
    outcome: end?.outcome,
    code: end?.code,
    sub_code: end?.subCode,
    reason: end?.reason,
  };
};

const OVER: ReadonlySet<string | undefined> = new Set(['failed', 'not_reached', 'stopped']);

/** A recipient in the answer to its request: the last call, or why there is no call. A repeated request finds later states too. */
export const callOf = (recipient: PhoneNumber, body: RecipientBody | undefined, notCalled?: NotCallable): SentCall => {
  const callId = body?.attempts.findLast((attempt) => attempt.call_connection_id !== undefined)?.call_connection_id;
  if (body?.status !== 'failed' && callId !== undefined) return { recipient, status: 'placed', callId };
  if (body?.status === 'waiting' && body.code !== undefined && body.reason !== undefined) {
    return { recipient, status: 'waiting', code: body.code, reason: body.reason, since: Date.parse(body.since ?? '') };
  }
  const last = body?.attempts.at(-1)?.reason;
  const reason = OVER.has(body?.status) ? (last ?? body?.status ?? '') : 'is being dialed';
  return { recipient, status: 'failed', code: notCalled ?? 'refused', reason };
};

/** Whether calls can be placed, by the last check and by the last call; if not, since when (ISO 8601) and why. */
export const standingOf = ({ check, fault }: Lines, now: number) => {
  const refusal = check?.reason;
  if (check !== undefined && refusal !== undefined) {
    return { usable: false, since: isoTime(check.since ?? check.at), reason: refusal };
  }
  if (fault === undefined || now >= fault.until) return { usable: true };
  return { usable: false, since: isoTime(fault.alertedAt), reason: fault.reason ?? 'the phone service refuses calls' };
};
