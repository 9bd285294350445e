import type { HttpHandler, HttpRequest, HttpResponseInit, InvocationContext } from '@azure/functions';

import { invocationLog } from '../log.ts';

/** One of several things that are wrong: a field (a query parameter, a property) or an element of the body's array. */
export type ProblemError =
  { readonly field: string; readonly detail: string } | { readonly index: number; readonly detail: string };

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
  409: 'Conflict',
  413: 'Content Too Large',
  422: 'Unprocessable Content',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
} as const;

/** The statuses a problem may have. */
export type ProblemStatus = keyof typeof TITLES;

const MOST_QUOTED = 64;

/** A name that a caller made up, fit to be answered: it may be very long, or a phone number. */
export const quotable = (name: string): string => {
  const safe = name.replace(/\d{7,}/g, '…');
  if (safe === '') return '(no name)';
  return safe.length > MOST_QUOTED ? `${safe.slice(0, MOST_QUOTED)}…` : safe;
};

/** An error with an HTTP status, thrown anywhere in `http/` and answered by {@link answering}. */
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

/** A problem as `application/problem+json` (RFC 9457). */
export const problemResponse = ({ status, init }: Problem): HttpResponseInit => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...init.headers },
  body: JSON.stringify({
    type: 'about:blank',
    title: TITLES[status],
    status,
    detail: init.detail,
    ...(init.errors === undefined ? {} : { errors: init.errors }),
    ...init.extensions,
  }),
});

/** An area's typed errors → the problem they mean; undefined for an error that is not one of them. */
export type ProblemOf = (error: unknown) => Problem | undefined;

/**
 * The one error edge: wraps a handler so that whatever it throws becomes a problem. What nobody expected is a 500
 * that says nothing; its kind goes to the log, its message does not (an SDK's may hold keys or phone numbers).
 */
export const answering =
  (handle: HttpHandler, problemOf: ProblemOf = () => undefined): HttpHandler =>
  async (request: HttpRequest, context: InvocationContext) => {
    try {
      return await handle(request, context);
    } catch (error) {
      const problem = error instanceof Problem ? error : problemOf(error);
      if (problem !== undefined) return problemResponse(problem);
      invocationLog(context).error('unexpected error', describeUnexpected(error));
      return problemResponse(new Problem(500, { detail: 'Something went wrong here. It has been logged.' }));
    }
  };

/** The kind of an unknown error and where it came from, without its message. */
const describeUnexpected = (error: unknown): { kind: string; at: string | undefined } => {
  if (!(error instanceof Error)) return { kind: typeof error, at: undefined };
  const frames = error.stack?.split('\n').filter((text) => /^\s+at /.test(text)) ?? [];
  return {
    kind: error.name,
    at: frames
      .slice(0, 8)
      .map((text) => text.trim())
      .join(' < '),
  };
};
