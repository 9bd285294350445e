import { alertTypeOf } from '../model/alert-types.ts';
import type { AttemptRef } from '../model/ids.ts';
import { speakingTimes } from '../rules/message.ts';
import { callsLeft, endOfDay, type PhoneRules } from '../rules/policy.ts';
import { next } from '../rules/queue.ts';
import type { Attempt, AttemptEvent, Moment, ProviderTerms } from './attempt.ts';
import {
  acknowledged,
  attemptIn,
  checkedNotification,
  isStopped,
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from './notification.ts';
import { type Lines, linesAfter, type QueuedRecipient, queueOf, withClaim } from './lines.ts';
import { isRepeat } from './move-attempt.ts';
import { afterEvent, claimed, postponed, type ReachTerms } from './recipient.ts';

export type NotificationEvent =
  /** An event of a call. */
  | { readonly kind: 'call'; readonly index: number; readonly attemptId: string; readonly event: AttemptEvent }
  /** Time has passed. */
  | { readonly kind: 'check' }
  /** A false alarm. `by`: the person who stops it, if the request names one. */
  | { readonly kind: 'stop'; readonly by?: string | undefined }
  /** A person handles the alert. */
  | { readonly kind: 'acknowledge'; readonly by: string }
  /** An instance claims lines for the recipients whose turn it is. `others`: the recipients that wait in other notifications. */
  | { readonly kind: 'claim'; readonly others: readonly QueuedRecipient[] };

/** The two documents that an event may change. */
export interface Documents {
  readonly live: NotificationCase;
  readonly lines: Lines;
}

export interface Policy {
  readonly rules: PhoneRules;
  readonly serviceName: string;
  readonly provider: ProviderTerms & { readonly callsPerSecond?: number | undefined };
}

/** The tolerance for late reports and for the speed of voices. */
const REPORTS_DIFFER_MS = 2_000;

export const termsOf = ({ notification }: Pick<NotificationCase, 'notification'>, policy: Policy): ReachTerms => {
  const { rules, serviceName, provider } = policy;
  const { createdAt, alertType, confirm } = notification;
  const { unitMs, messageMs } = speakingTimes(serviceName, alertTypeOf(alertType), notification);
  // If the setting became shorter, it applies to waiting recipients too.
  const deadlineAt = Math.min(notification.deadlineAt, createdAt + rules.deadlineMs);
  return {
    ...rules,
    confirm,
    isStopped: isStopped(notification),
    deadlineAt,
    provider,
    messageMs,
    unitMs: unitMs + REPORTS_DIFFER_MS,
  };
};

interface Means {
  readonly policy: Policy;
  readonly newId: () => string;
}

/** A notification and the lines after an event; the same objects if nothing changed. The caller stores both, and then carries out {@link actionsOf}. */
export const step = (
  { live: before, lines }: Documents,
  event: NotificationEvent,
  { policy, newId }: Means,
  moment: Moment,
): Documents => {
  if (event.kind === 'claim') return claims({ live: before, lines }, event.others, { policy, newId }, moment);
  const live = notificationAfter(before, event, policy, moment);
  const result = event.kind === 'call' && 'result' in event.event ? event.event.result : undefined;
  return { live, lines: linesAfter(lines, before, live, moment.now, result) };
};

const notificationAfter = (
  live: NotificationCase,
  event: Exclude<NotificationEvent, { readonly kind: 'claim' }>,
  policy: Policy,
  moment: Moment,
): NotificationCase => {
  switch (event.kind) {
    case 'call': {
      const recipient = live.recipients[event.index];
      if (recipient === undefined) return live;
      const after = afterEvent(recipient, event.attemptId, event.event, termsOf(live, policy), moment);
      return withRecipient(live, event.index, after, moment);
    }
    case 'check':
      return checkedNotification(live, termsOf(live, policy), moment);
    case 'stop':
      return stoppedNotification(live, event.by, moment);
    case 'acknowledge':
      return acknowledged(live, event.by, moment.now);
  }
};

/**
 * The claims of all recipients whose turn it is. Some recipients get no call: the calls of the day are used up, the deadline is over, or the number
 * is forbidden.
 */
const claims = (
  before: Documents,
  others: readonly QueuedRecipient[],
  { policy, newId }: Means,
  moment: Moment,
): Documents => {
  const { now } = moment;
  const { rules, provider } = policy;
  const terms = termsOf(before.live, policy);
  let { live, lines } = before;
  for (;;) {
    const decided = next([...others, ...queueOf(live)], lines.slots, lines, rules, now);
    if (decided.kind === 'wait') return { live, lines };
    const { recipient: queued } = decided;
    const { notificationId, position: index, isUrgent } = queued;
    if (notificationId !== live.notification.id) return { live, lines };
    const recipient = live.recipients[index];
    if (recipient === undefined) return { live, lines };
    const isOverDayLimit = callsLeft(lines.day, rules.callsPerDay, isUrgent, now) === 0 && now < terms.deadlineAt;
    const attemptId = newId();
    const after = isOverDayLimit
      ? postponed(recipient, endOfDay(now), terms)
      : claimed(recipient, attemptId, terms, moment);
    live = withRecipient(live, index, after, moment);
    if (after.state === 'calling') lines = withClaim(lines, queued, attemptId, provider.callsPerSecond, now);
  }
};

/** Whether an event certainly changes nothing, even if this copy of the notification is old: {@link isRepeat}. */
export const isRepeatIn = (live: NotificationCase, event: NotificationEvent): boolean => {
  const attempt = event.kind === 'call' ? attemptIn(live, event) : undefined;
  return event.kind === 'call' && attempt !== undefined && isRepeat(attempt, event.event);
};

/**
 * An action for the instance whose commit claimed it.
 * - `dial`: send the call request; `speak`: speak the current prompt;
 * - `wait for keys`: after the last word; then report `no key`;
 * - `hang up`: end the calls of the attempt.
 */
export interface Action extends AttemptRef {
  readonly kind: 'dial' | 'speak' | 'wait for keys' | 'hang up';
}

/** The actions that a commit claimed and that are still in progress. */
export const actionsOf = ({ notification, recipients }: NotificationCase, commit: string): readonly Action[] =>
  recipients.flatMap(({ attempts }, index) =>
    attempts.flatMap((attempt): readonly Action[] => {
      const kind = attempt.action?.commit === commit ? actionIn(attempt) : undefined;
      return kind === undefined ? [] : [{ kind, notificationId: notification.id, index, attemptId: attempt.id }];
    }),
  );

const actionIn = (attempt: Attempt): Action['kind'] | undefined => {
  switch (attempt.state) {
    case 'claimed':
      return 'dial';
    case 'speaking':
      return attempt.talk.quietSince === undefined ? 'speak' : 'wait for keys';
    // A new call of an attempt that is over is hung up, too.
    case 'hanging_up':
    case 'over':
      return 'hang up';
    case 'ringing':
    case 'unexplained':
      return undefined;
  }
};
