import type { Log, LogFields } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { AttemptRef } from '../model/call-context.ts';
import type { CallEvent, CallResult } from '../model/call-event.ts';
import { type Attempt, isLive } from '../state/attempt.ts';
import type { CallId } from '../model/ids.ts';
import { attemptIn, confirmationsOf, type Notification, type NotificationCase } from '../state/notification.ts';
import { PhoneLineError } from '../model/phone-line.ts';
import { hashOfNumber, maskPhoneNumber } from '../model/phone-number.ts';
import { areEnough, DEFAULT_CONFIRMATIONS_NEEDED } from '../rules/confirmations.ts';
import type { RecipientRef } from '../store/case-rows.ts';
import type { OpenRow } from '../store/snapshot.ts';
import { attemptOf, type FinalState, isFinal, type Recipient } from '../state/recipient.ts';
import { isForeign } from '../state/foreign-call.ts';
import type { Decision } from '../state/step.ts';

/** What was decided, as it is logged. */
interface Done extends Pick<Decision, 'commands' | 'isFirstForbidden'> {
  readonly stored: NotificationCase;
  readonly isChanged: boolean;
}

/** An event as it is logged. */
type Told = Pick<CallEvent, 'callId' | 'result'> & { readonly kind: string };

/** The fields of every log line about an attempt. */
export const attemptFields = (
  { notification, recipients }: NotificationCase,
  { index, attemptId }: AttemptRef,
  callId?: CallId,
): LogFields => {
  const recipient = recipients[index];
  const at = recipient?.attempts.findIndex(({ id }) => id === attemptId) ?? -1;
  return {
    call_id: callId ?? recipient?.attempts[at]?.callId,
    ...recipientFields(notification, recipient, index),
    alert_type: notification.alertType,
    // From 1; undefined if it is not kept, because there was no line for it.
    attempt: at < 0 ? undefined : at + 1,
  };
};

const recipientFields = (notification: Notification, recipient: Recipient | undefined, index: number): LogFields =>
  isForeign(notification.id)
    ? {}
    : {
        notification_id: notification.id,
        recipient_index: index,
        recipient: recipient?.number && maskPhoneNumber(recipient.number),
        reference: notification.reference,
      };

/** The seconds from the request to the call that the line accepted at a time, in milliseconds since 1970. */
export const secondsToCall = ({ notification }: NotificationCase, placedAt: number | undefined): LogFields =>
  placedAt === undefined || isForeign(notification.id)
    ? {}
    : { seconds_to_call: Math.max(0, Math.round((placedAt - notification.createdAt) / 100) / 10) };

const outcomeFields = (known: Attempt | undefined): LogFields => ({
  outcome: known?.outcome,
  code: known?.code,
  sub_code: known?.subCode,
  reason: known?.reason,
});

const REACHED: ReadonlySet<string | undefined> = new Set(['heard', 'cut_short', 'confirmed', 'cannot_go']);

/** Logs what a commit has brought to its end: attempts, recipients, the notification. */
export const logEnds = (before: NotificationCase, after: NotificationCase, log: Log): void => {
  const { notification } = after;
  after.recipients.forEach((recipient, index) => {
    const known = before.recipients[index];
    recipient.attempts.forEach((one, at) => {
      const was = known && attemptOf(known, one.id);
      if (isLive(one) || (was !== undefined && !isLive(was) && was.outcome === one.outcome)) return;
      const fields = {
        call_id: one.callId,
        ...recipientFields(notification, recipient, index),
        attempt: at + 1,
        ...secondsToCall(after, one.placedAt),
        ...outcomeFields(one),
      };
      if (REACHED.has(one.outcome)) log.info('attempt ended', fields);
      else log.warn('attempt ended', fields);
    });
    if (isForeign(notification.id) || !isFinal(recipient) || recipient.state === known?.state) return;
    const fields = {
      ...recipientFields(notification, recipient, index),
      alert_type: notification.alertType,
      status: recipient.state,
      attempts: recipient.attempts.length,
      ...outcomeFields(recipient.attempts.at(-1)),
    };
    const { state } = recipient;
    if (state !== 'not_reached' && state !== 'failed') log.info(GOOD_ENDS[state], fields);
    // With waves somebody else is called: it is for an operator only if too few have confirmed in the end.
    else if (notification.waveMs !== undefined) log.warn('recipient unconfirmed', fields);
    else log.error('recipient not reached', fields);
  });
  logWhole(before.notification, after, log);
};

const logWhole = (before: Notification, { notification, recipients }: NotificationCase, log: Log): void => {
  if (isForeign(notification.id)) return;
  const fields = {
    notification_id: notification.id,
    alert_type: notification.alertType,
    reference: notification.reference,
  };
  if (notification.wave !== before.wave) log.info('wave opened', { ...fields, wave: notification.wave });
  if (notification.stoppedAt !== before.stoppedAt) log.info('notification stopped', fields);
  if (notification.completedAt === undefined || before.completedAt !== undefined) return;
  log.info('notification completed', fields);
  const { confirm, confirmationsNeeded, stoppedAt } = notification;
  const confirmations = confirmationsOf({ recipients });
  if (confirm === true && stoppedAt === undefined && !areEnough(confirmations, confirmationsNeeded)) {
    const needed = confirmationsNeeded ?? DEFAULT_CONFIRMATIONS_NEEDED;
    log.error('notification not confirmed', { ...fields, confirmations, confirmations_needed: needed });
  }
};

const GOOD_ENDS = {
  heard: 'recipient reached',
  confirmed: 'recipient reached',
  cannot_go: 'recipient cannot go',
  stopped: 'recipient stopped',
} as const satisfies Partial<Record<FinalState, string>>;

/** The fields of a failed request to the line. */
export const failureFields = (error: unknown): LogFields =>
  error instanceof PhoneLineError
    ? { code: error.code, sub_code: error.subCode, reason: error.reason }
    : { reason: 'unexpected error', kind: errorKind(error) };

/** Logs why due work was not done: it is found again. */
export const logNotDone = (error: unknown, fields: LogFields, log: Log): void => {
  if (error instanceof StorageTrouble) log.warn('due work unreachable', { ...fields, kind: error.reason });
  else log.error('unexpected error', { ...fields, kind: errorKind(error) });
};

/** The name of an error. Its message is never logged: it may hold keys or phone numbers. */
export const errorKind = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/** Somebody answered into silence. */
export const logNotPlayed = (
  { code, subCode, reason, meaning, lookAt }: CallResult,
  fields: LogFields,
  log: Log,
): void => {
  const told = { ...fields, code, sub_code: subCode, reason };
  if (meaning === 'no_speech') log.error('speech not available', { ...told, look_at: lookAt });
  else log.error('message not played', told);
};

/** What an event says about the line, in the log. */
export const logEvent = ({ kind, callId, result }: Told, done: Done, ref: AttemptRef, log: Log): void => {
  const codes = { code: result.code, sub_code: result.subCode, reason: result.reason };
  const fields = { ...attemptFields(done.stored, ref, callId), call_id: callId };
  // Reported again: told already.
  if (kind === 'play failed' && done.isChanged) logNotPlayed(result, fields, log);
  if (kind !== 'disconnected' && kind !== 'create failed') return;
  log.info('call disconnected', { ...fields, ...codes });
  if (kind === 'create failed' && result.meaning === 'set_up') log.error('call not placed', { ...fields, ...codes });
  if (done.isFirstForbidden === true) logForbidden(done, ref, log);
};

/** What happened in a call could not be written down. */
export const logUnreachable = (error: unknown, { callId, kind }: Omit<Told, 'result'>, log: Log): void =>
  log.warn('call records unreachable', {
    call_id: callId,
    event_kind: kind,
    kind: error instanceof StorageTrouble ? error.reason : errorKind(error),
  });

/** One call alone does not tell whose fault it is. */
export const logForbidden = ({ stored }: Done, ref: AttemptRef, log: Log): void =>
  log.error('call forbidden', { ...attemptFields(stored, ref), reason: FORBIDDEN });

const FORBIDDEN = 'this callee or their network blocks our number, or our number may not call at all';

/** Nobody's phone has rung for an urgent notification. */
export const logSilence = (
  { notification, recipients }: NotificationCase,
  open: readonly OpenRow[],
  log: Log,
): void => {
  const { id, alertType, reference } = notification;
  const own = new Set(recipients.map(({ number }) => hashOfNumber(number)));
  const busy = open.filter(({ number, attempt }) => own.has(number) && attempt?.notificationId !== id).length;
  log.error('urgent notification silent', {
    notification_id: id,
    alert_type: alertType,
    reference,
    busy_with_our_calls: busy,
    reason: recipients.find(({ reason }) => reason !== undefined)?.reason,
  });
};

/** Logs what a look at a recipient asks for. */
export const logLook = ({ stored, commands }: Done, ref: RecipientRef, log: Log): void => {
  for (const { command, attemptId } of commands) {
    const own = { ...ref, attemptId };
    const attempt: Attempt | undefined = attemptIn(stored, own);
    const fields = attemptFields(stored, own);
    if (command === 'dial' || command === 'find') log.warn('call request unclear', fields);
    else if (attempt?.isUnanswered !== true) log.warn('call overdue', { ...fields, reason: attempt?.reason });
  }
};

/** Logs why an answer of the line was not written down: whoever looks later finds the rest. */
export const logNotUpdated = (error: unknown, { notificationId, index }: RecipientRef, log: Log): void => {
  const fields = { notification_id: notificationId, recipient_index: index, kind: errorKind(error) };
  if (error instanceof StorageTrouble) log.warn('recipient not updated', fields);
  else log.error('unexpected error', fields);
};
