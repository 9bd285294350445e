import { areEnough } from '../rules/confirmations.ts';
import { answerBy } from './attempt.ts';
import type { Notification, NotificationCase } from './notification.ts';
import type { Recipient } from './recipient.ts';

// Which notifications an operator has to look at, because too few people know of them.

type Reaching = Pick<NotificationCase, 'notification' | 'recipients'>;

/** How long after its end a notification that reached too few needs attention, in milliseconds. */
export const ATTENTION_AFTER_END_MS = 24 * 3_600_000;

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
