import type { AttemptRef } from '../model/ids.ts';
import type { NotificationRequest, SentCall } from '../model/notification-request.ts';
import { type CallEvent, type CallResult, ProviderError } from '../model/phone-provider.ts';
import { maskPhoneNumber } from '../model/phone-number.ts';
import { DEFAULT_CONFIRMATIONS_NEEDED, endOfDay } from '../rules/policy.ts';
import { isQuick } from '../rules/redial.ts';
import { acceptedAtOf, type Attempt } from '../state/attempt.ts';
import type { Lines } from '../state/lines.ts';
import {
  type AnyCase,
  attemptIn,
  confirmedBy,
  type Notification,
  type NotificationCase,
  wavesOf,
} from '../state/notification.ts';
import { isAlert, type OutcomeEntry } from '../state/outcomes.ts';
import { type AnyRecipient, attemptOf, type FinalState, isFinal } from '../state/recipient.ts';
import type { Action } from '../state/step.ts';
import { isoTime } from '../state/view.ts';
import { type Committed, SetAside } from '../store/store.ts';
import type { Log, LogFields } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';

export const attemptFields = (
  { notification, recipients }: AnyCase,
  { index, attemptId }: Omit<AttemptRef, 'notificationId'>,
): LogFields => {
  const recipient = recipients[index];
  const at = recipient?.attempts.findIndex(({ id }) => id === attemptId) ?? -1;
  return {
    call_id: recipient?.attempts[at]?.callIds.at(-1),
    ...recipientFields(notification, recipient, index),
    // From 1; undefined if it was removed, because it placed no call.
    attempt: at < 0 ? undefined : at + 1,
  };
};

const notificationFields = ({ id, alertType, reference }: Notification): LogFields => ({
  notification_id: id,
  alert_type: alertType,
  reference,
});

const recipientFields = (
  notification: Notification,
  recipient: AnyRecipient | undefined,
  index: number,
): LogFields => ({
  ...notificationFields(notification),
  recipient_index: index,
  recipient: recipient && maskPhoneNumber(recipient.number),
});

/** The seconds from the request to the acceptance of a call. */
export const secondsToCall = ({ notification }: AnyCase, placedAt: number | undefined): LogFields =>
  placedAt === undefined
    ? {}
    : { seconds_to_call: Math.max(0, Math.round((placedAt - notification.createdAt) / 100) / 10) };

export const resultFields = ({ code, subCode, reason }: CallResult): LogFields => ({ code, sub_code: subCode, reason });

const outcomeFields = (attempt: Attempt | undefined): LogFields =>
  attempt?.state === 'over' ? { outcome: attempt.outcome, ...resultFields(attempt) } : {};

const REACHED: ReadonlySet<string> = new Set(['heard', 'cut_short', 'confirmed', 'cannot_go']);

/** Logs a change: ends of attempts, of recipients and of the notification, and alerts about the lines. */
export const logChange = ({ before, stored, lines }: Committed, log: Log): void => {
  stored.recipients.forEach((recipient, index) => {
    const was = before?.recipients[index];
    if (recipient === was) return;
    for (const attempt of recipient.attempts) {
      logAttempt(was && attemptOf(was, attempt.id), attempt, stored, index, lines?.after, log);
    }
    if (isFinal(recipient) && recipient.state !== was?.state) logRecipient(recipient, stored, index, log);
    if (isOverDayLimit(recipient) && (was === undefined || !isOverDayLimit(was))) {
      log.error('day limit reached', { notification_id: stored.notification.id, recipient_index: index });
    }
  });
  logWhole(before?.notification, stored, log);
  if (lines !== undefined) logLines(lines.read.lines, lines.after, log);
};

const isOverDayLimit = (recipient: AnyRecipient): boolean =>
  recipient.state === 'waiting' && recipient.isOverDayLimit === true;

const logAttempt = (
  was: Attempt | undefined,
  attempt: Attempt,
  live: NotificationCase,
  index: number,
  lines: Lines | undefined,
  log: Log,
): void => {
  if (attempt.state !== 'over' || (was?.state === 'over' && was.outcome === attempt.outcome)) return;
  const fields = attemptFields(live, { index, attemptId: attempt.id });
  const level = REACHED.has(attempt.outcome) ? 'info' : 'warn';
  log[level]('attempt ended', { ...fields, ...secondsToCall(live, attempt.placedAt), ...outcomeFields(attempt) });
  const others = lines?.slots.filter((slot) => slot.attempt !== attempt.id && slot.until > attempt.endedAt).length ?? 0;
  const acceptedAt = acceptedAtOf(attempt) ?? attempt.claimedAt;
  if (attempt.outcome === 'declined' && others > 0 && isQuick({ ...attempt, acceptedAt })) {
    log.warn('declined at once', { ...fields, open_calls: others });
  }
};

const logRecipient = (
  recipient: AnyRecipient & { readonly state: FinalState },
  live: NotificationCase,
  index: number,
  log: Log,
): void => {
  const { state } = recipient;
  const fields = endFields(recipient, live, index);
  if (state !== 'not_reached' && state !== 'failed') log.info(GOOD_ENDS[state], fields);
  else if (!isAlert({ kind: 'recipient', index, status: state }, live)) log.warn('recipient unconfirmed', fields);
};

const endFields = (recipient: AnyRecipient, { notification }: AnyCase, index: number): LogFields => ({
  ...recipientFields(notification, recipient, index),
  status: recipient.state,
  attempts: recipient.attempts.length,
  ...outcomeFields(recipient.attempts.at(-1)),
});

const GOOD_ENDS = {
  heard: 'recipient reached',
  confirmed: 'recipient reached',
  cannot_go: 'recipient cannot go',
  stopped: 'recipient stopped',
} as const satisfies Partial<Record<FinalState, string>>;

const logWhole = (before: Notification | undefined, { notification }: NotificationCase, log: Log): void => {
  const { stoppedAt, completedAt, acknowledged } = notification;
  const fields = notificationFields(notification);
  const wave = wavesOf(notification)?.current;
  if (before !== undefined && wave !== wavesOf(before)?.current) log.info('wave opened', { ...fields, wave });
  if (stoppedAt !== before?.stoppedAt) log.info('notification stopped', fields);
  if (acknowledged?.times !== before?.acknowledged?.times) log.info('notification acknowledged', fields);
  if (completedAt !== before?.completedAt) log.info('notification completed', fields);
};

/** Logs an outcome that alerts an operator. */
export const logAlert = (entry: OutcomeEntry, stored: AnyCase, log: Log): void => {
  if (!isAlert(entry, stored)) return;
  const { notification } = stored;
  if (entry.kind === 'recipient') {
    const recipient = stored.recipients[entry.index];
    if (recipient !== undefined) log.error('recipient not reached', endFields(recipient, stored, entry.index));
    return;
  }
  const confirmations = confirmedBy(stored).length;
  const needed = wavesOf(notification)?.needed ?? DEFAULT_CONFIRMATIONS_NEEDED;
  const fields = { ...notificationFields(notification), confirmations, confirmations_needed: needed };
  log.error('notification not confirmed', fields);
};

const logLines = (before: Lines, after: Lines, log: Log): void => {
  if (after.fault !== undefined && after.fault.alertedAt !== before.fault?.alertedAt) {
    log.error('calls not accepted', { reason: after.fault.reason, until: isoTime(after.fault.until) });
  }
};

/** A call request failed. */
export const logNotPlaced = (result: CallResult, fields: LogFields, log: Log): void => {
  const detail = { ...fields, ...resultFields(result) };
  if (result.failure === 'capacity') log.warn('no line free', detail);
  else if (result.failure === 'forbidden') log.error('call forbidden', detail);
  else log.error('call not placed', detail);
};

/** The name of an error. Its message is never logged: it may hold keys or phone numbers. */
export const errorKind = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/** The result of a failed request. After an error of another class, the request may have been done. */
export const resultOf = (error: unknown): CallResult =>
  error instanceof ProviderError ? error.result : { failure: 'unanswered', reason: 'unexpected error' };

/** A callee answered and heard no message. */
export const logNotPlayed = (result: CallResult, fields: LogFields, log: Log): void => {
  const detail = { ...fields, ...resultFields(result) };
  if (result.failure === 'no_speech') log.error('speech not available', { ...detail, hint: result.operatorHint });
  else log.error('message not played', detail);
};

/** Logs an event of the provider. @param isNews false: it is a repeat */
export const logEvent = ({ kind, result, callId }: CallEvent, isNews: boolean, about: LogFields, log: Log): void => {
  const fields = { ...about, call_id: callId };
  if (kind === 'play failed' && isNews) logNotPlayed(result, fields, log);
  if (kind !== 'disconnected' && kind !== 'create failed') return;
  const detail = { ...fields, ...resultFields(result) };
  log.info('call disconnected', detail);
  const isUnknown = kind === 'create failed' && result.reason === undefined && result.code !== undefined;
  if (isNews && (result.failure === 'set_up' || isUnknown)) log.error('call not placed', detail);
  if (isNews && result.failure === 'forbidden') log.error('call forbidden', detail);
};

/** After trouble with storage, a later run retries: a warning. Other errors are bugs. */
export const logFailure = (what: string, error: unknown, fields: LogFields, log: Log): void => {
  if (error instanceof StorageTrouble) log.warn(what, { ...fields, kind: error.reason });
  else if (error instanceof SetAside) log.warn(what, { ...fields, kind: error.name });
  else log.error('unexpected error', { ...fields, kind: errorKind(error) });
};

export const logNotUpdated = (error: unknown, { notificationId, index }: AttemptRef, log: Log): void =>
  logFailure('recipient not updated', error, { notification_id: notificationId, recipient_index: index }, log);

/** A check has begun an action that no event had begun. */
export const logOverdue = (live: NotificationCase, actions: readonly Action[], log: Log): void => {
  for (const ref of actions) {
    const attempt = attemptIn(live, ref);
    const fields = attemptFields(live, ref);
    if (ref.kind === 'dial') log.warn('call request unclear', fields);
    else if (attempt?.state !== 'hanging_up' || attempt.beforeMessage === undefined) {
      log.warn('call overdue', { ...fields, reason: attempt?.state === 'hanging_up' ? attempt.reason : undefined });
    }
  }
};

/** No phone has rung for an urgent notification. @param busy calls of other notifications to its numbers */
export const logSilence = ({ notification, recipients }: NotificationCase, busy: number, log: Log): void => {
  log.error('urgent notification silent', {
    ...notificationFields(notification),
    busy_with_our_calls: busy,
    reason: recipients.flatMap((recipient) => (recipient.state === 'waiting' ? (recipient.reason ?? []) : []))[0],
  });
};

/** No recipient of a request can ever be called. @param now in milliseconds since 1970 */
export const logNobodyCallable = (
  calls: readonly SentCall[],
  { alertType }: NotificationRequest,
  now: number,
  log: Log,
): void => {
  const [first] = calls;
  const fields = { alert_type: alertType.name, recipients: calls.length };
  if (calls.some((call) => call.status === 'failed' && call.code === 'day_limit')) {
    log.error('day limit reached', { ...fields, until: isoTime(endOfDay(now)) });
  }
  const reason = first === undefined || first.status === 'placed' ? undefined : first.reason;
  log.error('notification refused', { ...fields, reason });
};
