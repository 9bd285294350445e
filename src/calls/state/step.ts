import * as z from 'zod';
import { alertTypeOf } from '../model/alert-types.ts';
import type { AttemptRef, NotificationId } from '../model/ids.ts';
import type { Destination } from '../model/outcomes.ts';
import type { CallResult } from '../model/phone-provider.ts';
import { speakingTimes } from '../rules/message.ts';
import { callsLeft, counted, endOfDay, type PhoneRules } from '../rules/policy.ts';
import { afterAcceptedCall, providerCheckSchema } from '../rules/provider-check.ts';
import {
  afterAccepted,
  afterClaim,
  afterEnd,
  afterFault,
  afterQuickDecline,
  afterRefusal,
  isQuickDecline,
  type LineLimits,
  type OpenCall,
  type Queued,
  queueStateSchema,
} from '../rules/queue.ts';
import { acceptedAtOf, type Attempt, type AttemptEvent, heldUntil, isLive, type LineTerms, talkOf } from './attempt.ts';
import {
  acknowledged,
  claimedOutbox,
  isUrgentNotification,
  lookedAt,
  type NotificationCase,
  type Outbox,
  type OutboxEntry,
  putOff,
  stoppedNotification,
  withoutEntries,
  withRecipient,
} from './notification.ts';
import { afterEvent, attemptOf, claimed, isFinal, postponed, type ReachTerms } from './recipient.ts';

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

export interface Policy {
  readonly rules: PhoneRules;
  readonly serviceName: string;
  readonly line: LineTerms & Pick<LineLimits, 'callsPerSecond'>;
}

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
/** The newest acknowledgements are kept: their number has no bound, the size of a row has. */
const MOST_ACKNOWLEDGED = 20;

export const termsOf = ({ notification }: Pick<NotificationCase, 'notification'>, policy: Policy): ReachTerms => {
  const { rules, serviceName, line } = policy;
  const { createdAt, alertType, confirm } = notification;
  const { unitMs, messageMs } = speakingTimes(serviceName, alertTypeOf(alertType), notification);
  // If the setting became shorter, it applies to waiting recipients too.
  const deadlineAt = Math.min(notification.deadlineAt, createdAt + rules.deadlineMs);
  return { ...rules, confirm, deadlineAt, line, messageMs, unitMs: unitMs + CLOCKS_DIFFER_MS };
};

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

/** A decision, with the shared state after it; the same object if it is the same. @param result of the event */
const decided = (
  before: NotificationCase,
  after: NotificationCase,
  { lines, open }: About,
  now: number,
  result: CallResult = {},
): Decision => {
  const { notification, recipients } = after;
  const isUrgent = isUrgentNotification(notification);
  const shared = recipients.reduce<Lines>((known, recipient, index) => {
    const was = before.recipients[index];
    if (was === undefined || recipient === was) return known;
    const who = whoOf(notification.id, index);
    // A request that placed no call is removed.
    if (recipient.attempts.length < was.attempts.length) return afterNotMade(known, who, result, open, now);
    return recipient.attempts.reduce<Lines>((next, attempt) => {
      const earlier = attemptOf(was, attempt.id);
      if (earlier === undefined || earlier === attempt) return next;
      const others = open.filter(({ attemptId }) => attemptId !== attempt.id);
      return afterMove(next, { was: earlier, is: attempt, who, isUrgent, others }, now);
    }, known);
  }, lines);
  return { case: after, lines: shared };
};

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
  const queue = afterClaim(lines.queue, policy.line, now);
  return { case: after, lines: { ...lines, queue, day: counted(lines.day, 1, now) } };
};

/**
 * A command for the instance that committed a change.
 * - `dial`: send the call request; `find`: search the line's list for a call of the attempt;
 * - `speak`: speak the current speech; `wait for keys`: wait, then report `no key`;
 * - `hang up`: end all calls of the attempt.
 */
export type Command = 'dial' | 'find' | 'speak' | 'wait for keys' | 'hang up';

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

/** A notification with the outcomes of a change in its outbox. */
export const withNews = (
  before: NotificationCase | undefined,
  after: NotificationCase,
  destinations: readonly Destination[],
  now: number,
): NotificationCase => {
  const news = newsOf(before, after, now);
  if (news.length === 0) return after;
  const lists = destinations.map((to) => {
    const { entries = [], tryAt = 0 } = after.outbox[to] ?? {};
    return [to, { entries: bounded([...entries, ...news]), tryAt }] as const;
  });
  return { ...after, outbox: { ...after.outbox, ...Object.fromEntries(lists) } };
};

const bounded = (entries: readonly OutboxEntry[]): readonly OutboxEntry[] => {
  const dropped = new Set(entries.filter(({ kind }) => kind === 'acknowledged').slice(0, -MOST_ACKNOWLEDGED));
  return entries.filter((entry) => !dropped.has(entry));
};

const newsOf = (
  before: NotificationCase | undefined,
  { notification, recipients }: NotificationCase,
  now: number,
): readonly OutboxEntry[] => {
  const { stoppedAt, completedAt, acknowledged: handled } = notification;
  const was = before?.notification;
  return [
    ...recipients.flatMap((recipient, index): readonly OutboxEntry[] =>
      isFinal(recipient) && recipient.state !== before?.recipients[index]?.state
        ? [{ kind: 'recipient', at: now, index, status: recipient.state }]
        : [],
    ),
    ...(handled !== undefined && handled.times !== was?.acknowledged?.times
      ? [{ kind: 'acknowledged', at: now, times: handled.times, by: handled.by } as const]
      : []),
    // If a stop completes the notification, only the completion is published.
    ...(stoppedAt !== was?.stoppedAt && completedAt === undefined ? [{ kind: 'stopped', at: now } as const] : []),
    ...(completedAt !== was?.completedAt ? [{ kind: 'completed', at: now } as const] : []),
  ];
};

export const linesSchema = z.object({
  queue: queueStateSchema,
  /** The calls of the UTC day. */
  day: z.object({ day: z.string(), calls: z.int() }).optional(),
  check: providerCheckSchema.optional(),
});

/** The state that all instances share: the lines, the calls of the day, and the last check of the provider. */
export type Lines = Readonly<z.output<typeof linesSchema>>;

export interface QueuedRecipient extends Queued {
  readonly notificationId: NotificationId;
  readonly index: number;
}

export type OpenAttempt = OpenCall & AttemptRef;

/** Identifies a recipient among all notifications. */
export const whoOf = (id: NotificationId, index: number): string => `${id}/${index}`;

export const queueOf = ({ notification, recipients }: NotificationCase): readonly QueuedRecipient[] =>
  recipients.flatMap((recipient, index) => {
    if (recipient.state !== 'waiting') return [];
    const { number, dueAt, queuedAt } = recipient;
    const isUrgent = isUrgentNotification(notification);
    const { id: notificationId } = notification;
    const who = whoOf(notificationId, index);
    return [{ who, notificationId, index, number, isUrgent, position: index, queuedAt, dueAt }];
  });

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
