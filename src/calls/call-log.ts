import type { Log, LogFields } from '../log.ts';
import type { AlertTypeName } from './alert-types.ts';
import type { AttemptRef } from './call-context.ts';
import type { CallId } from './call-id.ts';
import { outcomeOf } from './call-outcome.ts';
import type { CallRecord } from './call-record.ts';
import { PhoneLineError } from './phone-line.ts';
import { maskPhoneNumber } from './phone-number.ts';
import { type Attempt, isReached, type Recipient } from './recipient-state.ts';

/** Which recipient of which notification a log line is about. */
export const recipientFields = (
  ref: Omit<AttemptRef, 'attemptId'> | undefined,
): Pick<LogFields, 'notification_id' | 'recipient_index'> => ({
  notification_id: ref?.notificationId,
  recipient_index: ref?.index,
});

/** The fields of every log line about a call. `more` takes precedence over the record. */
export const callFields = (
  { callId, alertType }: { readonly callId: CallId; readonly alertType: { readonly name: AlertTypeName } },
  known: CallRecord | undefined,
  more?: LogFields,
): LogFields => ({
  call_id: callId,
  ...recipientFields(known?.attempt),
  alert_type: alertType.name,
  recipient: known?.recipient,
  state: known?.state,
  outcome: known && outcomeOf(known)?.outcome,
  code: known?.code,
  sub_code: known?.subCode,
  reason: known?.reason,
  ...more,
});

/** Logs what became of an attempt to reach a recipient. */
export const logAttempt = (ref: AttemptRef, recipient: Recipient, attempt: Attempt, log: Log): void => {
  const fields = {
    call_id: attempt.callId,
    ...recipientFields(ref),
    recipient: maskPhoneNumber(recipient.number),
    attempt: recipient.attempts.indexOf(attempt) + 1,
    ...outcomeFields(attempt),
  };
  if (isReached(attempt.outcome)) log.info('attempt ended', fields);
  else log.warn('attempt ended', fields);
};

/** Logs what became of a recipient about whom nothing more will be done. */
export const logRecipient = (ref: AttemptRef, recipient: Recipient, log: Log): void => {
  const fields = {
    ...recipientFields(ref),
    recipient: maskPhoneNumber(recipient.number),
    status: recipient.state,
    attempts: recipient.attempts.length,
    ...outcomeFields(recipient.attempts.at(-1)),
  };
  if (recipient.state === 'heard') log.info('recipient reached', fields);
  else log.error('recipient not reached', fields);
};

const outcomeFields = (attempt: Attempt | undefined): LogFields => ({
  outcome: attempt?.outcome,
  code: attempt?.code,
  sub_code: attempt?.subCode,
  reason: attempt?.reason,
});

/** The fields of a failed request to the line. */
export const failureFields = (error: unknown): LogFields =>
  error instanceof PhoneLineError
    ? { code: error.code, sub_code: error.subCode, reason: error.reason }
    : { reason: 'unexpected error', kind: errorKind(error) };

/** The name of an error. Its message is never logged: it may hold keys or phone numbers. */
export const errorKind = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
