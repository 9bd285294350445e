import type { AlertTypeName } from './alert-types.ts';
import type { CallRecord } from './call-record.ts';
import type { NotificationId } from './notification-id.ts';
import { maskPhoneNumber, type MaskedNumber, type PhoneNumber } from './phone-number.ts';
import { type Attempt, currentAttempt, isFinal, type Recipient } from './recipient-state.ts';

/** A request to tell people something. Times are in milliseconds since 1970. */
export interface Notification {
  readonly id: NotificationId;
  readonly alertType: AlertTypeName;
  readonly createdAt: number;
  /** When it must be looked at as a whole; undefined once it is completed. */
  readonly dueAt?: number | undefined;
  /** Where the events of its calls go, if not to the usual place. */
  readonly callbackBaseUrl?: string | undefined;
  /** The hash of the `Idempotency-Key`; undefined without one. */
  readonly keyHash?: string | undefined;
  readonly completedAt?: number | undefined;
}

/** A notification and all its recipients, in the order of the request. */
export interface NotificationWithRecipients {
  readonly notification: Notification;
  readonly recipients: readonly Recipient[];
}

/** Which numbers may be called, and for how long somebody is tried. */
export interface NewNotificationRules {
  /** How the numbers that may be called begin; undefined: all of them. */
  readonly allowedPrefixes: readonly string[] | undefined;
  /** From the request to the last attempt, in milliseconds. */
  readonly deadlineMs: number;
}

/**
 * How long the request itself has to dial everybody or to note who waits, in milliseconds. After that, whoever finds the notification
 * does it.
 */
export const START_WITHIN_MS = 20_000;

/** Why a number is not called. */
const NOT_ALLOWED = 'this number may not be called: see PHONE_ALLOWED_PREFIXES';

/**
 * The recipients of a new notification.
 *
 * @param newAttemptId for the attempt that tells why somebody is not called at all
 */
export const newRecipients = (
  numbers: readonly PhoneNumber[],
  { allowedPrefixes, deadlineMs }: NewNotificationRules,
  newAttemptId: () => string,
  now: number,
): readonly Recipient[] =>
  numbers.map((number): Recipient => {
    const common = { number, deadlineAt: now + deadlineMs };
    const isAllowed = allowedPrefixes?.some((prefix) => number.startsWith(prefix)) ?? true;
    if (isAllowed) return { ...common, state: 'waiting', attempts: [], reserved: true };
    const why: Attempt = { id: newAttemptId(), claimedAt: now, endedAt: now, outcome: 'refused', reason: NOT_ALLOWED };
    return { ...common, state: 'failed', attempts: [why], reserved: false };
  });

/** Whether nothing more will be done for a notification. */
export const isCompleted = (recipients: readonly Recipient[]): boolean => recipients.every(isFinal);

/** What a recipient's state is to those who ask. */
export type RecipientStatus = 'waiting' | 'ringing' | 'speaking' | 'heard' | 'not_reached' | 'failed';

/** A recipient as it stands, for those who ask. */
export interface RecipientView {
  readonly recipient: MaskedNumber;
  readonly status: RecipientStatus;
  /** Those of which anything can be told. */
  readonly attempts: readonly Attempt[];
  /** In milliseconds since 1970; undefined where it is not known. */
  readonly nextAttemptAt?: number | undefined;
}

/**
 * A recipient for those who ask.
 *
 * @param call the record of the call that is under way; undefined where there is none
 */
export const viewOf = (recipient: Recipient, call: CallRecord | undefined, now: number): RecipientView => {
  const { number, state, attempts, dueAt } = recipient;
  const nextAttemptAt = state === 'waiting' && dueAt !== undefined && dueAt > now ? dueAt : undefined;
  return {
    recipient: maskPhoneNumber(number),
    status: statusOf(recipient, call),
    attempts: attempts.filter(({ callId, outcome }) => callId !== undefined || outcome !== undefined),
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt }),
  };
};

const statusOf = (recipient: Recipient, call: CallRecord | undefined): RecipientStatus => {
  switch (recipient.state) {
    case 'dialling':
      return currentAttempt(recipient)?.callId === undefined ? 'waiting' : 'ringing';
    case 'calling':
      return call?.playingAt === undefined ? 'ringing' : 'speaking';
    case 'waiting':
    case 'heard':
    case 'not_reached':
    case 'failed':
      return recipient.state;
  }
};
