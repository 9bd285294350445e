import { alertTypeOf } from '../model/alert-types.ts';
import type { ResultMeaning } from '../model/call-event.ts';
import { hashOfNumber } from '../model/phone-number.ts';
import { CALLS_USED_UP } from '../rules/day-limit.ts';
import { AFTER_DECLINE_MS, afterRefusal, isForWantOfLine, type LineState, type OpenCall } from '../rules/lines.ts';
import { speakingTimes } from '../rules/message.ts';
import type { PhoneLine } from '../model/phone-line.ts';
import { deadlineOf, type PhoneRules } from '../rules/policy.ts';
import { onlyRings } from '../rules/queue.ts';
import { afterSilence, judgeForbidden, ourFault } from '../rules/whose-fault.ts';
import type { Command, Attempt, AttemptEvent, LineTerms, NotPlaced } from './attempt.ts';
import {
  acknowledged,
  isUrgentNotification,
  lookedAt,
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from './notification.ts';
import {
  afterEvent,
  afterMadeWay,
  attemptOf,
  type Claim,
  claimed,
  looked,
  postponed,
  type ReachTerms,
  type Recipient,
  type RecipientChange,
  unchanged,
} from './recipient.ts';

/** Whom an event is about: a recipient, and one of its attempts if the event is about a call. */
export interface StepRef {
  readonly index: number;
  readonly attemptId?: string | undefined;
}

/** What happened to a notification, beside what happens to a call of it. */
export type CaseEvent =
  | AttemptEvent
  /** It is this recipient's turn. */
  | ({ readonly kind: 'claim' } & Omit<Claim, 'attemptId'>)
  /** The day's calls are used up until then. */
  | { readonly kind: 'postpone'; readonly until: number }
  | { readonly kind: 'stop' }
  /** Somebody has it in hand. */
  | { readonly kind: 'acknowledge'; readonly by: string }
  | { readonly kind: 'look at notification' };

/** How people are called, and in whose name. */
export interface Policy {
  readonly rules: PhoneRules;
  readonly serviceName: string;
  /** The line that is used. */
  readonly line: LineTerms & Pick<PhoneLine, 'refusesSurely' | 'callsPerSecond'>;
}

/** The lines at the moment of an event. */
export interface Lines {
  readonly line: LineState;
  readonly open: readonly (OpenCall & { readonly attemptId?: string | undefined })[];
  /** When somebody was reached last, as far as this instance knows, in milliseconds since 1970. */
  readonly reachedAt: number;
  /** When somebody heard the beginning of a message last, as far as this instance knows. */
  readonly heardAt: number;
}

/** What must be done now, and for which attempt. */
export interface CallCommand {
  readonly command: Command;
  readonly index: number;
  readonly attemptId: string;
}

/** What follows from an event. */
export interface Decision {
  /** The same object if nothing changed. */
  readonly case: NotificationCase;
  /** What is known of the lines, if that changed. */
  readonly line?: LineState | undefined;
  readonly commands: readonly CallCommand[];
  /** No later state needs the step: the table need not be asked. */
  readonly isPast?: boolean | undefined;
  /** A call was forbidden, for the first time within an hour. */
  readonly isFirstForbidden?: boolean | undefined;
  /** The event names an attempt that is not known: it is of a call of somebody else. */
  readonly isUnknown?: boolean | undefined;
}

// Start and end of a message may be reported to two instances.
const CLOCKS_DIFFER_MS = 2_000;

/** What the recipients of a notification are called by. */
export const termsOf = ({ notification }: NotificationCase, { rules, serviceName, line }: Policy): ReachTerms => {
  const { attempts, retryMs, ringMs, allowedPrefixes } = rules;
  const { id, alertType, confirm = false } = notification;
  const { unitMs, messageMs } = speakingTimes(serviceName, alertTypeOf(alertType), notification);
  // A shorter deadline holds for those too who wait when it is set.
  const deadlineAt = Math.min(notification.deadlineAt, deadlineOf(id, rules));
  const rest = { allowedPrefixes, line, messageMs, unitMs: unitMs + CLOCKS_DIFFER_MS };
  return { attempts, retryMs, ringMs, confirm, deadlineAt, ...rest };
};

/** What a decision goes by, beside the notification. */
export interface About {
  readonly policy: Policy;
  /** Only for events that may tell something of the lines. */
  readonly lines?: Lines | undefined;
  /** When this instance could not use the table last, in milliseconds since 1970. */
  readonly troubleAt?: number | undefined;
}

/**
 * All that follows from an event: the one decision about a notification. Whoever asks reads before, writes what is answered in one
 * transaction, and only then does what is asked for.
 */
export const step = (
  known: NotificationCase,
  ref: StepRef | undefined,
  event: CaseEvent,
  about: About,
  now: number,
): Decision => {
  if (event.kind === 'stop') return withHangUps(known, { case: stoppedNotification(known, now), commands: [] });
  if (event.kind === 'acknowledge') return { case: acknowledged(known, event.by, now), commands: [] };
  if (event.kind === 'look at notification') return withHangUps(known, { case: lookedAt(known, now), commands: [] });
  const recipient = ref && known.recipients[ref.index];
  if (ref === undefined || recipient === undefined || recipient.isUnreadable === true) {
    return { case: known, commands: [], isPast: true };
  }
  const { index } = ref;
  const { next, commands, ...rest } = stepOf(recipient, ref, event, known, about, now);
  return withHangUps(known, {
    case: next === recipient ? known : withRecipient(known, index, next, now),
    ...rest,
    commands: commands.map(({ command, attemptId }) => ({ command, attemptId, index })),
  });
};

const stepOf = (
  recipient: Recipient,
  { attemptId = '' }: StepRef,
  event: Exclude<CaseEvent, { kind: 'stop' | 'acknowledge' | 'look at notification' }>,
  known: NotificationCase,
  { policy, lines, troubleAt }: About,
  now: number,
): RecipientChange & Pick<Decision, 'line' | 'isUnknown' | 'isFirstForbidden'> => {
  const terms = termsOf(known, policy);
  if (event.kind === 'claim') return claimed(recipient, { ...event, attemptId }, terms, now);
  if (event.kind === 'postpone') return unchanged(postponed(recipient, event.until, CALLS_USED_UP, terms));
  // Somebody may have answered while the table was away, and be listening.
  const isAfterTrouble = now < (troubleAt ?? -Infinity) + terms.messageMs;
  if (event.kind === 'look') {
    return isAfterTrouble && recipient.attempts.some(isUnsure) ? unchanged(recipient) : looked(recipient, terms, now);
  }
  const attempt = attemptOf(recipient, attemptId);
  if (event.kind === 'make way' && isAfterTrouble && attempt !== undefined && isUnsure(attempt)) {
    return unchanged(recipient);
  }
  if (attempt === undefined && attemptId === recipient.madeWay) return afterMadeWay(recipient, event, terms, now);
  if (attempt === undefined || !isOfItsCall(attempt, event)) return { ...unchanged(recipient), isUnknown: true };
  const { event: told, redialAt, ...rest } = judged(event, attempt, recipient, known, policy, lines, now);
  return { ...afterEvent(recipient, attemptId, told, terms, now, redialAt), ...rest };
};

const isUnsure = ({ state, unclearAt, speakingAt }: Attempt): boolean =>
  state === 'placed' ||
  (state === 'speaking' && unclearAt !== undefined) ||
  // Its hang-up was perhaps not done, and somebody has answered since.
  (state === 'hanging_up' && speakingAt === undefined);

const isOfItsCall = ({ callId }: Attempt, event: AttemptEvent): boolean =>
  callId === undefined || !('callId' in event) || event.callId === callId;

/** Who was hung up because of somebody else's event: by a stop, a confirmation, or an earlier call that reached them after all. */
const withHangUps = (before: NotificationCase, next: Decision): Decision => {
  if (next.case === before) return next;
  const others = next.case.recipients.flatMap((recipient, index) => {
    const was = before.recipients[index];
    if (recipient === was) return [];
    return recipient.attempts.flatMap(({ id, state, hangingUpAt }) => {
      const isNew = state === 'hanging_up' && was !== undefined && attemptOf(was, id)?.hangingUpAt !== hangingUpAt;
      const isCommanded = next.commands.some((one) => one.index === index && one.attemptId === id);
      return isNew && !isCommanded ? [{ command: 'hang up' as const, index, attemptId: id }] : [];
    });
  });
  return others.length === 0 ? next : { ...next, commands: [...next.commands, ...others] };
};

/** Whether an event tells something of the lines or of our set-up. */
export const isAboutLines = (event: CaseEvent): boolean => TELLING.has(meaningOf(event));

const TELLING: ReadonlySet<string | undefined> = new Set(['declined', 'no_line', 'forbidden', 'set_up', 'no_speech']);

const meaningOf = (event: CaseEvent): ResultMeaning | NotPlaced | undefined => {
  if (event.kind === 'not placed') return event.result.meaning ?? event.why;
  if (event.kind === 'create failed' || event.kind === 'disconnected') return event.result?.meaning;
  // Whoever answers into silence: what other codes mean for reaching a person they do not mean then.
  const isSilence = event.kind === 'play failed' || event.kind === 'not spoken';
  return isSilence && event.result?.meaning === 'no_speech' ? 'no_speech' : undefined;
};

interface JudgedEvent extends Pick<Decision, 'line' | 'isFirstForbidden'> {
  readonly event: AttemptEvent;
  /** A callee who declined is taken for a line that was not free: not dialled before. */
  readonly redialAt?: number | undefined;
}

/** What an event says about the lines and our set-up, and what it means for the callee then. */
const judged = (
  event: AttemptEvent,
  attempt: Attempt,
  { number, noLine = 0, refusals = 0 }: Recipient,
  { notification }: NotificationCase,
  { line: { refusesSurely } }: Policy,
  lines: Lines | undefined,
  now: number,
): JudgedEvent => {
  const own = hashOfNumber(number);
  const meaning = meaningOf(event);
  if (lines === undefined || own === undefined || !('result' in event) || event.result === undefined) return { event };
  const { line, reachedAt, heardAt } = lines;
  const { reason, isUnreachable, waitMs } = event.result;
  if (meaning === 'no_speech' && event.kind !== 'not placed' && attempt.state === 'speaking') {
    return { event, line: afterSilence(line, own, heardAt, reason, now) };
  }
  if (attempt.state !== 'claimed' && attempt.state !== 'placed') return { event };
  const open = lines.open.filter(({ attemptId }) => attemptId !== attempt.id);
  if (meaning === 'set_up') return { event, line: ourFault(line, own, reason, now) };
  if (meaning === 'no_line') {
    return { event, line: afterRefusal(line, open, { number: own, isSure: true, isUnreachable, waitMs }, now) };
  }
  if (meaning === 'forbidden') {
    const answeredAt = Math.max(reachedAt, ...open.map(({ connectedAt = 0 }) => connectedAt));
    const { fault, isFirst, ...known } = judgeForbidden(line, own, answeredAt, now);
    const rest = { ...known, isFirstForbidden: isFirst };
    if (event.kind === 'not placed')
      return { event: { ...event, why: fault === 'ours' ? 'set_up' : 'failed' }, ...rest };
    return {
      event: { ...event, result: { ...event.result, meaning: fault === 'ours' ? 'set_up' : 'forbidden' } },
      ...rest,
    };
  }
  const declined = {
    acceptedAt: attempt.placedAt ?? attempt.claimedAt,
    endedAt: attempt.disconnectedAt ?? attempt.endedAt ?? now,
    beside: attempt.beside ?? 0,
    isProbe: attempt.isProbe ?? false,
    freeDeclines: noLine,
    refusals,
  };
  if (meaning !== 'declined' || refusesSurely || !isForWantOfLine(declined, line, now)) return { event };
  // Another call is hung up for it then.
  const hasWay = isUrgentNotification(notification) && open.some(onlyRings);
  return {
    event: { ...event, result: { ...event.result, meaning: 'no_line' } },
    redialAt: hasWay ? now : now + AFTER_DECLINE_MS,
    line: afterRefusal(line, open, { number: own, isSure: false }, now),
  };
};

/** An urgent call takes the number of this one over, which is held to be over: it deletes no row of an open call, and is not sent again. */
export const withoutNumber = ({ notification, recipients }: NotificationCase, ref: StepRef): NotificationCase => ({
  notification,
  recipients: recipients.map((recipient, index) =>
    index === ref.index &&
    recipient.attempts.some(({ id, holdsNumber }) => id === ref.attemptId && holdsNumber === true)
      ? {
          ...recipient,
          attempts: recipient.attempts.map((one) =>
            one.id === ref.attemptId ? { ...one, holdsNumber: undefined, isReplaced: true } : one,
          ),
        }
      : recipient,
  ),
});
