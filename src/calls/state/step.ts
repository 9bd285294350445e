import { alertTypeOf } from '../model/alert-types.ts';
import type { Destination } from '../model/outcomes.ts';
import { claimedOutbox, type Outbox, type OutboxEntry, putOff, withoutEntries } from './outbox.ts';
import type { AttemptRef } from '../model/ids.ts';
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

/** What happened to a notification. */
export type CaseEvent =
  /** To a call of it. */
  | { readonly kind: 'call'; readonly index: number; readonly attemptId: string; readonly event: AttemptEvent }
  /** It is this recipient's turn. */
  | { readonly kind: 'claim'; readonly index: number; readonly attemptId: string; readonly openThen: number }
  /** It is time to check it. `mayResend`: whose call request may be sent again, by index. */
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

/** How people are called, and in whose name. */
export interface Policy {
  readonly rules: PhoneRules;
  readonly serviceName: string;
  readonly line: LineTerms & Pick<LineLimits, 'callsPerSecond'>;
}

/** What a decision depends on, beside the notification. */
export interface About {
  readonly policy: Policy;
  readonly lines: Lines;
  /** The open calls of all notifications; only for events that {@link needsOpenCalls} names. */
  readonly open: readonly OpenAttempt[];
}

/** What follows from an event: the same objects if nothing changed. What must be done is the difference: see `commandsOf`. */
export interface Decision {
  readonly case: NotificationCase;
  readonly lines: Lines;
  /** The event names an attempt that is not known: its call belongs to another system. */
  readonly isUnknown?: boolean | undefined;
  /** The calls of the day are used up for a claim. */
  readonly isOverDayLimit?: boolean | undefined;
}

/** Start and end of a message may be reported to two instances, whose clocks differ by so much. */
const CLOCKS_DIFFER_MS = 2_000;

/** What the recipients of a notification are called by. */
export const termsOf = ({ notification }: Pick<NotificationCase, 'notification'>, policy: Policy): ReachTerms => {
  const { rules, serviceName, line } = policy;
  const { id, alertType, confirm } = notification;
  const { unitMs, messageMs } = speakingTimes(serviceName, alertTypeOf(alertType), notification);
  // A shorter deadline applies to waiting recipients too.
  const deadlineAt = Math.min(notification.deadlineAt, deadlineOf(id, rules));
  return { ...rules, confirm, deadlineAt, line, messageMs, unitMs: unitMs + CLOCKS_DIFFER_MS };
};

/** The limits of the lines by the policy. */
export const limitsOf = ({ rules: { callsAtOnce }, line: { callsPerSecond } }: Policy): LineLimits => ({
  callsAtOnce,
  callsPerSecond,
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

const decided = (before: NotificationCase, after: NotificationCase, about: About, now: number): Decision => ({
  case: after,
  lines: after === before ? about.lines : linesAfter(about.lines, { before, after, open: about.open }, now),
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
  const { next, notMade } = afterEvent(recipient, attemptId, event, termsOf(known, about.policy), now);
  if (next === recipient) return { case: known, lines: about.lines };
  const after = withRecipient(known, index, next, now);
  const refused = notMade && { index, attempt: notMade };
  const { open } = about;
  return { case: after, lines: linesAfter(about.lines, { before: known, after, notMade: refused, open }, now) };
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
 * What the instance that committed a change must do now.
 * - `dial`: send the call request; `find`: ask the line whether it knows a call of the attempt;
 * - `speak`: speak what the attempt is to say; `wait for keys`: wait, then report `no key`;
 * - `hang up`: end all calls of the attempt.
 */
export type Command = 'dial' | 'find' | 'speak' | 'wait for keys' | 'hang up';

/** A command, and the attempt that it is about. */
export interface CallCommand extends AttemptRef {
  readonly command: Command;
}

/** The commands of a change: the difference of the states is the list. @param before undefined: it is new */
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
      // A message that storage did not know of is being spoken already.
      if (isNewSpeech && is.talk.speech.acceptedAt === undefined) return 'speak';
      return is.talk.quietSince !== undefined && talk?.quietSince === undefined ? 'wait for keys' : undefined;
    }
    case 'hanging_up':
      return was?.state !== 'hanging_up' || was.at !== is.at || was.callIds.length < is.callIds.length
        ? 'hang up'
        : undefined;
    case 'over':
      // Another call of the same request has been found.
      return was !== undefined && !isLive(was) && was.callIds.length < is.callIds.length ? 'hang up' : undefined;
    case 'ringing':
    case 'unexplained':
      return undefined;
  }
};
