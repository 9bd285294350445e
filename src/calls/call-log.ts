import type { LogFields } from '../log.ts';
import type { AlertTypeName } from './alert-types.ts';
import type { AttemptRef } from './call-context.ts';
import type { CallId } from './call-id.ts';
import { outcomeOf } from './call-outcome.ts';
import type { CallRecord } from './call-record.ts';
import { PhoneLineError } from './phone-line.ts';

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

/** The fields of a failed request to the line. */
export const failureFields = (error: unknown): LogFields =>
  error instanceof PhoneLineError
    ? { code: error.code, sub_code: error.subCode, reason: error.reason }
    : { reason: 'unexpected error', kind: errorKind(error) };

/** The name of an error. Its message is never logged: it may hold keys or phone numbers. */
export const errorKind = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
