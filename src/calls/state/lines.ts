import * as z from 'zod';
import type { AttemptRef, NotificationId } from '../model/ids.ts';
import { counted, type DayCalls } from '../rules/policy.ts';
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
  type QueueState,
  queueStateSchema,
} from '../rules/queue.ts';
import { acceptedAtOf, type Attempt, heldUntil, isLive, talkOf } from './attempt.ts';
import type { NotMade } from './move-attempt.ts';
import { isUrgentNotification, type NotificationCase } from './notification.ts';
import { attemptOf, type ReachTerms } from './recipient.ts';

/** What all instances share beside the notifications, as it is stored. */
export const linesSchema = z.object({
  queue: queueStateSchema,
  /** The calls of the UTC day. */
  day: z.object({ day: z.string(), calls: z.int() }).optional(),
  check: providerCheckSchema.optional(),
});

/** What all instances share beside the notifications: the lines, the day's calls, and the last check of the provider. */
export interface Lines {
  readonly queue: QueueState;
  readonly day?: DayCalls | undefined;
  readonly check?: z.output<typeof providerCheckSchema> | undefined;
}

/** A recipient in the queue. */
export interface QueuedRecipient extends Queued {
  readonly notificationId: NotificationId;
  readonly index: number;
}

/** An open call, and its attempt. */
export type OpenAttempt = OpenCall & AttemptRef;

/** Names a recipient among all notifications. */
export const whoOf = (id: NotificationId, index: number): string => `${id}/${index}`;

/** The recipients of a notification that wait to be dialed. */
export const queueOf = ({ notification, recipients }: NotificationCase): readonly QueuedRecipient[] =>
  recipients.flatMap((recipient, index) => {
    if (recipient.state !== 'waiting') return [];
    const { number, dueAt, queuedAt } = recipient;
    const isUrgent = isUrgentNotification(notification);
    const { id: notificationId } = notification;
    return [
      { who: whoOf(notificationId, index), notificationId, index, number, isUrgent, position: index, queuedAt, dueAt },
    ];
  });

/** The open calls of a notification. */
export const openCallsOf = (
  { notification, recipients }: NotificationCase,
  terms: ReachTerms,
): readonly OpenAttempt[] =>
  recipients.flatMap(({ number, attempts }, index) =>
    attempts.flatMap((attempt) =>
      isLive(attempt)
        ? {
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
          }
        : [],
    ),
  );

/** A change of a notification, as the lines see it. */
export interface CaseChange {
  readonly before: NotificationCase;
  readonly after: NotificationCase;
  /** A call request placed no call: of which recipient, and why. */
  readonly notMade?: { readonly index: number; readonly attempt: NotMade } | undefined;
  /** The open calls of all notifications; only refusals and quick declines need them. */
  readonly open: readonly OpenAttempt[];
}

/** What all instances share after a change; the same object if that is the same. */
export const linesAfter = (lines: Lines, { before, after, notMade, open }: CaseChange, now: number): Lines => {
  const { notification } = after;
  const isUrgent = isUrgentNotification(notification);
  const refused = notMade === undefined ? lines : afterNotMade(lines, notMade, notification.id, open, now);
  return after.recipients.reduce<Lines>((known, recipient, index) => {
    const was = before.recipients[index];
    if (was === undefined || recipient === was) return known;
    return recipient.attempts.reduce<Lines>((shared, attempt) => {
      const earlier = attemptOf(was, attempt.id);
      const others = open.filter(({ attemptId }) => attemptId !== attempt.id);
      return earlier === undefined || earlier === attempt
        ? shared
        : afterMove(shared, earlier, attempt, { who: whoOf(notification.id, index), isUrgent, others }, now);
    }, known);
  }, refused);
};

const afterNotMade = (
  lines: Lines,
  { index, attempt: { failure, result } }: NonNullable<CaseChange['notMade']>,
  id: NotificationId,
  open: readonly OpenAttempt[],
  now: number,
): Lines => {
  const who = whoOf(id, index);
  // Nobody was called.
  const day = lines.day && counted(lines.day, -1, now);
  if (failure === 'set_up') return { ...lines, day, queue: afterFault(lines.queue, result.reason, now) };
  const others = open.filter((call) => call.who !== who);
  const refusal = { who, isSure: failure === 'capacity', waitMs: result.waitMs };
  return { ...lines, day, queue: afterRefusal(lines.queue, refusal, others, now) };
};

const afterMove = (
  lines: Lines,
  was: Attempt,
  is: Attempt,
  {
    who,
    isUrgent,
    others,
  }: { readonly who: string; readonly isUrgent: boolean; readonly others: readonly OpenAttempt[] },
  now: number,
): Lines => {
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
