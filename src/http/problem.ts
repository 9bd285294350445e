import type { HttpResponseInit } from '@azure/functions';

/**
 * One of several things that are wrong: a field (parameter, header, property), or an element of the body's array, then with the field in
 * it and the id of the event that the element is about, if they are known.
 */
export type ProblemError =
  | { readonly field: string; readonly detail: string }
  | { readonly index: number; readonly event_id?: string; readonly field?: string; readonly detail: string };

/** What a problem says besides its status. */
export interface ProblemInit {
  /** For the caller to read and act on; never a stack, a key, a phone number or an SDK's message. */
  readonly detail: string;
  readonly errors?: readonly ProblemError[];
  /** Further members of the body, as RFC 9457 allows. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const TITLES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  411: 'Length Required',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
} as const;

/** The statuses a problem may have. */
export type ProblemStatus = keyof typeof TITLES;

/** All of them, ascending. */
export const PROBLEM_STATUSES: readonly ProblemStatus[] = [400, 401, 404, 405, 411, 413, 415, 422, 500, 502, 503];

/** An error with an HTTP status. Thrown anywhere in `http/`; the error edge answers it. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: ProblemStatus;
  readonly init: ProblemInit;

  constructor(status: ProblemStatus, init: ProblemInit, options?: ErrorOptions) {
    super(init.detail, options);
    this.status = status;
    this.init = init;
  }
}

/** The body of a problem (RFC 9457). */
export const problemBody = (status: ProblemStatus, { detail, errors, extensions }: ProblemInit) => ({
  type: 'about:blank',
  title: TITLES[status],
  status,
  detail,
  ...(errors === undefined ? {} : { errors }),
  ...extensions,
});

/** A problem as an answer. */
export const problemResponse = ({ status, init }: Problem): HttpResponseInit => ({
  status,
  headers: { 'content-type': PROBLEM_MEDIA_TYPE, ...init.headers },
  body: JSON.stringify(problemBody(status, init)),
});

/** The media type of every problem. */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

const ERRORS_IN_DETAIL = 3;

/**
 * A 400 that names everything that is wrong; `detail` repeats the first few.
 *
 * @param element what the array of the body holds, where errors have an index
 */
export const badRequest = (errors: readonly ProblemError[], element = 'element'): Problem => {
  const sentences = errors
    .slice(0, ERRORS_IN_DETAIL)
    .map((error) => `${'index' in error ? `${element} ${error.index}` : error.field} ${error.detail}`);
  const more = errors.length > sentences.length ? [`and ${errors.length - sentences.length} more`] : [];
  return new Problem(400, { detail: [...sentences, ...more].join('; '), errors });
};

const MAX_QUOTED = 64;

/** A name that the caller chose, safe to answer: it may be very long, or a phone number. */
export const quotable = (name: string): string => {
  const safe = name.replace(/\d{7,}/g, '…');
  if (safe === '') return '(no name)';
  return safe.length > MAX_QUOTED ? `${safe.slice(0, MAX_QUOTED)}…` : safe;
};
