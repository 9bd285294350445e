import { alertTypeOf } from '../model/alert-types.ts';
import type { Destination } from '../model/outcomes.ts';
import { claimedOutbox, type Outbox, type OutboxEntry, putOff, withoutEntries } from './outbox.ts';
import type { AttemptRef } from '../model/ids.ts';
import type { CallResult } from '../model/phone-line.ts';
import { speakingTimes } from '../rules/message.ts';
import { callsLeft, counted, deadlineOf, endOfDay, type PhoneRules } from '../rules/policy.ts';
import { afterClaim, type LineLimits } from '../rules/queue.ts';
import { type Attempt, type AttemptEvent, isLive, type LineTerms } from './attempt.ts';
import { type Lines, linesAfter, type OpenAttempt } from './lines.ts';
import {
  acknowledged,
  isUrgentNotification,
  lookedAt,
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from './notification.ts';
import { afterEvent, attemptOf, claimed, postponed, type ReachTerms } from './recipient.ts';

/** An event of a notification. */
export type CaseEvent =
  /** Of a call. */
  | { readonly kind: 'call'; readonly index: number; readonly attemptId: string; readonly event: AttemptEvent }
  /** An instance claims to dial this recipient. */
  | { readonly kind: 'claim'; readonly index: number; readonly attemptId: string; readonly openThen: number }
  /** A check is due. `mayResend`: whether the call request of a recipient may be retried, by index. */
  | { readonly kind: 'look'; readonly mayResend: (index: number) => boolean }
  | { readonly kind: 'stop' }
  /** A person handles the alert. */
  | { readonly kind: 'acknowledge'; readonly by: string }
  /** An instance claims to publish to a destination. */
  | { readonly kind: 'publish'; readonly to: Destination }
  /** These entries are published, or too old. `isRefused`: the destination did not take the others. */
  | {
      readonly kind: 'published';
      readonly to: Destination;
      readonly entries: readonly OutboxEntry[];
      readonly isRefused: boolean;
    };

/** How people are called. */
export interface Policy {
  readonly rules: PhoneRules;
  readonly serviceName: string;
  readonly line: LineTerms & Pick<LineLimits, 'callsPerSecond'>;
}

/** The context of a decision. */
export interface About {
  readonly policy: Policy;
  readonly lines: Lines;
  /** The open calls of all notifications; only for events that {@link needsOpenCalls} names. */
  readonly open: readonly OpenAttempt[];
}

/** The state after an event: the same objects if nothing changed. `commandsOf` derives the commands from the difference. */
export interface Decision {
  readonly case: NotificationCase;
  readonly lines: Lines;
  /** There is no attempt of this id: the call belongs to another system. */
  readonly isUnknown?: boolean | undefined;
  /** A claim has failed because the calls of the day are used up. */
  readonly isOverDayLimit?: boolean | undefined;
}

/** The largest difference of the clocks of two instances, to which the line reports start and end of a message. */
const CLOCKS_DIFFER_MS = 2_000;

export const termsOf = ({ notification }: Pick<NotificationCase, 'notification'>, policy: Policy): ReachTerms => {
  const { rules, serviceName, line } = policy;
  const { id, alertType, confirm } = notification;
  const { unitMs, messageMs } = speakingTimes(serviceName, alertTypeOf(alertType), notification);
  // If the setting became shorter, it applies to waiting recipients too.
  const deadlineAt = Math.min(notification.deadlineAt, deadlineOf(id, rules));
  return { ...rules, confirm, deadlineAt, line, messageMs, unitMs: unitMs + CLOCKS_DIFFER_MS };
};

export const limitsOf = ({ rules: { callsAtOnce }, line: { callsPerSecond } }: Policy): LineLimits => ({
  callsAtOnce,
  callsPerSecond,
});

/** Whether a decision needs the open calls of all notifications: after a refusal and after a decline, which may be a refusal. */
export const needsOpenCalls = (event: CaseEvent): boolean => {
  if (event.kind !== 'call' || !('result' in event.event)) return false;
  const failure = event.event.result?.failure;
  return failure === 'capacity' || failure === 'declined';
};

/** Decides about an event. The caller commits the decision, and carries out the commands only after that. */
export const step = (known: NotificationCase, event: CaseEvent, about: About, now: number): Decision => {
  const { policy, lines } = about;
  switch (event.kind) {
    case 'call':
      return afterCallEvent(known, event, about, now);
    case 'claim':
      return afterTurn(known, event, about, now);
    case 'look':
      return decided(known, lookedAt(known, event.mayResend, termsOf(known, policy), now), about, now);
    case 'stop':
      return decided(known, stoppedNotification(known, now), about, now);
    case 'acknowledge':
      return { case: acknowledged(known, event.by, now), lines };
    case 'publish':
      return { case: withOutbox(known, claimedOutbox(known.outbox, event.to, now)), lines };
    case 'published': {
      const rest = withoutEntries(known.outbox, event.to, event.entries);
      return { case: withOutbox(known, event.isRefused ? putOff(rest, event.to, now) : rest), lines };
    }
  }
};

const decided = (
  before: NotificationCase,
  after: NotificationCase,
  { lines, open }: About,
  now: number,
  result?: CallResult,
): Decision => ({
  case: after,
  lines: after === before ? lines : linesAfter(lines, { before, after, result, open }, now),
});

const withOutbox = (known: NotificationCase, outbox: Outbox): NotificationCase =>
  outbox === known.outbox ? known : { ...known, outbox };

type EventOf<Kind extends CaseEvent['kind']> = Extract<CaseEvent, { kind: Kind }>;

const afterCallEvent = (known: NotificationCase, one: EventOf<'call'>, about: About, now: number): Decision => {
  const { index, attemptId, event } = one;
  const recipient = known.recipients[index];
  if (recipient === undefined || attemptOf(recipient, attemptId) === undefined) {
    return { case: known, lines: about.lines, isUnknown: true };
  }
  const next = afterEvent(recipient, attemptId, event, termsOf(known, about.policy), now);
  const after = next === recipient ? known : withRecipient(known, index, next, now);
  return decided(known, after, about, now, 'result' in event ? event.result : undefined);
};

const afterTurn = (
  known: NotificationCase,
  turn: EventOf<'claim'>,
  { policy, lines }: About,
  now: number,
): Decision => {
  const recipient = known.recipients[turn.index];
  if (recipient?.state !== 'waiting') return { case: known, lines };
  const terms = termsOf(known, policy);
  const left = callsLeft(lines.day, policy.rules.callsPerDay, isUrgentNotification(known.notification), now);
  const isOverDayLimit = left === 0 && now < terms.deadlineAt;
  const next = isOverDayLimit ? postponed(recipient, endOfDay(now), terms) : claimed(recipient, turn, terms, now);
  const after = withRecipient(known, turn.index, next, now);
  if (next.state !== 'calling') return { case: after, lines, isOverDayLimit };
  const queue = afterClaim(lines.queue, limitsOf(policy), now);
  return { case: after, lines: { ...lines, queue, day: counted(lines.day, 1, now) } };
};

/**
 * A command for the instance that committed a change.
 * - `dial`: send the call request; `find`: search the line's list for a call of the attempt;
 * - `speak`: speak the current speech; `wait for keys`: wait, then report `no key`;
 * - `hang up`: end all calls of the attempt.
 */
export type Command = 'dial' | 'find' | 'speak' | 'wait for keys' | 'hang up';

/** A command, and its attempt. */
export interface CallCommand extends AttemptRef {
  readonly command: Command;
}

/** The commands of a change: the difference of its states. @param before undefined: the notification is new */
export const commandsOf = (
  before: NotificationCase | undefined,
  after: NotificationCase,
  line: LineTerms,
): readonly CallCommand[] =>
  after.recipients.flatMap((recipient, index) => {
    const was = before?.recipients[index];
    if (recipient === was) return [];
    return recipient.attempts.flatMap((attempt): readonly CallCommand[] => {
      const command = commandOf(was && attemptOf(was, attempt.id), attempt, line);
      return command === undefined
        ? []
        : [{ command, notificationId: after.notification.id, index, attemptId: attempt.id }];
    });
  });

const commandOf = (was: Attempt | undefined, is: Attempt, { speaksByItself }: LineTerms): Command | undefined => {
  if (was === is) return undefined;
  switch (is.state) {
    case 'claimed':
      if (was?.state !== 'claimed' || was.sentAt !== is.sentAt) return 'dial';
      return is.soughtAt !== undefined && is.soughtAt !== was.soughtAt ? 'find' : undefined;
    case 'speaking': {
      if (speaksByItself) return undefined;
      const talk = was?.state === 'speaking' ? was.talk : undefined;
      const isNewSpeech =
        talk?.speech.number !== is.talk.speech.number || talk.speech.askedAt !== is.talk.speech.askedAt;
      // Without storage, an instance has started to speak already.
      if (isNewSpeech && is.talk.speech.acceptedAt === undefined) return 'speak';
      return is.talk.quietSince !== undefined && talk?.quietSince === undefined ? 'wait for keys' : undefined;
    }
    case 'hanging_up':
      return was?.state !== 'hanging_up' || was.at !== is.at || was.callIds.length < is.callIds.length
        ? 'hang up'
        : undefined;
    case 'over':
      // A second call of the same request has appeared.
      return was !== undefined && !isLive(was) && was.callIds.length < is.callIds.length ? 'hang up' : undefined;
    case 'ringing':
    case 'unexplained':
      return undefined;
  }
};
