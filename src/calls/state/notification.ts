import { type AlertTypeName, isUrgent } from '../model/alert-types.ts';
import { isAllowed, NOT_ALLOWED } from '../rules/allowed-prefixes.ts';
import { areEnough, isNextWaveNeededNow } from '../rules/confirmations.ts';
import { answerBy, type Attempt, DIAL_LEASE_MS, isLive, type LineTerms } from './attempt.ts';
import { CALLS_USED_UP } from '../rules/day-limit.ts';
import type { AttemptRef } from '../model/call-context.ts';
import type { NotificationId } from '../model/notification-id.ts';
import { maskPhoneNumber, type PhoneNumber } from '../model/phone-number.ts';
import {
  attemptOf,
  final,
  finalWord,
  isFinal,
  neverOpened,
  newAttempt,
  opened,
  type Recipient,
  refusal,
  stopped,
} from './recipient.ts';

// A request to tell people something: pure functions from a notification with its recipients to the next one.

/** A request to tell people something. Times are in milliseconds since 1970. */
export interface Notification {
  readonly id: NotificationId;
  readonly alertType: AlertTypeName;
  /** Shown, never spoken. */
  readonly reference?: string | undefined;
  readonly createdAt: number;
  /** Nobody is dialled after it. */
  readonly deadlineAt: number;
  /** Where the events of its calls go, if not to the usual place. */
  readonly callbackBaseUrl?: string | undefined;
  /** The hash of the `Idempotency-Key`; undefined without one. */
  readonly keyHash?: string | undefined;
  /** Spoken in the message: the place. */
  readonly details?: string | undefined;
  /** Whether keys are asked for. */
  readonly confirm?: boolean | undefined;
  /** From one wave to the next, in milliseconds; undefined: there are no waves, and each recipient has to confirm. */
  readonly waveMs?: number | undefined;
  /** How many have to confirm until the rest is stopped, in waves; 1 if it is not given. */
  readonly confirmationsNeeded?: number | undefined;
  /**
   * How many have confirmed; undefined where no keys are asked for. It changes with each, so that two who confirm at the same moment meet
   * each other.
   */
  readonly confirmations?: number | undefined;
  /** The last wave that was opened, from 1. */
  readonly wave: number;
  /** When the next wave is opened; undefined: there is none, or none is needed. */
  readonly nextWaveAt?: number | undefined;
  /** When the claims of its first calls run out; undefined: each recipient is looked after on its own. */
  readonly coversUntil?: number | undefined;
  /** How many recipients are final. It changes with each, so that two who are the last at the same moment meet each other. */
  readonly finals: number;
  readonly stoppedAt?: number | undefined;
  readonly confirmedAt?: number | undefined;
  readonly completedAt?: number | undefined;
}

/** A notification and all its recipients, in the order of the request. */
export interface NotificationCase {
  readonly notification: Notification;
  readonly recipients: readonly Recipient[];
}

/** The attempt that a reference names; undefined if there is none (any more). */
export const attemptIn = ({ recipients }: NotificationCase, { index, attemptId }: AttemptRef): Attempt | undefined => {
  const recipient = recipients[index];
  return recipient && attemptOf(recipient, attemptId);
};

/** What a new notification is made of. */
export interface NewNotification {
  readonly notification: Omit<
    Notification,
    'wave' | 'finals' | 'confirmations' | 'nextWaveAt' | 'coversUntil' | 'deadlineAt'
  >;
  readonly waves: readonly (readonly PhoneNumber[])[];
  readonly deadlineMs: number;
  readonly allowedPrefixes: readonly string[] | undefined;
  /** How many of the day's calls are left for it. */
  readonly callsLeft: number;
  readonly newId: () => string;
  /** That its calls go through. */
  readonly line?: LineTerms | undefined;
}

/**
 * How many recipients are inserted as claimed: their call requests are sent at once. The others wait with an entry of their own, so that
 * all rows fit one transaction.
 */
const FIRST_CALLS = 10;

/** A new notification: the first to be called are claimed already, and those who may not be called have failed. */
export const newNotification = (
  { notification, waves, deadlineMs, allowedPrefixes, callsLeft, newId, line }: NewNotification,
  now: number,
): NotificationCase => {
  let left = callsLeft;
  let claimed = 0;
  const recipients = waves.flatMap((numbers, index) =>
    numbers.map((number): Recipient => {
      const wave = index + 1;
      const waiting: Recipient = { state: 'waiting', number, wave, attempts: [], queuedAt: now };
      const refused = (reason: string): Recipient =>
        final({ ...waiting, attempts: [refusal(newId(), reason, now)] }, 'failed');
      if (!isAllowed(number, allowedPrefixes)) return refused(NOT_ALLOWED);
      if (wave > 1) return { ...waiting, state: 'later' };
      if (left === 0) return refused(CALLS_USED_UP);
      left -= 1;
      if (claimed === FIRST_CALLS) return { ...waiting, dueAt: now, isCounted: true };
      claimed += 1;
      const attempts = [newAttempt(newId(), now, line)];
      return { ...waiting, state: 'calling', attempts, dueAt: now + DIAL_LEASE_MS, isCovered: true, isCounted: true };
    }),
  );
  const isOneWave = notification.waveMs === undefined || !recipients.some(({ state }) => state === 'later');
  return concluded(
    {
      notification: {
        ...notification,
        deadlineAt: now + deadlineMs,
        wave: 1,
        finals: 0,
        nextWaveAt: isOneWave ? undefined : now + (notification.waveMs ?? 0),
        coversUntil: claimed === 0 ? undefined : now + DIAL_LEASE_MS,
      },
      recipients,
    },
    now,
  );
};

/** When the notification as a whole must be looked at; undefined if it need not. */
export const notificationDueAt = ({ nextWaveAt, coversUntil }: Notification): number | undefined => {
  const times = [nextWaveAt, coversUntil].filter((at) => at !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
};

/** Whether it is called before everything else that waits. */
export const isUrgentNotification = ({ alertType }: Notification): boolean => isUrgent(alertType);

/** A notification with another recipient in place of one of them, and what follows for the whole. */
export const withRecipient = (
  { notification, recipients }: NotificationCase,
  index: number,
  recipient: Recipient,
  now: number,
): NotificationCase =>
  concluded({ notification, recipients: recipients.map((one, at) => (at === index ? recipient : one)) }, now);

/** A false alarm: nobody is dialled any more. The same object if there is nothing to stop. */
export const stoppedNotification = (known: NotificationCase, now: number): NotificationCase => {
  const { notification, recipients } = known;
  if (notification.stoppedAt !== undefined || notification.completedAt !== undefined) return known;
  return concluded({ notification: { ...notification, stoppedAt: now }, recipients: recipients.map(stopped) }, now);
};

/** The phone was switched off: nothing more will be heard of any call. */
export const abandoned = ({ notification, recipients }: NotificationCase, now: number): NotificationCase =>
  concluded(
    {
      notification: { ...notification, stoppedAt: notification.stoppedAt ?? notification.completedAt ?? now },
      recipients: recipients.map((recipient) => {
        if (isFinal(recipient)) return recipient;
        const attempts = recipient.attempts.map((attempt): Attempt =>
          isLive(attempt)
            ? {
                ...attempt,
                state: 'over',
                endedAt: now,
                outcome: answerBy(attempt) ?? 'unknown',
                reason: 'the phone was switched off',
              }
            : attempt,
        );
        return final({ ...recipient, attempts }, answerOf(recipient) ?? finalWord(recipient) ?? 'stopped');
      }),
    },
    now,
  );

/** It is time to look at the notification as a whole, and those whom it covers were looked at: opens the next wave if its time has come. */
export const lookedAt = (known: NotificationCase, newId: () => string, now: number): NotificationCase => {
  const { nextWaveAt = Infinity } = known.notification;
  return concluded(nextWaveAt <= now ? nextWave(known, newId, now) : known, now);
};

const nextWave = (
  { notification, recipients }: NotificationCase,
  newId: () => string,
  now: number,
): NotificationCase => {
  if (now >= notification.deadlineAt) {
    return {
      notification: { ...notification, nextWaveAt: undefined },
      recipients: recipients.map((recipient) => neverOpened(recipient, newId(), now)),
    };
  }
  const later = recipients.flatMap(({ state, wave }) => (state === 'later' ? wave : []));
  const wave = Math.min(...later);
  const isLast = later.every((one) => one === wave);
  return {
    notification: {
      ...notification,
      wave,
      nextWaveAt: isLast ? undefined : now + (notification.waveMs ?? 0),
    },
    recipients: recipients.map((recipient) => (recipient.wave === wave ? opened(recipient, now) : recipient)),
  };
};

/** What a recipient has said by a key, in whichever call; undefined if nothing. */
export const answerOf = ({ attempts }: Pick<Recipient, 'attempts'>): ReturnType<typeof answerBy> => {
  const answers = new Set(attempts.map(answerBy));
  return answers.has('confirmed') ? 'confirmed' : answers.has('cannot_go') ? 'cannot_go' : undefined;
};

/** How many recipients have confirmed. */
export const confirmationsOf = ({ recipients }: Pick<NotificationCase, 'recipients'>): number =>
  recipients.filter((recipient) => answerOf(recipient) === 'confirmed').length;

/** Whether a recipient may still confirm, or has. */
const canConfirm = (recipient: Recipient): boolean => {
  const answer = answerOf(recipient);
  return answer === 'confirmed' || (answer === undefined && !isFinal(recipient));
};

/**
 * What follows for the whole: enough confirmations in waves stop the rest, waves that cannot bring enough any more open the next one, and
 * the end.
 */
const concluded = (known: NotificationCase, now: number): NotificationCase => {
  const { notification, recipients } = confirmationsStopTheRest(known, now);
  const { completedAt, coversUntil } = notification;
  const isCovering = recipients.some(({ isCovered }) => isCovered === true);
  const isCompleted = recipients.every(isFinal);
  const hasLater = recipients.some(({ state }) => state === 'later');
  const reachable = recipients.filter((recipient) => recipient.state !== 'later' && canConfirm(recipient)).length;
  const isNextNeeded = hasLater && isNextWaveNeededNow(reachable, notification.confirmationsNeeded);
  return {
    notification: {
      ...notification,
      finals: recipients.filter(isFinal).length,
      confirmations: notification.confirm === true ? confirmationsOf({ recipients }) : undefined,
      coversUntil: isCovering ? coversUntil : undefined,
      nextWaveAt: !hasLater
        ? undefined
        : isNextNeeded
          ? Math.min(now, notification.nextWaveAt ?? now)
          : notification.nextWaveAt,
      completedAt: completedAt ?? (isCompleted ? now : undefined),
    },
    recipients: isCompleted ? recipients.map(masked) : recipients,
  };
};

const confirmationsStopTheRest = (known: NotificationCase, now: number): NotificationCase => {
  const { notification, recipients } = known;
  const { waveMs, confirmedAt, confirmationsNeeded } = notification;
  if (waveMs === undefined || confirmedAt !== undefined) return known;
  if (!areEnough(confirmationsOf(known), confirmationsNeeded)) return known;
  return { notification: { ...notification, confirmedAt: now }, recipients: recipients.map(stopped) };
};

/** Whole numbers are kept only until the notification is over. */
const masked = (recipient: Recipient): Recipient => {
  const number = recipient.number && maskPhoneNumber(recipient.number);
  return number === recipient.number ? recipient : { ...recipient, number };
};
