import type { LogFields } from '../log.ts';
import type { AlertType } from './alert-types.ts';
import type { CallId } from './call-id.ts';
import type { CallRecord } from './call-record.ts';
import { PhoneLineError } from './phone-line.ts';

/** The fields of every log line about a call. `more` takes precedence over the record. */
export const callFields = (
  { callId, alertType }: { readonly callId: CallId; readonly alertType: AlertType },
  known: CallRecord | undefined,
  more?: LogFields,
): LogFields => ({
  call_id: callId,
  request_id: known?.requestId,
  alert_type: alertType.name,
  recipient: known?.recipient,
  state: known?.state,
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
