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
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from './notification.ts';
import { type Lines, linesAfter, type QueuedRecipient, queueOf, takenOf, withClaim } from './lines.ts';
import { isOldNews } from './move-attempt.ts';
import { afterEvent, claimed, postponed, type ReachTerms } from './recipient.ts';

export type NotificationEvent =
  /** Of a call. */
  | { readonly kind: 'call'; readonly index: number; readonly attemptId: string; readonly event: AttemptEvent }
  /** Time has passed. */
  | { readonly kind: 'check' }
  /** A false alarm. `by`: the person who stops it, if the request names one. */
  | { readonly kind: 'stop'; readonly by?: string | undefined }
  /** A person handles the alert. */
  | { readonly kind: 'acknowledge'; readonly by: string }
  /** An instance claims lines for the recipients whose turn it is. `others`: the recipients that wait in other notifications. */
  | { readonly kind: 'claim'; readonly others: readonly QueuedRecipient[] };

/** A notification, and the lines if they are known. */
export interface Known {
  readonly known: NotificationCase;
  readonly lines: Lines | undefined;
}

export interface Policy {
  readonly rules: PhoneRules;
  readonly serviceName: string;
  readonly provider: ProviderTerms & { readonly callsPerSecond?: number | undefined };
}

/** How much the arrival of a report, and the speed of a voice, may differ. */
const REPORTS_DIFFER_MS = 2_000;

export const termsOf = ({ notification }: Pick<NotificationCase, 'notification'>, policy: Policy): ReachTerms => {
  const { rules, serviceName, provider } = policy;
  const { createdAt, alertType, confirm } = notification;
  const { unitMs, messageMs } = speakingTimes(serviceName, alertTypeOf(alertType), notification);
  // If the setting became shorter, it applies to waiting recipients too.
  const deadlineAt = Math.min(notification.deadlineAt, createdAt + rules.deadlineMs);
  return { ...rules, confirm, deadlineAt, provider, messageMs, unitMs: unitMs + REPORTS_DIFFER_MS };
};

/**
 * A notification and the lines after an event; the same objects if nothing changed. Without the lines, there is no claim. The caller stores both,
 * and then carries out {@link actionsOf}.
 */
export const step = (
  { known, lines }: Known,
  event: NotificationEvent,
  { policy, newId }: { readonly policy: Policy; readonly newId: () => string },
  moment: Moment,
): Known => {
  if (event.kind === 'claim')
    return lines === undefined ? { known, lines } : claims(known, event.others, lines, { policy, newId }, moment);
  const after = notificationAfter(known, event, policy, moment);
  const result = event.kind === 'call' && 'result' in event.event ? event.event.result : undefined;
  return { known: after, lines: lines && linesAfter(lines, { before: known, after, result }, moment.now) };
};

const notificationAfter = (
  known: NotificationCase,
  event: Exclude<NotificationEvent, { readonly kind: 'claim' }>,
  policy: Policy,
  moment: Moment,
): NotificationCase => {
  switch (event.kind) {
    case 'call': {
      const recipient = known.recipients[event.index];
      if (recipient === undefined) return known;
      const after = afterEvent(recipient, event.attemptId, event.event, termsOf(known, policy), moment);
      return withRecipient(known, event.index, after, moment);
    }
    case 'check':
      return checkedNotification(known, termsOf(known, policy), moment);
    case 'stop':
      return stoppedNotification(known, event.by, moment);
    case 'acknowledge':
      return acknowledged(known, event.by, moment.now);
  }
};

/** The claims of all recipients whose turn it is. The day's calls may be used up, the deadline over, and a number forbidden. */
const claims = (
  before: NotificationCase,
  others: readonly QueuedRecipient[],
  linesBefore: Lines,
  { policy, newId }: { readonly policy: Policy; readonly newId: () => string },
  moment: Moment,
): Known & { readonly lines: Lines } => {
  const { now } = moment;
  const { rules, provider } = policy;
  const terms = termsOf(before, policy);
  let [known, lines] = [before, linesBefore];
  for (;;) {
    const decided = next([...others, ...queueOf(known)], takenOf(lines), lines, rules, now);
    if (decided.kind === 'wait' || decided.who.notificationId !== known.notification.id) return { known, lines };
    const { index, isUrgent } = decided.who;
    const recipient = known.recipients[index];
    if (recipient === undefined) return { known, lines };
    const isOverDayLimit = callsLeft(lines.day, rules.callsPerDay, isUrgent, now) === 0 && now < terms.deadlineAt;
    const attemptId = newId();
    const after = isOverDayLimit
      ? postponed(recipient, endOfDay(now), terms)
      : claimed(recipient, attemptId, terms, moment);
    known = withRecipient(known, index, after, moment);
    if (after.state === 'calling') lines = withClaim(lines, decided.who, attemptId, provider.callsPerSecond, now);
  }
};

/** Whether an event can change nothing, even if this version of the notification is old. */
export const isKnown = (known: NotificationCase, event: NotificationEvent): boolean => {
  const attempt = event.kind === 'call' ? attemptIn(known, event) : undefined;
  return event.kind === 'call' && attempt !== undefined && isOldNews(attempt, event.event);
};

/**
 * An action for the instance whose commit claimed it.
 * - `dial`: send the call request; `speak`: speak the current prompt;
 * - `listen`: wait for keys after the last word, then report `no key`;
 * - `hang up`: end the calls of the attempt.
 */
export interface Action extends AttemptRef {
  readonly kind: 'dial' | 'speak' | 'listen' | 'hang up';
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
      return attempt.talk.quietSince === undefined ? 'speak' : 'listen';
    // A new call of an attempt that is over is hung up, too.
    case 'hanging_up':
    case 'over':
      return 'hang up';
    case 'ringing':
    case 'unexplained':
      return undefined;
  }
};
