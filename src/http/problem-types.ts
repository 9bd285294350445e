import type { FailedCode, WaitingCode } from '../calls/model/notification-request.ts';

/**
 * Every `code` that an answer may have, for machines; a person reads `detail` and `reason`. Within 1.x codes are added, none is renamed or
 * given another meaning. `GET /api/problems` shows them, and the `type` of a problem is the anchor of its code there.
 */

interface ProblemType {
  readonly status: number;
  /** The same for each problem of this type. */
  readonly title: string;
  /** The `detail` of a problem that has no more to say; by default the title. */
  readonly detail?: string;
}

/** The problems, by code. */
export const PROBLEM_TYPES = {
  invalid_request: { status: 400, title: 'A parameter, a header or a member of the body is wrong: see errors' },
  events_refused: { status: 400, title: 'Some events are wrong: see errors. The others are recorded' },
  not_cloudevents: { status: 400, title: 'The body must be a CloudEvent or an array of CloudEvents' },
  event_grid_schema: {
    status: 400,
    title: 'The events are in the schema of Event Grid',
    detail:
      'These events are in the schema of Event Grid. Set the delivery schema of the event subscription to CloudEvents v1.0 (--event-delivery-schema cloudeventschemav1_0).',
  },
  empty_body: { status: 400, title: 'The body is empty' },
  not_gzip: { status: 400, title: 'The body is not valid gzip' },
  not_utf8: { status: 400, title: 'The body is not valid UTF-8' },
  not_json: { status: 400, title: 'The body is not valid JSON' },
  not_authorised: { status: 401, title: 'Not authorised' },
  not_found: { status: 404, title: 'There is nothing of this name' },
  unknown_notification: { status: 404, title: 'There is no notification of this id, or not any more' },
  method_not_allowed: { status: 405, title: 'The path does not take this method' },
  length_required: { status: 411, title: 'The body came in chunks and did not arrive: send Content-Length' },
  body_too_large: { status: 413, title: 'The body is too large' },
  too_many_events: { status: 413, title: 'There are too many events' },
  unsupported_encoding: { status: 415, title: 'The body has a Content-Encoding other than gzip' },
  key_reused: { status: 422, title: 'This Idempotency-Key was used for another request in the last 24 hours' },
  waves_too_late: {
    status: 422,
    title: 'The last wave would begin after NOTIFICATION_DEADLINE_MINUTES',
    detail: 'The last wave would begin after NOTIFICATION_DEADLINE_MINUTES: fewer waves, or less time between them.',
  },
  impossible_number: { status: 422, title: 'No recipient has a number that can exist' },
  nobody_allowed: { status: 422, title: 'None of the recipients may be called' },
  unexpected: { status: 500, title: 'Something went wrong here. It has been logged' },
  damaged_data: { status: 500, title: 'Stored data is damaged. It has been logged with the command that examines it' },
  later_format: { status: 500, title: 'Stored data has a later format than this version of the service knows' },
  nobody_callable: { status: 502, title: 'None of the calls could be placed: see calls' },
  phone_off: { status: 503, title: 'The phone is switched off here (PHONE=off): nobody is called' },
  storage_unavailable: {
    status: 503,
    title: 'Storage cannot do this now',
    detail: 'Storage cannot do this now. Nothing is lost by sending the same again.',
  },
  token_not_checked: { status: 503, title: 'The token cannot be checked now' },
  unhealthy: { status: 503, title: 'The service cannot work now' },
} as const satisfies Readonly<Record<string, ProblemType>>;

/** What a problem is, for machines. */
export type ProblemCode = keyof typeof PROBLEM_TYPES;

const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEM_TYPES, code);

/** All of them. */
export const PROBLEM_CODES: readonly ProblemCode[] = Object.keys(PROBLEM_TYPES).filter(isProblemCode);

/** The faults of a parameter, a header, a member of the body or an event, by code. */
export const FAULTS = {
  unknown: 'There is no parameter or member of this name.',
  missing: 'It is required and was not given.',
  empty: 'It is empty.',
  repeated: 'It is given more than once.',
  invalid: 'It has another type or form than it must have, or is none of the values that it may have.',
  out_of_range: 'The number is below the least or above the greatest.',
  too_long: 'The text is too long.',
  too_many: 'There are too many of them.',
  too_early: 'The time is too early.',
  too_late: 'The time is too late: more than a day ahead of now, or further from the start of a range than it may be.',
  reversed: 'The start of a range is after its end.',
  day_closed: 'The day of the event is closed: its counts are final.',
  changed_time: 'This event of this camera was first reported with another `ts_utc`.',
  not_storable: 'Storage does not take the event in this form.',
} as const satisfies Readonly<Record<string, string>>;

/** A fault, for machines. */
export type FaultCode = keyof typeof FAULTS;

/** Why a recipient is not called (yet), by the `code` in `calls`. */
export const CALL_REASONS = {
  impossible_number: 'Failed: no number of this country has this length.',
  not_allowed: 'Failed: `PHONE_ALLOWED_PREFIXES` does not allow this number.',
  refused: 'Failed: the telephone network or the phone service refuses this number, or the notification is over.',
  day_limit:
    'The calls of this UTC day are used up (`CALLS_PER_DAY`): failed if they were when the request came, else waiting for the next day.',
  line: 'Waiting: no line is free (`CALLS_AT_ONCE`), or the call is being placed.',
  number: 'Waiting: another call of this service to the same number is under way.',
  pause: 'Waiting: the phone service had no capacity, or asked for a pause.',
  set_up: 'Waiting: the phone service does not accept this app. An operator has been told.',
  later_wave: 'Waiting: its wave has not begun.',
  redial: 'Waiting: it is called again after `CALL_RETRY_SECONDS`.',
} as const satisfies Readonly<Record<FailedCode | WaitingCode, string>>;

/** What a problem of a code says if there is no more to say. */
export const defaultDetail = (code: ProblemCode): string => {
  const { title, detail = `${title}.` }: ProblemType = PROBLEM_TYPES[code];
  return detail;
};

const PAGE = '/api/problems';

/** The `type` of a problem: a reference to its anchor on the page of codes. */
export const problemType = (code: ProblemCode): string => `${PAGE}#${code}`;
