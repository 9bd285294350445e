import * as z from 'zod';

import { ALERT_TYPE_NAMES, isUrgent } from '../model/alert-types.ts';
import { isAllowed, NOT_ALLOWED } from '../rules/allowed-prefixes.ts';
import { areEnough, isNextWaveNeededNow } from '../rules/confirmations.ts';
import { IMPOSSIBLE, isPossible } from '../rules/possible-number.ts';
import { answerBy, type Attempt, CLAIM_LEASE_MS, isLive } from './attempt.ts';
import { hungUpAgain } from './move-attempt.ts';
import { confirmedBy, isShort } from './attention.ts';
import { CALLS_USED_UP } from '../rules/day-limit.ts';
import { PROVEN_AFTER_MS } from '../rules/lines.ts';
import type { AttemptRef } from '../model/call-context.ts';
import { type NotificationId, notificationIdSchema } from '../model/ids.ts';
import type { NotificationRequest } from '../model/notification-request.ts';
import type { PhoneRules } from '../rules/policy.ts';
import { extensible, time, wholeNumber } from '../model/stored.ts';
import { maskPhoneNumber, parsePhoneNumber } from '../model/phone-number.ts';
import {
  attemptOf,
  final,
  finalWord,
  isFinal,
  neverOpened,
  opened,
  type Recipient,
  refused,
  stopped,
} from './recipient.ts';

// A request to tell people something: pure functions from a notification with its recipients to the next one.

/** A notification as it is stored. */
export const notificationSchema = extensible({
  id: notificationIdSchema,
  alertType: z.enum(ALERT_TYPE_NAMES),
  /** Shown, never spoken. */
  reference: z.string().optional(),
  /** Spoken in the message: the place. */
  details: z.string().optional(),
  createdAt: time,
  /** Nobody is dialled after it. */
  deadlineAt: time,
  /** Where the events of its calls go, if not to the usual place. */
  callbackBaseUrl: z.string().optional(),
  /** The hash of the `Idempotency-Key`; undefined without one. */
  keyHash: z.string().optional(),
  /** Whether keys are asked for. */
  confirm: z.boolean().optional(),
  /** From one wave to the next, in milliseconds; undefined: there are no waves, and each recipient has to confirm. */
  waveMs: z.int().optional(),
  /** How many have to confirm until the rest is stopped, in waves; 1 if it is not given. */
  confirmationsNeeded: z.int().optional(),
  /**
   * How many have confirmed; undefined where no keys are asked for. It changes with each, so that two who confirm at the same moment meet
   * each other.
   */
  confirmations: z.int().optional(),
  /** The last wave that was opened, from 1. */
  wave: wholeNumber,
  /** When the next wave is opened; undefined: there is none, or none is needed. */
  nextWaveAt: time.optional(),
  /** When the claims of its first calls run out; undefined: each recipient is looked after on its own. Versions before wrote that. */
  coversUntil: time.optional(),
  /** When to look whether all who rang when it was stopped are hung up; undefined: they are, or are looked after on their own. */
  hungUpBy: time.optional(),
  /** When an urgent one must have rung somewhere; undefined: it has, or need not. And when it was found that it had not. */
  ringsBy: time.optional(),
  silentAt: time.optional(),
  /** How many recipients are final. It changes with each, so that two who are the last at the same moment meet each other. */
  finals: z.int(),
  stoppedAt: time.optional(),
  confirmedAt: time.optional(),
  completedAt: time.optional(),
  /** Whether a row stands among those that need attention: it was created with one, and has reached too few since. */
  isListed: z.boolean().optional(),
  /** Who has it in hand, and since when; the first stays. */
  acknowledgedBy: z.string().optional(),
  acknowledgedAt: time.optional(),
});

/** A request to tell people something. Times are in milliseconds since 1970. */
export type Notification = Readonly<z.output<typeof notificationSchema>>;

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

/** What a new notification is made of, beside the request. */
export interface NewNotification {
  readonly id: NotificationId;
  /** The hash of the `Idempotency-Key`; undefined without one. */
  readonly keyHash?: string | undefined;
  /** How many of the day's calls are left for it. */
  readonly callsLeft: number;
  readonly rules: Pick<PhoneRules, 'deadlineMs' | 'allowedPrefixes'>;
}

/** An urgent notification of which no phone has rung for 6 s within this time is an error. */
export const RINGS_WITHIN_MS = 120_000;
// Whoever stops a notification hangs up who rings; who looks then takes over from one who has died.
const HUNG_UP_WITHIN_MS = 2_000;
// Each has up to five writes, and a transaction takes a hundred.
const MOST_TAKEN_OVER = 15;

/** A new notification: its first wave waits, and those who may not be called have failed. A reference that is a phone number is masked. */
export const newNotification = (
  request: NotificationRequest,
  { id, keyHash, callsLeft, rules }: NewNotification,
  now: number,
): NotificationCase => {
  const { alertType, waves, reference, details, confirm, waveMs, confirmationsNeeded, callbackBaseUrl } = request;
  let left = callsLeft;
  const recipients = waves.flatMap((numbers, index) =>
    numbers.map((number): Recipient => {
      const wave = index + 1;
      const waiting: Recipient = { state: 'waiting', number, wave, attempts: [], queuedAt: now };
      if (!isPossible(number)) return refused(waiting, IMPOSSIBLE, now);
      if (!isAllowed(number, rules.allowedPrefixes)) return refused(waiting, NOT_ALLOWED, now);
      if (wave > 1) return { ...waiting, state: 'later' };
      if (left === 0) return refused(waiting, CALLS_USED_UP, now);
      left -= 1;
      return { ...waiting, dueAt: now, isGrouped: true, isCounted: true };
    }),
  );
  const number = parsePhoneNumber(reference ?? '');
  const isOneWave = waveMs === undefined || !recipients.some(({ state }) => state === 'later');
  return concluded(
    {
      notification: {
        id,
        alertType: alertType.name,
        reference: number === undefined ? reference : maskPhoneNumber(number),
        details,
        createdAt: now,
        deadlineAt: now + rules.deadlineMs,
        confirm,
        waveMs,
        confirmationsNeeded,
        callbackBaseUrl,
        keyHash,
        isListed: true,
        wave: 1,
        finals: 0,
        nextWaveAt: isOneWave ? undefined : now + waveMs,
        ringsBy: isUrgent(alertType.name) ? now + RINGS_WITHIN_MS : undefined,
      },
      recipients,
    },
    now,
  );
};

/** When the notification as a whole must be looked at; undefined if it need not. */
export const notificationDueAt = (known: Notification): number | undefined => {
  const { nextWaveAt, coversUntil, hungUpBy, ringsBy } = known;
  const times = [nextWaveAt, coversUntil, hungUpBy, ringsBy].filter((at) => at !== undefined);
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

/** Somebody has it in hand, which wakes nobody and stops nothing. The same object if somebody has already. */
export const acknowledged = (known: NotificationCase, by: string, now: number): NotificationCase =>
  known.notification.acknowledgedAt === undefined
    ? { ...known, notification: { ...known.notification, acknowledgedBy: by, acknowledgedAt: now } }
    : known;

/** A false alarm: nobody is dialled any more. The same object if there is nothing to stop. */
export const stoppedNotification = (known: NotificationCase, now: number): NotificationCase => {
  const { notification, recipients } = known;
  if (notification.stoppedAt !== undefined || notification.completedAt !== undefined) return known;
  return concluded(stoppedRest({ notification: { ...notification, stoppedAt: now }, recipients }, now), now);
};

const stoppedRest = ({ notification, recipients }: NotificationCase, now: number): NotificationCase => ({
  notification: { ...notification, hungUpBy: now + HUNG_UP_WITHIN_MS },
  recipients: recipients.map((recipient) => stopped(recipient, now)),
});

/**
 * The phone was switched off: nothing more will be heard of any call.
 *
 * @param most how many people at a time: each has up to three writes
 */
export const abandoned = (known: NotificationCase, now: number, most = 30): NotificationCase => {
  const { notification, recipients } = known;
  let left = most;
  return concluded(
    {
      notification: { ...notification, stoppedAt: notification.stoppedAt ?? notification.completedAt ?? now },
      recipients: recipients.map((recipient) => {
        if (isFinal(recipient) || (recipient.isGrouped !== true && (left -= 1) < 0)) return recipient;
        const attempts = recipient.attempts.map((attempt): Attempt =>
          isLive(attempt)
            ? { ...attempt, ...SWITCHED_OFF, outcome: answerBy(attempt) ?? SWITCHED_OFF.outcome, endedAt: now }
            : attempt,
        );
        return final({ ...recipient, attempts }, answerOf(recipient) ?? finalWord(recipient) ?? 'stopped');
      }),
    },
    now,
  );
};

const SWITCHED_OFF = {
  state: 'over',
  outcome: 'unknown',
  reason: 'the phone was switched off',
  holdsNumber: undefined,
} as const;

/**
 * It is time to look at the notification as a whole, and those whom it covers were looked at: opens the next wave, goes on with hanging up, and
 * finds that nobody's phone has rung, if their times have come.
 */
export const lookedAt = (known: NotificationCase, now: number): NotificationCase => {
  const { nextWaveAt = Infinity, hungUpBy = Infinity, ringsBy = Infinity } = known.notification;
  const inWave = nextWaveAt <= now ? nextWave(known, now) : known;
  const hungUp = hungUpBy <= now ? hungUpByAnother(inWave, now) : inWave;
  return concluded(ringsBy <= now ? checkedForRinging(hungUp, now) : hungUp, now);
};

/** Whoever stopped it has died, or the line does not answer: each hang-up is claimed again, and looked after on its own from then on. */
const hungUpByAnother = ({ notification, recipients }: NotificationCase, now: number): NotificationCase => {
  let left = MOST_TAKEN_OVER;
  const next = recipients.map((recipient) => {
    const { isStopped, attempts, dueAt } = recipient;
    const isLate = attempts.some(({ state, hangingUpAt = now }) => state === 'hanging_up' && hangingUpAt < now);
    if (isStopped !== true || !isLate || (left -= 1) < 0) return recipient;
    return {
      ...recipient,
      attempts: attempts.map((one) => hungUpAgain(one, now)),
      dueAt: Math.max(dueAt ?? 0, now + CLAIM_LEASE_MS),
    };
  });
  return { notification: { ...notification, hungUpBy: left < 0 ? now : undefined }, recipients: next };
};

const checkedForRinging = ({ notification, recipients }: NotificationCase, now: number): NotificationCase => {
  const hasRung = recipients.some(({ attempts }) => attempts.some((attempt) => hasSurelyRung(attempt, now)));
  return { notification: { ...notification, ringsBy: undefined, silentAt: hasRung ? undefined : now }, recipients };
};

const hasSurelyRung = ({ speakingAt, placedAt, endedAt }: Attempt, now: number): boolean =>
  speakingAt !== undefined || (placedAt !== undefined && (endedAt ?? now) - placedAt >= PROVEN_AFTER_MS);

const nextWave = ({ notification, recipients }: NotificationCase, now: number): NotificationCase => {
  if (now >= notification.deadlineAt) {
    return {
      notification: { ...notification, nextWaveAt: undefined },
      recipients: recipients.map((recipient) => neverOpened(recipient, now)),
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
  confirmedBy({ recipients }).length;

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
  const { completedAt, coversUntil, hungUpBy, ringsBy } = notification;
  const isCovering = recipients.some(({ isCovered }) => isCovered === true);
  const isCompleted = recipients.every(isFinal);
  const isHangingUp = recipients.some(
    ({ isStopped, attempts }) => isStopped === true && attempts.some(({ state }) => state === 'hanging_up'),
  );
  const isWatched = !isCompleted && notification.stoppedAt === undefined && !recipients.some(isSpokenTo);
  const hasLater = recipients.some(({ state }) => state === 'later');
  const reachable = recipients.filter((recipient) => recipient.state !== 'later' && canConfirm(recipient)).length;
  const isNextNeeded = hasLater && isNextWaveNeededNow(reachable, notification.confirmationsNeeded);
  return {
    notification: {
      ...notification,
      finals: recipients.filter(isFinal).length,
      confirmations: notification.confirm === true ? confirmationsOf({ recipients }) : undefined,
      coversUntil: isCovering ? coversUntil : undefined,
      hungUpBy: isHangingUp ? hungUpBy : undefined,
      ringsBy: isWatched ? ringsBy : undefined,
      nextWaveAt: !hasLater
        ? undefined
        : isNextNeeded
          ? Math.min(now, notification.nextWaveAt ?? now)
          : notification.nextWaveAt,
      completedAt: completedAt ?? (isCompleted ? now : undefined),
      isListed: notification.isListed === true && isShort({ notification, recipients }) ? true : undefined,
    },
    recipients: isCompleted ? recipients.map(masked) : recipients,
  };
};

const isSpokenTo = ({ attempts }: Recipient): boolean => attempts.some(({ speakingAt }) => speakingAt !== undefined);

const confirmationsStopTheRest = (known: NotificationCase, now: number): NotificationCase => {
  const { notification, recipients } = known;
  const { waveMs, confirmedAt, confirmationsNeeded } = notification;
  if (waveMs === undefined || confirmedAt !== undefined) return known;
  if (!areEnough(confirmationsOf(known), confirmationsNeeded)) return known;
  return stoppedRest({ notification: { ...notification, confirmedAt: now }, recipients }, now);
};

/** Whole numbers are kept only until the notification is over. */
const masked = (recipient: Recipient): Recipient => {
  const number = recipient.number && maskPhoneNumber(recipient.number);
  return number === recipient.number ? recipient : { ...recipient, number };
};
