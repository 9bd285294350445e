import { alertTypeOf } from '../model/alert-types.ts';
import type { AttemptRef } from '../model/ids.ts';
import { speakingTimes } from '../rules/message.ts';
import type { PhoneRules } from '../rules/policy.ts';
import type { Attempt, AttemptEvent, Moment, ProviderTerms } from './attempt.ts';
import {
  acknowledged,
  attemptIn,
  checkedNotification,
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from './notification.ts';
import { isOldNews } from './move-attempt.ts';
import { afterEvent, type ReachTerms } from './recipient.ts';

export type NotificationEvent =
  /** Of a call. */
  | { readonly kind: 'call'; readonly index: number; readonly attemptId: string; readonly event: AttemptEvent }
  /** Time has passed. */
  | { readonly kind: 'check' }
  /** A false alarm. `by`: who says so, if that is known. */
  | { readonly kind: 'stop'; readonly by?: string | undefined }
  /** A person handles the alert. */
  | { readonly kind: 'acknowledge'; readonly by: string };

export interface Policy {
  readonly rules: PhoneRules;
  readonly serviceName: string;
  readonly provider: ProviderTerms & { readonly callsPerSecond?: number | undefined };
}

/** The arrival of a report, and the speed of a voice, differ so much. */
const REPORTS_DIFFER_MS = 2_000;

export const termsOf = ({ notification }: Pick<NotificationCase, 'notification'>, policy: Policy): ReachTerms => {
  const { rules, serviceName, provider } = policy;
  const { createdAt, alertType, confirm } = notification;
  const { unitMs, messageMs } = speakingTimes(serviceName, alertTypeOf(alertType), notification);
  // If the setting became shorter, it applies to waiting recipients too.
  const deadlineAt = Math.min(notification.deadlineAt, createdAt + rules.deadlineMs);
  return { ...rules, confirm, deadlineAt, provider, messageMs, unitMs: unitMs + REPORTS_DIFFER_MS };
};

/** A notification after an event; the same object if nothing changed. The caller stores it, and then carries out {@link actionsOf}. */
export const step = (
  known: NotificationCase,
  event: NotificationEvent,
  policy: Policy,
  moment: Moment,
): NotificationCase => {
  switch (event.kind) {
    case 'call': {
      const recipient = known.recipients[event.index];
      if (recipient === undefined) return known;
      const next = afterEvent(recipient, event.attemptId, event.event, termsOf(known, policy), moment);
      return withRecipient(known, event.index, next, moment);
    }
    case 'check':
      return checkedNotification(known, termsOf(known, policy), moment);
    case 'stop':
      return stoppedNotification(known, event.by, moment);
    case 'acknowledge':
      return acknowledged(known, event.by, moment.now);
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
