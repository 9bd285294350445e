import type { FailedCode, WaitingCode } from '../calls/model/notification-request.ts';

/**
 * Every `code` that an answer may have, for machines; a person reads `detail` and `reason`. Within 1.x codes are added, none is renamed or
 * given another meaning. `GET /api/problems` shows them, and the `type` of a problem is the anchor of its code there.
 */

interface ProblemType {
  readonly status: number;
  /** The same for each problem of this type. */
  readonly title: string;
  /** The `detail` of a problem without its own `detail`; by default the title. */
  readonly detail?: string;
}

/** The problems, by code. */
export const PROBLEM_TYPES = {
  invalid_request: { status: 400, title: 'A parameter, a header or a body member is invalid: see errors' },
  events_refused: { status: 400, title: 'Some events are invalid: see errors. Valid events are stored' },
  not_cloudevents: { status: 400, title: 'The body must be a CloudEvent or an array of CloudEvents' },
  event_grid_schema: {
    status: 400,
    title: 'The events use the Event Grid schema',
    detail:
      'The events use the Event Grid schema. Set the delivery schema of the event subscription to CloudEvents v1.0 (--event-delivery-schema cloudeventschemav1_0).',
  },
  empty_body: { status: 400, title: 'The body is empty' },
  body_cut_off: { status: 400, title: 'The body ended before it was complete' },
  not_gzip: { status: 400, title: 'The body is not valid gzip' },
  not_utf8: { status: 400, title: 'The body is not valid UTF-8' },
  not_json: { status: 400, title: 'The body is not valid JSON' },
  not_authorised: { status: 401, title: 'The token or signature is missing or invalid' },
  not_found: { status: 404, title: 'No resource has this path' },
  unknown_notification: {
    status: 404,
    title: 'No notification has this id. It may have been deleted after CALL_RETENTION_DAYS',
  },
  method_not_allowed: { status: 405, title: 'The path does not accept this method' },
  length_required: { status: 411, title: 'The body did not arrive because it was sent in chunks. Send Content-Length' },
  body_too_large: { status: 413, title: 'The body is too large' },
  too_many_events: { status: 413, title: 'The request has too many events' },
  unsupported_encoding: { status: 415, title: 'The body has a Content-Encoding other than gzip' },
  key_reused: { status: 422, title: 'Another request used this Idempotency-Key in the last 24 hours' },
  waves_too_late: {
    status: 422,
    title: 'The last wave would begin after NOTIFICATION_DEADLINE_MINUTES',
    detail:
      'The last wave would begin after NOTIFICATION_DEADLINE_MINUTES. Send fewer waves or a shorter wave_seconds.',
  },
  impossible_number: { status: 422, title: 'No phone number in the request is valid' },
  nobody_allowed: { status: 422, title: 'PHONE_ALLOWED_PREFIXES allows none of these numbers: see calls' },
  unexpected: { status: 500, title: 'The service failed unexpectedly. The log has the error' },
  damaged_data: { status: 500, title: 'Stored data is damaged. The log names the command that examines it' },
  later_format: {
    status: 500,
    title: 'A newer version of the service wrote the stored data. This version cannot read it',
  },
  nobody_callable: { status: 502, title: 'No recipient can be called: see calls' },
  phone_off: { status: 503, title: 'The phone is off (PHONE=off). The service places no calls' },
  storage_unavailable: {
    status: 503,
    title: 'Storage is unavailable',
    detail:
      'Storage is unavailable, and the request was perhaps stored. Send it again later, a notification with the same Idempotency-Key: the service counts no event twice.',
  },
  day_held: { status: 503, title: 'The counters of a day are being rebuilt' },
  token_not_checked: {
    status: 503,
    title: 'The service cannot get the keys that verify the token. Send the callback again later',
  },
  unhealthy: { status: 503, title: 'The service cannot read its storage' },
} as const satisfies Readonly<Record<string, ProblemType>>;

/** The kind of a problem, for machines. */
export type ProblemCode = keyof typeof PROBLEM_TYPES;

const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEM_TYPES, code);

export const PROBLEM_CODES: readonly ProblemCode[] = Object.keys(PROBLEM_TYPES).filter(isProblemCode);

/** The faults of a parameter, a header, a member of the body or an event, by code. */
export const FAULTS = {
  unknown: 'No parameter or member has this name.',
  missing: 'The value is required, and is missing.',
  empty: 'The value is empty.',
  repeated: 'The parameter is given more than once.',
  invalid: 'The value has a wrong type or form, or is not one of the allowed values.',
  out_of_range: 'The number is below the minimum or above the maximum.',
  too_long: 'The text is too long.',
  too_many: 'There are too many items.',
  too_early: 'The time is too early.',
  too_late: 'The time is more than one day in the future, or the range is longer than 366 days.',
  reversed: 'The start of the range is after its end.',
  day_closed: 'The day of the event is closed: its counts are final.',
  changed_time: 'This event of this camera was first reported with another `ts_utc`.',
  not_storable: 'Storage cannot store the event.',
} as const satisfies Readonly<Record<string, string>>;

export type FaultCode = keyof typeof FAULTS;

/** Why a recipient is not called (yet), by the `code` in `calls`. */
export const CALL_REASONS = {
  impossible_number:
    'Failed: no number of this country has this length, or a trunk prefix such as 0 follows the country code.',
  not_allowed: 'Failed: `PHONE_ALLOWED_PREFIXES` does not allow this number.',
  refused: 'Failed: the telephone network or the phone service refuses this number, or the notification is over.',
  day_limit:
    '`CALLS_PER_DAY` is reached. Failed: it was reached when the request came. Waiting: until the next UTC day.',
  line: 'Waiting: no line is free (`CALLS_AT_ONCE`), or the call is being placed.',
  number: 'Waiting: the service is already calling this number.',
  pause: 'Waiting: the phone service had no capacity, or asked for a pause.',
  set_up: 'Waiting: the phone service rejects this app. An alert tells the operator.',
  later_wave: 'Waiting: its wave has not begun.',
  redial: 'Waiting: it is called again after `CALL_RETRY_SECONDS`.',
} as const satisfies Readonly<Record<FailedCode | WaitingCode, string>>;

/** The detail of a problem by default. */
export const defaultDetail = (code: ProblemCode): string => {
  const { title, detail = `${title}.` }: ProblemType = PROBLEM_TYPES[code];
  return detail;
};

const PAGE = '/api/problems';

/** The `type` of a problem: a reference to its anchor on the page of codes. */
export const problemType = (code: ProblemCode): string => `${PAGE}#${code}`;
