import * as z from 'zod';
import { ALERT_TYPE_NAMES, isUrgent } from '../model/alert-types.ts';
import { type AttemptRef, type NotificationId, notificationIdSchema } from '../model/ids.ts';
import type { NotificationRequest } from '../model/notification-request.ts';
import { maskPhoneNumber, parsePhoneNumber } from '../model/phone-number.ts';
import {
  areEnough,
  CALLS_USED_UP,
  isNextWaveNeededNow,
  NOT_CALLABLE,
  type PhoneRules,
  whyNotCallable,
} from '../rules/policy.ts';
import { RANG_MS } from '../rules/queue.ts';
import { abandonedAttempt, acceptedAtOf, answerBy, type Attempt, checkAtOf, isLive, talkOf } from './attempt.ts';
import type { Outbox } from './outbox.ts';
import {
  answerOf,
  attemptOf,
  final,
  isFinal,
  looked,
  neverOpened,
  opened,
  type ReachTerms,
  type Recipient,
  refused,
  stopped,
  waiting,
} from './recipient.ts';

// A request to tell people something: pure functions from a notification with its recipients to the next one.

/** A notification as it is stored, without its recipients. Times are in milliseconds since 1970. */
export const notificationSchema = z.object({
  id: notificationIdSchema,
  alertType: z.enum(ALERT_TYPE_NAMES),
  /** Shown, never spoken. */
  reference: z.string().optional(),
  /** Spoken in the message: the place. */
  details: z.string().optional(),
  createdAt: z.number(),
  /** Nobody is dialed after it. */
  deadlineAt: z.number(),
  /** Where the events of its calls go, if not to the usual place. */
  callbackBaseUrl: z.string().optional(),
  /** The hash of the `Idempotency-Key`; undefined without one. */
  keyHash: z.string().optional(),
  /** Whether keys are asked for. */
  confirm: z.boolean(),
  /** From one wave to the next, in milliseconds; undefined: there are no waves, and each recipient has to confirm. */
  waveMs: z.int().optional(),
  /** How many have to confirm until the rest is stopped, in waves; 1 if it is not given. */
  confirmationsNeeded: z.int().optional(),
  /** The last wave that was opened, from 1. */
  wave: z.int(),
  /** When the next wave is opened; undefined: there is none, or none is needed. */
  nextWaveAt: z.number().optional(),
  stoppedAt: z.number().optional(),
  /** When enough have confirmed. */
  confirmedAt: z.number().optional(),
  completedAt: z.number().optional(),
  /** Who has it in hand, and how it stood then. */
  acknowledged: z
    .object({
      by: z.string(),
      at: z.number(),
      /** How often it was acknowledged. */
      times: z.int(),
      /** How many recipients were not reached then, and whether it had ended with too few. */
      notReached: z.int(),
      hasEndedShort: z.boolean(),
    })
    .optional(),
});

/** A request to tell people something, without its recipients. */
export type Notification = Readonly<z.output<typeof notificationSchema>>;

/** A notification, all its recipients in the order of the request, and what others must still be told of it. */
export interface NotificationCase {
  readonly notification: Notification;
  readonly recipients: readonly Recipient[];
  readonly outbox: Outbox;
}

/** The attempt that a reference names; undefined if there is none (any more). */
export const attemptIn = (
  { recipients }: NotificationCase,
  { index, attemptId }: Omit<AttemptRef, 'notificationId'>,
): Attempt | undefined => {
  const recipient = recipients[index];
  return recipient && attemptOf(recipient, attemptId);
};

/** Whether it is called before everything else that waits. */
export const isUrgentNotification = ({ alertType }: Notification): boolean => isUrgent(alertType);

/** Whether anything can still happen without a request: somebody is to be reached, or a call is open. */
export const isUnderWay = ({ recipients }: Pick<NotificationCase, 'recipients'>): boolean =>
  recipients.some((recipient) => !isFinal(recipient) || recipient.attempts.some(isLive));

/** What a new notification is made of, beside the request. */
export interface NewNotification {
  readonly id: NotificationId;
  /** The hash of the `Idempotency-Key`; undefined without one. */
  readonly keyHash?: string | undefined;
  /** No call is left of this UTC day. */
  readonly isOverDayLimit: boolean;
  readonly rules: Pick<PhoneRules, 'deadlineMs' | 'allowedPrefixes'>;
}

/** A new notification: its first wave waits, and recipients that are never called have failed. A reference that is a phone number is masked. */
export const newNotification = (
  request: NotificationRequest,
  { id, keyHash, isOverDayLimit, rules }: NewNotification,
  now: number,
): NotificationCase => {
  const {
    alertType,
    waves,
    reference,
    details,
    confirm = false,
    waveMs,
    confirmationsNeeded,
    callbackBaseUrl,
  } = request;
  const recipients = waves.flatMap((callees, index) =>
    callees.map(({ number, name }): Recipient => {
      const later: Recipient = { state: 'later', number, name, wave: index + 1, attempts: [] };
      const why = whyNotCallable(number, rules.allowedPrefixes);
      if (why !== undefined) return refused(later, NOT_CALLABLE[why], now);
      if (isOverDayLimit) return refused(later, CALLS_USED_UP, now);
      return index === 0 ? waiting(later, now) : later;
    }),
  );
  const number = parsePhoneNumber(reference ?? '');
  const notification: Notification = {
    id,
    alertType: alertType.name,
    reference: number === undefined ? reference : maskPhoneNumber(number),
    details,
    createdAt: now,
    deadlineAt: now + rules.deadlineMs,
    callbackBaseUrl,
    keyHash,
    confirm,
    waveMs,
    confirmationsNeeded,
    wave: 1,
    nextWaveAt: waveMs === undefined ? undefined : now + waveMs,
  };
  return concluded({ notification, recipients, outbox: {} }, now);
};

/** A notification with another recipient in place of one of them, and what follows for the whole. */
export const withRecipient = (
  known: NotificationCase,
  index: number,
  recipient: Recipient,
  now: number,
): NotificationCase => {
  const recipients = known.recipients.map((one, at) => (at === index ? recipient : one));
  return concluded({ ...known, recipients }, now);
};

/** When the notification must be checked, beside being dialed; undefined: never. */
export const checkAtOfNotification = (known: NotificationCase, terms: ReachTerms): number | undefined => {
  const { nextWaveAt } = known.notification;
  const times = known.recipients.flatMap((recipient) => [
    ...recipient.attempts.flatMap((attempt) => (isLive(attempt) ? checkAtOf(attempt, terms) : [])),
    ...(recipient.state === 'waiting' ? [terms.deadlineAt] : []),
  ]);
  const all = nextWaveAt === undefined ? times : [...times, nextWaveAt];
  return all.length === 0 ? undefined : Math.min(...all);
};

/** It is time to check it: its attempts, its deadline, its next wave. @param mayResend whose call request may be sent again, by index */
export const lookedAt = (
  known: NotificationCase,
  mayResend: (index: number) => boolean,
  terms: ReachTerms,
  now: number,
): NotificationCase => {
  const recipients = known.recipients.map((recipient, index) => looked(recipient, mayResend(index), terms, now));
  const isChanged = recipients.some((recipient, index) => recipient !== known.recipients[index]);
  const checked = isChanged ? concluded({ ...known, recipients }, now) : known;
  const isWaveDue = (checked.notification.nextWaveAt ?? Infinity) <= now;
  return isWaveDue ? concluded(withNextWave(checked, terms, now), now) : checked;
};

const withNextWave = (known: NotificationCase, { deadlineAt }: ReachTerms, now: number): NotificationCase => {
  const { notification, recipients } = known;
  if (now >= deadlineAt) {
    return {
      ...known,
      notification: { ...notification, nextWaveAt: undefined },
      recipients: recipients.map((recipient) => neverOpened(recipient, now)),
    };
  }
  const later = recipients.flatMap(({ state, wave }) => (state === 'later' ? wave : []));
  const wave = Math.min(...later);
  return {
    ...known,
    notification: { ...notification, wave, nextWaveAt: now + (notification.waveMs ?? 0) },
    recipients: recipients.map((recipient) => (recipient.wave === wave ? opened(recipient, now) : recipient)),
  };
};

/** A false alarm: nobody is dialed any more. The same object if there is nothing to stop. */
export const stoppedNotification = (known: NotificationCase, now: number): NotificationCase => {
  const { stoppedAt, completedAt } = known.notification;
  if (stoppedAt !== undefined || completedAt !== undefined) return known;
  return concluded({ ...stoppedRest(known, now), notification: { ...known.notification, stoppedAt: now } }, now);
};

const stoppedRest = (known: NotificationCase, now: number): NotificationCase => ({
  ...known,
  recipients: known.recipients.map((recipient) => stopped(recipient, now)),
});

/** The phone was switched off: nothing more will be heard of any call. */
export const abandoned = (known: NotificationCase, now: number): NotificationCase => {
  const { notification } = known;
  const recipients = known.recipients.map((recipient): Recipient => {
    const attempts = recipient.attempts.map((attempt) => abandonedAttempt(attempt, now));
    return final({ ...recipient, attempts }, isFinal(recipient) ? recipient.state : (answerOf(recipient) ?? 'stopped'));
  });
  const stoppedAt = notification.stoppedAt ?? notification.completedAt ?? now;
  return concluded({ ...known, notification: { ...notification, stoppedAt }, recipients }, now);
};

/** Whether a phone has surely rung for it: long enough, or somebody answered. */
export const hasRung = ({ recipients }: Pick<NotificationCase, 'recipients'>, now: number): boolean =>
  recipients.some(({ attempts }) =>
    attempts.some((attempt) => {
      if (talkOf(attempt) !== undefined) return true;
      const acceptedAt = acceptedAtOf(attempt);
      return acceptedAt !== undefined && (attempt.state === 'over' ? attempt.endedAt : now) - acceptedAt >= RANG_MS;
    }),
  );

/** Whether a recipient may still confirm, or has. */
const canConfirm = (recipient: Recipient): boolean => {
  const answer = answerOf(recipient);
  return answer === 'confirmed' || (answer === undefined && !isFinal(recipient));
};

/** What follows for the whole: enough confirmations in waves stop the rest, too few that are possible open the next wave, and the end. */
const concluded = (known: NotificationCase, now: number): NotificationCase => {
  const { notification, recipients, outbox } = confirmationsStopTheRest(known, now);
  const { confirmationsNeeded, completedAt } = notification;
  const isCompleted = recipients.every(isFinal);
  const hasLater = recipients.some(({ state }) => state === 'later');
  const reachable = recipients.filter((recipient) => recipient.state !== 'later' && canConfirm(recipient)).length;
  const { nextWaveAt = now } = notification;
  const isNeededNow = isNextWaveNeededNow(reachable, confirmationsNeeded);
  return {
    notification: {
      ...notification,
      nextWaveAt: hasLater ? (isNeededNow ? Math.min(now, nextWaveAt) : nextWaveAt) : undefined,
      completedAt: completedAt ?? (isCompleted ? now : undefined),
    },
    recipients: isUnderWay({ recipients }) ? recipients : recipients.map(masked),
    outbox,
  };
};

const confirmationsStopTheRest = (known: NotificationCase, now: number): NotificationCase => {
  const { waveMs, confirmedAt, confirmationsNeeded } = known.notification;
  if (waveMs === undefined || confirmedAt !== undefined) return known;
  if (!areEnough(confirmedBy(known).length, confirmationsNeeded)) return known;
  return { ...stoppedRest(known, now), notification: { ...known.notification, confirmedAt: now } };
};

/** Whole numbers are kept only until the notification is over. */
const masked = (recipient: Recipient): Recipient => {
  const number = maskPhoneNumber(recipient.number);
  return number === recipient.number ? recipient : { ...recipient, number };
};

// Which notifications an operator has to look at, because too few people know of them.

type Reaching = Pick<NotificationCase, 'notification' | 'recipients'>;

/** How long after its end a notification that reached too few needs attention, in milliseconds. */
const ATTENTION_AFTER_END_MS = 24 * 3_600_000;

/** The longest deadline is a day; its last calls end within two hours. An older notification needs no attention. */
export const LONGEST_ATTENTION_MS = ATTENTION_AFTER_END_MS + 26 * 3_600_000;

/** The indexes of the recipients that have confirmed. */
export const confirmedBy = ({ recipients }: { readonly recipients: readonly Recipient[] }): readonly number[] =>
  recipients.flatMap(({ attempts }, index) =>
    attempts.some((attempt) => answerBy(attempt) === 'confirmed') ? [index] : [],
  );

/** How many were reached: those that have confirmed if a key is asked for, else all that have heard the message. */
export const reachedOf = (known: Reaching): number =>
  known.notification.confirm
    ? confirmedBy(known).length
    : known.recipients.filter(({ state }) => state === 'heard' || state === 'confirmed').length;

/** Whether it has reached too few, and was not stopped: in waves fewer than were asked for, else nobody. */
export const isShort = (known: Reaching): boolean =>
  known.notification.stoppedAt === undefined && !areEnough(reachedOf(known), known.notification.confirmationsNeeded);

/** Whether an operator has to look at it now. */
export const needsAttention = (known: Reaching, now: number): boolean => {
  const { completedAt } = known.notification;
  return isShort(known) && (completedAt === undefined || now - completedAt < ATTENTION_AFTER_END_MS);
};

/** Somebody has it in hand. That wakes nobody and stops nothing. The same object if the same name says it again and nothing became worse. */
export const acknowledged = (known: NotificationCase, by: string, now: number): NotificationCase => {
  const { notification } = known;
  const { acknowledged: before } = notification;
  if (before?.by === by && !hasWorsened(known)) return known;
  const acknowledgement = { by, at: now, times: (before?.times ?? 0) + 1, ...standingOf(known) };
  return { ...known, notification: { ...notification, acknowledged: acknowledgement } };
};

/** Whether its outcome became worse after it was acknowledged: more recipients were not reached, or it ended with too few. */
export const hasWorsened = (known: Reaching): boolean => {
  const { acknowledged: then } = known.notification;
  if (then === undefined) return false;
  const now = standingOf(known);
  return now.notReached > then.notReached || (now.hasEndedShort && !then.hasEndedShort);
};

const standingOf = (
  known: Reaching,
): Pick<NonNullable<Notification['acknowledged']>, 'notReached' | 'hasEndedShort'> => ({
  notReached: known.recipients.filter(({ state }) => state === 'not_reached' || state === 'failed').length,
  hasEndedShort: known.notification.completedAt !== undefined && isShort(known),
});
