import { findAlertType } from '../model/alert-types.ts';
import { hashOfNumber } from '../model/phone-number.ts';
import { CALLS_USED_UP } from '../rules/day-limit.ts';
import { afterRefusal, isForWantOfLine, type LineState, type OpenCall } from '../rules/lines.ts';
import { longestSpeakingMs, messageUnit, spokenMessage, surelySpokenMs } from '../rules/message.ts';
import type { PhoneLine } from '../model/phone-line.ts';
import type { PhoneRules } from '../rules/policy.ts';
import { afterSilence } from '../rules/speech-fault.ts';
import { judgeForbidden, ourFault } from '../rules/whose-fault.ts';
import type { Command, Attempt, AttemptEvent, LineTerms } from './attempt.ts';
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
  attemptOf,
  type Claim,
  claimed,
  looked,
  postponed,
  type ReachTerms,
  type Recipient,
  type RecipientChange,
  type RefusedCall,
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
  readonly rules: Pick<PhoneRules, 'attempts' | 'retryMs' | 'ringMs'>;
  readonly serviceName: string;
  /** The line that is used; undefined: the first one there was. */
  readonly line?: (LineTerms & Pick<PhoneLine, 'refusesSurely' | 'callsPerSecond'>) | undefined;
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

/** What the steps of a notification's recipients go by. */
export const termsOf = ({ notification }: NotificationCase, { rules, serviceName, line }: Policy): ReachTerms => {
  const { attempts, retryMs, ringMs } = rules;
  const { confirm = false, deadlineAt } = notification;
  const alertType = findAlertType(notification.alertType);
  const message = alertType === undefined ? '' : spokenMessage(serviceName, alertType, notification);
  const unit = alertType === undefined ? '' : messageUnit(serviceName, alertType, notification);
  const durations = { ringMs, unitMs: surelySpokenMs(unit) + CLOCKS_DIFFER_MS, messageMs: longestSpeakingMs(message) };
  return { attempts, retryMs, confirm, deadlineAt, line, ...durations };
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
  if (attempt === undefined && attemptId === recipient.madeWay) return { ...unchanged(recipient), isPast: true };
  if (attempt === undefined || !isOfItsCall(attempt, event)) return { ...unchanged(recipient), isUnknown: true };
  const isUrgent = isUrgentNotification(known.notification);
  const {
    event: told,
    refused,
    ...rest
  } = judgedBy(event, attempt, recipient, isUrgent, lines, policy.line?.refusesSurely === true, now);
  return { ...afterEvent(recipient, attemptId, told, terms, now, refused), ...rest };
};

const isUnsure = ({ state, unclearAt }: Attempt): boolean =>
  state === 'placed' || (state === 'speaking' && unclearAt !== undefined);

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

/** Events that tell something of the lines or of our set-up. */
export const isAboutLines = (event: CaseEvent): boolean => isSilence(event) || isAboutCall(event);

/** Somebody has answered, and nothing can be said to them. */
const isSilence = (event: CaseEvent): event is Extract<AttemptEvent, { kind: 'play failed' | 'not spoken' }> =>
  (event.kind === 'play failed' || event.kind === 'not spoken') && event.result.meaning === 'no_speech';

const isAboutCall = (event: CaseEvent): boolean =>
  event.kind === 'not placed'
    ? event.why === 'no_line' || event.why === 'set_up' || event.result.meaning === 'forbidden'
    : (event.kind === 'create failed' || event.kind === 'disconnected') && TELLING.has(event.result.meaning);

const TELLING: ReadonlySet<string | undefined> = new Set(['declined', 'no_line', 'forbidden', 'set_up']);

interface JudgedEvent {
  readonly event: AttemptEvent;
  readonly line?: LineState | undefined;
  readonly refused?: RefusedCall | undefined;
  readonly isFirstForbidden?: boolean;
}

/** What an event says about the lines and our set-up, and what it means for the callee then. */
const judgedBy = (
  event: AttemptEvent,
  attempt: Attempt,
  { number, noLine = 0, refusals = 0 }: Recipient,
  isUrgent: boolean,
  lines: Lines | undefined,
  refusesSurely: boolean,
  now: number,
): JudgedEvent => {
  const own = hashOfNumber(number);
  if (isSilence(event)) {
    if (lines === undefined || own === undefined || attempt.state !== 'speaking') return { event };
    return { event, line: afterSilence(lines.line, own, lines.heardAt, event.result.reason, now) };
  }
  const isLive = attempt.state === 'claimed' || attempt.state === 'placed';
  if (lines === undefined || own === undefined || !isLive || !isAboutLines(event) || !('result' in event))
    return { event };
  const { line, reachedAt } = lines;
  const open = lines.open.filter(({ attemptId }) => attemptId !== attempt.id);
  const { isProbe = false } = attempt;
  const meaning = event.kind === 'not placed' ? (event.result.meaning ?? event.why) : event.result.meaning;
  if (meaning === 'no_line') {
    const { isUnreachable, waitMs } = event.result;
    const refused = { isSure: true, isProbe };
    return {
      event,
      refused,
      line: afterRefusal(line, open, { number: own, isSure: true, isUnreachable, waitMs }, now),
    };
  }
  if (meaning === 'set_up') return { event, line: ourFault(line, own, event.result.reason, now) };
  if (meaning === 'forbidden') {
    const judged = judgeForbidden(
      line,
      own,
      Math.max(reachedAt, ...open.map(({ connectedAt = 0 }) => connectedAt)),
      now,
    );
    const isOurs = judged.fault === 'ours';
    const rest = { line: judged.line, isFirstForbidden: judged.isFirst };
    if (event.kind === 'not placed') return { event: { ...event, why: isOurs ? 'set_up' : 'failed' }, ...rest };
    return { event: { ...event, result: { ...event.result, meaning: isOurs ? 'set_up' : 'forbidden' } }, ...rest };
  }
  const declined = {
    acceptedAt: attempt.placedAt ?? attempt.claimedAt,
    endedAt: attempt.disconnectedAt ?? attempt.endedAt ?? now,
    beside: attempt.beside ?? 0,
    isProbe,
    freeDeclines: noLine,
    refusals,
  };
  if (refusesSurely || !isForWantOfLine(declined, line, now) || event.kind === 'not placed') return { event };
  const hasWay =
    isUrgent && open.some((call) => !call.isUrgent && call.acceptedAt !== undefined && call.connectedAt === undefined);
  return {
    event: { ...event, result: { ...event.result, meaning: 'no_line' } },
    refused: { isSure: false, isProbe, hasWay },
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
