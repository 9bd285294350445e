import type { AttemptRef } from '../model/ids.ts';
import { type CallEvent, type CallResult, ProviderError } from '../model/phone-provider.ts';
import { maskPhoneNumber } from '../model/phone-number.ts';
import { areEnough, DEFAULT_CONFIRMATIONS_NEEDED } from '../rules/policy.ts';
import type { Attempt } from '../state/attempt.ts';
import { attemptIn, confirmedBy, type Notification, type NotificationCase } from '../state/notification.ts';
import { attemptOf, type FinalState, isFinal, type Recipient } from '../state/recipient.ts';
import type { CallCommand, Lines, OpenAttempt } from '../state/step.ts';
import { isoTime } from '../state/view.ts';
import type { Log, LogFields } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';

export const attemptFields = (
  { notification, recipients }: NotificationCase,
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

const recipientFields = (notification: Notification, recipient: Recipient | undefined, index: number): LogFields => ({
  ...notificationFields(notification),
  recipient_index: index,
  recipient: recipient && maskPhoneNumber(recipient.number),
});

/** The seconds from the request to the acceptance of a call. */
export const secondsToCall = ({ notification }: NotificationCase, placedAt: number | undefined): LogFields =>
  placedAt === undefined
    ? {}
    : { seconds_to_call: Math.max(0, Math.round((placedAt - notification.createdAt) / 100) / 10) };

export const resultFields = ({ code, subCode, reason }: CallResult): LogFields => ({ code, sub_code: subCode, reason });

const outcomeFields = (attempt: Attempt | undefined): LogFields =>
  attempt?.state === 'over' ? { outcome: attempt.outcome, ...resultFields(attempt) } : {};

const REACHED: ReadonlySet<string> = new Set(['heard', 'cut_short', 'confirmed', 'cannot_go']);

/** Logs the changes of a commit: ends of attempts, of recipients and of the notification, and alerts about the lines. */
export const logChange = (
  before: NotificationCase,
  after: NotificationCase,
  lines: Lines,
  nextLines: Lines,
  log: Log,
): void => {
  after.recipients.forEach((recipient, index) => {
    const was = before.recipients[index];
    if (recipient === was) return;
    for (const one of recipient.attempts) logAttempt(was && attemptOf(was, one.id), one, after, index, log);
    if (isFinal(recipient) && recipient.state !== was?.state) logRecipient(recipient, after.notification, index, log);
  });
  logWhole(before.notification, after, log);
  logLines(lines, nextLines, log);
};

const logAttempt = (was: Attempt | undefined, one: Attempt, known: NotificationCase, index: number, log: Log): void => {
  if (one.state !== 'over' || (was?.state === 'over' && was.outcome === one.outcome)) return;
  const fields = attemptFields(known, { index, attemptId: one.id });
  const level = REACHED.has(one.outcome) ? 'info' : 'warn';
  log[level]('attempt ended', { ...fields, ...secondsToCall(known, one.placedAt), ...outcomeFields(one) });
};

const logRecipient = (
  recipient: Recipient & { readonly state: FinalState },
  notification: Notification,
  index: number,
  log: Log,
): void => {
  const { state } = recipient;
  const fields = {
    ...recipientFields(notification, recipient, index),
    status: state,
    attempts: recipient.attempts.length,
    ...outcomeFields(recipient.attempts.at(-1)),
  };
  if (state !== 'not_reached' && state !== 'failed') log.info(GOOD_ENDS[state], fields);
  // With waves, the service calls other recipients. An operator is alerted only if too few have confirmed at the end.
  else if (notification.waveMs !== undefined) log.warn('recipient unconfirmed', fields);
  else log.error('recipient not reached', fields);
};

const GOOD_ENDS = {
  heard: 'recipient reached',
  confirmed: 'recipient reached',
  cannot_go: 'recipient cannot go',
  stopped: 'recipient stopped',
} as const satisfies Partial<Record<FinalState, string>>;

const logWhole = (before: Notification, { notification, recipients }: NotificationCase, log: Log): void => {
  const { confirm, confirmationsNeeded, stoppedAt, completedAt, acknowledged } = notification;
  const fields = notificationFields(notification);
  if (notification.wave !== before.wave) log.info('wave opened', { ...fields, wave: notification.wave });
  if (stoppedAt !== before.stoppedAt) log.info('notification stopped', fields);
  if (acknowledged?.times !== before.acknowledged?.times) log.info('notification acknowledged', fields);
  if (completedAt === undefined || before.completedAt !== undefined) return;
  log.info('notification completed', fields);
  const confirmations = confirmedBy({ recipients }).length;
  if (confirm && stoppedAt === undefined && !areEnough(confirmations, confirmationsNeeded)) {
    const needed = confirmationsNeeded ?? DEFAULT_CONFIRMATIONS_NEEDED;
    log.error('notification not confirmed', { ...fields, confirmations, confirmations_needed: needed });
  }
};

const logLines = ({ queue: before }: Lines, { queue: after }: Lines, log: Log): void => {
  if (after.fault !== undefined && after.fault.toldAt !== before.fault?.toldAt) {
    log.error('calls not accepted', { reason: after.fault.reason, until: isoTime(after.fault.until) });
  }
  const { limit } = after;
  if (limit !== undefined && limit.until !== before.limit?.until) {
    log.error('fewer lines than configured', { calls: limit.calls, until: isoTime(limit.until) });
  }
};

/** The name of an error. Its message is never logged: it may hold keys or phone numbers. */
export const errorKind = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/** The result of a failed request. After an error of another class, the request may have been done. */
export const resultOf = (error: unknown): CallResult =>
  error instanceof ProviderError ? error.result : { failure: 'unanswered', reason: 'unexpected error' };

/** A callee answered and heard no message. */
export const logNotPlayed = (result: CallResult, fields: LogFields, log: Log): void => {
  const told = { ...fields, ...resultFields(result) };
  if (result.failure === 'no_speech') log.error('speech not available', { ...told, look_at: result.operatorHint });
  else log.error('message not played', told);
};

/** Logs an event of the line. @param isNews it is no repeat */
export const logEvent = ({ kind, result, callId }: CallEvent, isNews: boolean, known: LogFields, log: Log): void => {
  const fields = { ...known, call_id: callId };
  if (kind === 'play failed' && isNews) logNotPlayed(result, fields, log);
  if (kind !== 'disconnected' && kind !== 'create failed') return;
  const told = { ...fields, ...resultFields(result) };
  log.info('call disconnected', told);
  if (isNews && result.failure === 'set_up') log.error('call not placed', told);
  if (isNews && result.failure === 'forbidden') log.error('call forbidden', told);
};

/** After trouble with storage, a later look retries: a warning. Other errors are bugs. */
export const logFailure = (what: string, error: unknown, fields: LogFields, log: Log): void => {
  if (error instanceof StorageTrouble) log.warn(what, { ...fields, kind: error.reason });
  else log.error('unexpected error', { ...fields, kind: errorKind(error) });
};

export const logNotUpdated = (error: unknown, { notificationId, index }: AttemptRef, log: Log): void =>
  logFailure('recipient not updated', error, { notification_id: notificationId, recipient_index: index }, log);

export const logOverdue = (known: NotificationCase, commands: readonly CallCommand[], log: Log): void => {
  for (const ref of commands) {
    const { command } = ref;
    const attempt = attemptIn(known, ref);
    const fields = attemptFields(known, ref);
    if (command === 'dial' || command === 'find') log.warn('call request unclear', fields);
    else if (attempt?.state !== 'hanging_up' || attempt.unanswered === undefined) {
      log.warn('call overdue', { ...fields, reason: attempt?.state === 'hanging_up' ? attempt.reason : undefined });
    }
  }
};

export const logSilence = (
  { notification, recipients }: NotificationCase,
  open: readonly OpenAttempt[],
  log: Log,
): void => {
  const own = new Set<string>(recipients.map(({ number }) => number));
  const busy = open.filter(
    ({ number, notificationId }) => own.has(number) && notificationId !== notification.id,
  ).length;
  log.error('urgent notification silent', {
    ...notificationFields(notification),
    busy_with_our_calls: busy,
    reason: recipients.flatMap((one) => (one.state === 'waiting' && one.reason !== undefined ? one.reason : []))[0],
  });
};
