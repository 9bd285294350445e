import { hash } from 'node:crypto';
import * as z from 'zod';
import type { NotificationId } from '../model/ids.ts';
import type { CallResult } from '../model/phone-provider.ts';
import type { PhoneNumber } from '../model/phone-number.ts';
import { afterAccepted, afterClaim, afterFault, afterRefusal, pausesSchema } from '../rules/pauses.ts';
import { counted } from '../rules/policy.ts';
import { afterAcceptedCall, providerCheckSchema } from '../rules/provider-check.ts';
import { pausedUntil, type Queued } from '../rules/queue.ts';
import { acceptedAtOf, type Attempt, MAX_ATTEMPT_MS } from './attempt.ts';
import { type AnyCase, isUrgentNotification, type NotificationCase } from './notification.ts';
import { attemptOf } from './recipient.ts';

// The row that all instances share: the row whose version fences every decision to dial. Times are in milliseconds since 1970.

/** One of `CALLS_AT_ONCE` lines, which an attempt has taken. The line and the number are in use until a time. */
const slotSchema = z.object({
  attempt: z.string(),
  /** The recipient that it calls. */
  who: z.string(),
  /** Hashed: this row outlives the number. */
  number: z.string(),
  until: z.number(),
});

export const linesSchema = pausesSchema.extend({
  slots: z.array(slotSchema).readonly(),
  /** The calls of the UTC day. */
  day: z.object({ day: z.string(), calls: z.int() }).optional(),
  check: providerCheckSchema.optional(),
});

export type Lines = Readonly<z.output<typeof linesSchema>>;

export const NO_LINES: Lines = { slots: [] };

/** How long a slot is kept while its call is hung up: three leases, because a process may die at that moment, twice. */
const HANGING_UP_MS = 60_000;
/** A network may release a line this late after the end of a call. */
const RELEASED_AFTER_MS = 1_500;

export interface QueuedRecipient extends Queued {
  readonly notificationId: NotificationId;
}

/** Identifies a recipient among all notifications. */
const whoOf = (id: NotificationId, index: number): string => `${id}/${index}`;

const hashOf = (number: PhoneNumber): string => hash('sha256', number).slice(0, 32);

export const queueOf = ({ notification, recipients }: AnyCase): readonly QueuedRecipient[] =>
  recipients.flatMap((recipient, index) => {
    if (recipient.state !== 'waiting') return [];
    const { dueAt, queuedAt, attempts } = recipient;
    return [
      {
        who: whoOf(notification.id, index),
        notificationId: notification.id,
        number: hashOf(recipient.number),
        isUrgent: isUrgentNotification(notification),
        isCalledAgain: attempts.length > 0,
        position: index,
        queuedAt,
        dueAt,
      },
    ];
  });

/** How many calls of other notifications are open to the numbers of a notification. */
export const busyWithOthers = (
  { notification, recipients }: NotificationCase,
  { slots }: Lines,
  now: number,
): number => {
  const own = new Set(recipients.map(({ number }) => hashOf(number)));
  return slots.filter(({ who, number, until }) => until > now && !who.startsWith(notification.id) && own.has(number))
    .length;
};

/** The lines after a claim: the attempt takes a slot for the longest time that it can last. */
export const withClaim = (
  lines: Lines,
  { who, number }: Queued,
  attempt: string,
  callsPerSecond: number | undefined,
  now: number,
): Lines => {
  const slot = { attempt, who, number, until: now + MAX_ATTEMPT_MS };
  const slots = [...lines.slots.filter(({ until }) => now < until), slot];
  return afterClaim({ ...lines, slots, day: counted(lines.day, 1, now) }, callsPerSecond, now);
};

/** When a recipient that waits may get a line after a change of the lines: a pause has ended, or the next pause or slot ends. */
export const lineFreeAt = (before: Lines, after: Lines, now: number): number | undefined => {
  if (before.pauseUntil !== undefined && after.pauseUntil === undefined) return now;
  const ends = [pausedUntil(after), ...after.slots.map(({ until }) => until)].filter((at) => at > now);
  return ends.length === 0 ? undefined : Math.min(...ends);
};

/**
 * The lines after an event of a notification; the same object only if the event concerns no slot. Otherwise the lines are written even if they look
 * unchanged: this process may remember lines that are older than the slot, and the write then meets a conflict.
 *
 * @param result of a call request that placed no call
 */
export const linesAfter = (
  lines: Lines,
  before: NotificationCase,
  after: NotificationCase,
  now: number,
  result: CallResult = {},
): Lines => {
  let moved = lines;
  for (const [index, recipient] of after.recipients.entries()) {
    const was = before.recipients[index];
    for (const attempt of recipient === was ? [] : (was?.attempts ?? [])) {
      const is = attemptOf(recipient, attempt.id);
      moved =
        is === undefined
          ? afterNotMade(moved, whoOf(after.notification.id, index), attempt, result, now)
          : afterMove(moved, attempt, is, now);
    }
  }
  return moved;
};

/** The lines after a request that placed no call: its slot is free, and it does not count among the calls of the day. */
const afterNotMade = (
  lines: Lines,
  who: string,
  { id }: Attempt,
  { failure, reason, waitMs = 0 }: CallResult,
  now: number,
): Lines => {
  const slots = lines.slots.filter(({ attempt }) => attempt !== id);
  const rest = { ...lines, slots, day: lines.day && counted(lines.day, -1, now) };
  return failure === 'set_up' ? afterFault(rest, reason, now) : afterRefusal(rest, who, waitMs, now);
};

const phaseOf = ({ state }: Attempt): 'open' | 'hanging up' | 'over' =>
  state === 'over' ? 'over' : state === 'hanging_up' ? 'hanging up' : 'open';

const afterMove = (lines: Lines, was: Attempt, is: Attempt, now: number): Lines => {
  const hasNewPhase = phaseOf(was) !== phaseOf(is);
  const moved = hasNewPhase ? withUntil(lines, is.id, untilOf(is, now)) : lines;
  // The provider has accepted the call, or an accepted call is ending: a pause is over.
  const endsPause = acceptedAtOf(is) !== undefined && (acceptedAtOf(was) === undefined || hasNewPhase);
  return endsPause ? withAccepted(moved, now) : moved;
};

/** Until when the slot of an attempt is taken. */
const untilOf = (attempt: Attempt, now: number): number => {
  switch (phaseOf(attempt)) {
    case 'open':
      return attempt.claimedAt + MAX_ATTEMPT_MS;
    case 'hanging up':
      return now + HANGING_UP_MS;
    case 'over':
      return now + RELEASED_AFTER_MS;
  }
};

/** The lines after the end of a call. */
export const withReleased = (lines: Lines, attemptId: string, now: number): Lines =>
  withUntil(lines, attemptId, now + RELEASED_AFTER_MS);

const withUntil = (lines: Lines, attemptId: string, until: number): Lines => ({
  ...lines,
  slots: lines.slots.map((slot) => (slot.attempt === attemptId ? { ...slot, until } : slot)),
});

const withAccepted = (lines: Lines, now: number): Lines => {
  const check = afterAcceptedCall(lines.check, now);
  return check === lines.check ? afterAccepted(lines) : afterAccepted({ ...lines, check });
};
