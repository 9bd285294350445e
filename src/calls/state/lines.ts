import * as z from 'zod';
import type { AttemptRef, NotificationId } from '../model/ids.ts';
import type { CallResult } from '../model/phone-line.ts';
import { counted } from '../rules/policy.ts';
import { afterAcceptedCall, providerCheckSchema } from '../rules/provider-check.ts';
import {
  afterAccepted,
  afterEnd,
  afterFault,
  afterQuickDecline,
  afterRefusal,
  isQuickDecline,
  type OpenCall,
  type Queued,
  queueStateSchema,
} from '../rules/queue.ts';
import { acceptedAtOf, type Attempt, heldUntil, isLive, talkOf } from './attempt.ts';
import { isUrgentNotification, type NotificationCase } from './notification.ts';
import { attemptOf, type ReachTerms } from './recipient.ts';

/** The state that all instances share, as it is stored. */
export const linesSchema = z.object({
  queue: queueStateSchema,
  /** The calls of the UTC day. */
  day: z.object({ day: z.string(), calls: z.int() }).optional(),
  check: providerCheckSchema.optional(),
});

/** The state that all instances share: the lines, the calls of the day, and the last check of the provider. */
export type Lines = Readonly<z.output<typeof linesSchema>>;

/** A recipient in the queue. */
export interface QueuedRecipient extends Queued {
  readonly notificationId: NotificationId;
  readonly index: number;
}

/** An open call, and its attempt. */
export type OpenAttempt = OpenCall & AttemptRef;

/** Identifies a recipient among all notifications. */
export const whoOf = (id: NotificationId, index: number): string => `${id}/${index}`;

/** The recipients of a notification that wait to be dialed. */
export const queueOf = ({ notification, recipients }: NotificationCase): readonly QueuedRecipient[] =>
  recipients.flatMap((recipient, index) => {
    if (recipient.state !== 'waiting') return [];
    const { number, dueAt, queuedAt } = recipient;
    const isUrgent = isUrgentNotification(notification);
    const { id: notificationId } = notification;
    const who = whoOf(notificationId, index);
    return [{ who, notificationId, index, number, isUrgent, position: index, queuedAt, dueAt }];
  });

/** The open calls of a notification. */
export const openCallsOf = (
  { notification, recipients }: NotificationCase,
  terms: ReachTerms,
): readonly OpenAttempt[] =>
  recipients.flatMap(({ number, attempts }, index) =>
    attempts.filter(isLive).map((attempt) => ({
      who: whoOf(notification.id, index),
      notificationId: notification.id,
      index,
      attemptId: attempt.id,
      number,
      isUrgent: isUrgentNotification(notification),
      claimedAt: attempt.claimedAt,
      acceptedAt: acceptedAtOf(attempt),
      answeredAt: talkOf(attempt)?.answeredAt,
      isEnding: attempt.state === 'hanging_up',
      heldUntil: heldUntil(attempt, terms),
    })),
  );

/** A change of a notification, as the lines see it. */
export interface CaseChange {
  readonly before: NotificationCase;
  readonly after: NotificationCase;
  /** Of the event that caused it. */
  readonly result?: CallResult | undefined;
  /** The open calls of all notifications; only refusals and quick declines need them. */
  readonly open: readonly OpenAttempt[];
}

/** The shared state after a change; the same object if it is the same. */
export const linesAfter = (lines: Lines, { before, after, result = {}, open }: CaseChange, now: number): Lines => {
  const isUrgent = isUrgentNotification(after.notification);
  return after.recipients.reduce<Lines>((known, recipient, index) => {
    const was = before.recipients[index];
    if (was === undefined || recipient === was) return known;
    const who = whoOf(after.notification.id, index);
    // A request that placed no call is removed.
    if (recipient.attempts.length < was.attempts.length) return afterNotMade(known, who, result, open, now);
    return recipient.attempts.reduce<Lines>((shared, attempt) => {
      const earlier = attemptOf(was, attempt.id);
      if (earlier === undefined || earlier === attempt) return shared;
      const others = open.filter(({ attemptId }) => attemptId !== attempt.id);
      return afterMove(shared, { was: earlier, is: attempt, who, isUrgent, others }, now);
    }, known);
  }, lines);
};

const afterNotMade = (
  lines: Lines,
  who: string,
  { failure, reason, waitMs }: CallResult,
  open: readonly OpenAttempt[],
  now: number,
): Lines => {
  const day = lines.day && counted(lines.day, -1, now);
  if (failure === 'set_up') return { ...lines, day, queue: afterFault(lines.queue, reason, now) };
  const others = open.filter((call) => call.who !== who);
  return {
    ...lines,
    day,
    queue: afterRefusal(lines.queue, { who, isSure: failure === 'capacity', waitMs }, others, now),
  };
};

/** A change of an attempt. */
interface Move {
  readonly was: Attempt;
  readonly is: Attempt;
  readonly who: string;
  readonly isUrgent: boolean;
  readonly others: readonly OpenAttempt[];
}

const afterMove = (lines: Lines, { was, is, who, isUrgent, others }: Move, now: number): Lines => {
  const acceptedAt = acceptedAtOf(is);
  if (acceptedAt === undefined) return lines;
  const accepted = acceptedAtOf(was) === undefined ? withAccepted(lines, now) : lines;
  if (!isLive(was) || isLive(is)) return accepted;
  const { claimedAt, openThen, endedAt } = is;
  const queue = afterEnd(accepted.queue, { isUrgent, claimedAt, acceptedAt, answeredAt: talkOf(is)?.answeredAt }, now);
  const isQuick = is.outcome === 'declined' && isQuickDecline({ acceptedAt, endedAt, openThen });
  return { ...accepted, queue: isQuick ? afterQuickDecline(queue, who, others, now) : queue };
};

const withAccepted = (lines: Lines, now: number): Lines => {
  const queue = afterAccepted(lines.queue);
  const check = afterAcceptedCall(lines.check, now);
  return queue === lines.queue && check === lines.check ? lines : { ...lines, queue, check };
};
