import { alertTypeOf } from '../model/alert-types.ts';
import { callsLeft, counted, endOfDay } from '../rules/day-limit.ts';
import { speakingTimes } from '../rules/message.ts';
import { deadlineOf, type PhoneRules } from '../rules/policy.ts';
import { afterClaim, type LineLimits } from '../rules/queue.ts';
import type { AttemptEvent, LineTerms } from './attempt.ts';
import { acknowledged } from './attention.ts';
import { type Lines, linesAfter, type OpenAttempt } from './lines.ts';
import type { NotMade } from './move-attempt.ts';
import {
  attemptIn,
  isUrgentNotification,
  lookedAt,
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from './notification.ts';
import { afterEvent, claimed, postponed, type ReachTerms } from './recipient.ts';

/** What happened to a notification. */
export type CaseEvent =
  /** To a call of it. */
  | { readonly kind: 'call'; readonly index: number; readonly attemptId: string; readonly event: AttemptEvent }
  /** It is this recipient's turn. */
  | { readonly kind: 'claim'; readonly index: number; readonly attemptId: string; readonly openThen: number }
  /** It is time to check it. `mayResend`: whose call request may be sent again, by index. */
  | { readonly kind: 'look'; readonly mayResend: (index: number) => boolean }
  | { readonly kind: 'stop' }
  /** Somebody has it in hand. */
  | { readonly kind: 'acknowledge'; readonly by: string };

/** How people are called, and in whose name. */
export interface Policy {
  readonly rules: PhoneRules;
  readonly serviceName: string;
  /** The line that is used. */
  readonly line: LineTerms & Pick<LineLimits, 'callsPerSecond'>;
}

/** What a decision depends on, beside the notification. */
export interface About {
  readonly policy: Policy;
  readonly lines: Lines;
  /** The open calls of all notifications; only for events that {@link needsOpenCalls} names. */
  readonly open: readonly OpenAttempt[];
}

/** What follows from an event. What must be done is the difference of the states: see `commands.ts`. */
export interface Decision {
  /** The same object if nothing changed. */
  readonly case: NotificationCase;
  /** The same object if nothing changed. */
  readonly lines: Lines;
  /** The event names an attempt that is not known: its call belongs to another system. */
  readonly isUnknown?: boolean | undefined;
  /** The calls of the day are used up for a claim. */
  readonly isOverDayLimit?: boolean | undefined;
}

/** Start and end of a message may be reported to two instances, whose clocks differ by so much. */
const CLOCKS_DIFFER_MS = 2_000;

/** What the recipients of a notification are called by. */
export const termsOf = (
  { notification }: Pick<NotificationCase, 'notification'>,
  { rules, serviceName, line }: Policy,
): ReachTerms => {
  const { attempts, retryMs, ringMs, allowedPrefixes } = rules;
  const { id, alertType, confirm } = notification;
  const { unitMs, messageMs } = speakingTimes(serviceName, alertTypeOf(alertType), notification);
  // A shorter deadline applies to waiting recipients too.
  const deadlineAt = Math.min(notification.deadlineAt, deadlineOf(id, rules));
  return {
    attempts,
    retryMs,
    ringMs,
    confirm,
    deadlineAt,
    allowedPrefixes,
    line,
    messageMs,
    unitMs: unitMs + CLOCKS_DIFFER_MS,
  };
};

/** The limits of the lines by the policy. */
export const limitsOf = ({ rules, line }: Policy): LineLimits => ({
  callsAtOnce: rules.callsAtOnce,
  callsPerSecond: line.callsPerSecond,
});

/** Whether a decision needs the open calls of all notifications: after a refusal, and after a decline that may be one. */
export const needsOpenCalls = (event: CaseEvent): boolean => {
  if (event.kind !== 'call' || !('result' in event.event)) return false;
  const failure = event.event.result?.failure;
  return failure === 'capacity' || failure === 'declined';
};

/** All that follows from an event: the one decision about a notification. The caller commits it, and only then does what it asks for. */
export const step = (known: NotificationCase, event: CaseEvent, about: About, now: number): Decision => {
  const { policy, lines } = about;
  switch (event.kind) {
    case 'call':
      return afterCallEvent(known, event, about, now);
    case 'claim':
      return afterTurn(known, event, about, now);
    case 'look':
      return changed(known, lookedAt(known, event.mayResend, termsOf(known, policy), now), about, now);
    case 'stop':
      return changed(known, stoppedNotification(known, now), about, now);
    case 'acknowledge':
      return { case: acknowledged(known, event.by, now), lines };
  }
};

const changed = (
  before: NotificationCase,
  after: NotificationCase,
  { lines, open }: About,
  now: number,
  notMade?: { readonly index: number; readonly attempt: NotMade },
): Decision =>
  after === before
    ? { case: before, lines }
    : { case: after, lines: linesAfter(lines, { before, after, notMade, open }, now) };

const afterCallEvent = (
  known: NotificationCase,
  { index, attemptId, event }: Extract<CaseEvent, { kind: 'call' }>,
  about: About,
  now: number,
): Decision => {
  const recipient = known.recipients[index];
  if (
    recipient === undefined ||
    attemptIn(known, { notificationId: known.notification.id, index, attemptId }) === undefined
  ) {
    return { case: known, lines: about.lines, isUnknown: true };
  }
  const { next, notMade } = afterEvent(recipient, attemptId, event, termsOf(known, about.policy), now);
  const after = next === recipient ? known : withRecipient(known, index, next, now);
  return changed(known, after, about, now, notMade && { index, attempt: notMade });
};

const afterTurn = (
  known: NotificationCase,
  { index, attemptId, openThen }: Extract<CaseEvent, { kind: 'claim' }>,
  { policy, lines }: About,
  now: number,
): Decision => {
  const recipient = known.recipients[index];
  const unchanged = { case: known, lines };
  if (recipient?.state !== 'waiting') return unchanged;
  const terms = termsOf(known, policy);
  const isOverDayLimit =
    callsLeft(lines.day, policy.rules.callsPerDay, isUrgentNotification(known.notification), now) === 0;
  if (isOverDayLimit && now < terms.deadlineAt) {
    const later = postponed(recipient, endOfDay(now), terms);
    return { ...unchanged, case: withRecipient(known, index, later, now), isOverDayLimit };
  }
  const next = claimed(recipient, { attemptId, openThen }, terms, now);
  const after = withRecipient(known, index, next, now);
  if (next.state !== 'calling') return { ...unchanged, case: after };
  const claimedLines = {
    ...lines,
    queue: afterClaim(lines.queue, limitsOf(policy), now),
    day: counted(lines.day, 1, now),
  };
  return { case: after, lines: claimedLines };
};
