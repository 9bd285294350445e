import { areEnough } from '../rules/confirmations.ts';
import { answerBy } from './attempt.ts';
import { finalWord, type Recipient } from './recipient.ts';

// Which notifications somebody has to look at, because too few people know of them.

/** What is looked at of a notification. */
interface Reaching {
  readonly notification: {
    readonly confirm?: boolean | undefined;
    readonly confirmationsNeeded?: number | undefined;
    readonly stoppedAt?: number | undefined;
    readonly completedAt?: number | undefined;
  };
  readonly recipients: readonly Recipient[];
}

/** How long after its end a notification that reached too few is asked about, in milliseconds. */
export const ATTENTION_AFTER_END_MS = 24 * 3_600_000;

/** The longest deadline, a day, with the last call, and the time after the end: whatever was created earlier needs no attention. */
export const LONGEST_ATTENTION_MS = ATTENTION_AFTER_END_MS + 26 * 3_600_000;

/** The indexes of those who have confirmed. */
export const confirmedBy = ({ recipients }: Pick<Reaching, 'recipients'>): readonly number[] =>
  recipients.flatMap(({ attempts }, index) =>
    attempts.some((attempt) => answerBy(attempt) === 'confirmed') ? [index] : [],
  );

/** How many were reached: those who have confirmed if a key is asked for, else all who have heard the message. */
export const reachedOf = (known: Reaching): number => {
  if (known.notification.confirm === true) return confirmedBy(known).length;
  return known.recipients.filter((recipient) => {
    const word = finalWord(recipient);
    return word === 'heard' || word === 'confirmed';
  }).length;
};

/** Whether enough were reached: in waves as many as were asked for, else one. */
export const areEnoughReached = (known: Reaching): boolean =>
  areEnough(reachedOf(known), known.notification.confirmationsNeeded);

/** Whether it has reached too few, and was not stopped: for how long that matters is up to {@link needsAttention}. */
export const isShort = (known: Reaching): boolean =>
  known.notification.stoppedAt === undefined && !areEnoughReached(known);

/** Whether somebody has to look at it now. */
export const needsAttention = (known: Reaching, now: number): boolean => {
  const { completedAt } = known.notification;
  return isShort(known) && (completedAt === undefined || now - completedAt < ATTENTION_AFTER_END_MS);
};
