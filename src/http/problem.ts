import type { HttpResponseInit } from '@azure/functions';

import { type FaultCode, PROBLEM_TYPES, type ProblemCode, problemType } from './problem-types.ts';

/**
 * One of several things that are wrong: a parameter, a header, a member of the body, or an element of the body's array. What is not known
 * is left out.
 */
export interface ProblemError {
  readonly code: FaultCode;
  /** The parameter, the header, or the members on the way to what is wrong: `data.camera_id`. */
  readonly field?: string;
  /** Where it is in the body, as a JSON Pointer (RFC 6901). */
  readonly pointer?: string;
  /** Of an array of events or recipients; recipients in waves are counted through. */
  readonly index?: number;
  /** Of the CloudEvent. */
  readonly id?: string;
  readonly event_id?: string;
  readonly camera_id?: string;
  readonly detail: string;
}

/** What a problem says besides its code. */
export interface ProblemInit {
  /** For the caller to read and act on; never a stack, a key, a phone number or an SDK's message. By default that of the code. */
  readonly detail?: string;
  readonly errors?: readonly ProblemError[];
  /** Further members of the body, as RFC 9457 allows. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The statuses a problem may have. */
export type ProblemStatus = (typeof PROBLEM_TYPES)[ProblemCode]['status'];

/** All of them, ascending. */
export const PROBLEM_STATUSES: readonly ProblemStatus[] = [
  ...new Set(Object.values(PROBLEM_TYPES).map(({ status }) => status)),
].toSorted((one, other) => one - other);

/** An error with an HTTP status. Thrown anywhere in `http/`; the error edge answers it. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly init: ProblemInit;

  constructor(code: ProblemCode, init: ProblemInit = {}, options?: ErrorOptions) {
    super(init.detail ?? PROBLEM_TYPES[code].detail, options);
    this.code = code;
    this.init = init;
  }
}

/** The body of a problem (RFC 9457). */
export const problemBody = (code: ProblemCode, { detail, errors, extensions }: ProblemInit) => {
  const known = PROBLEM_TYPES[code];
  return {
    type: problemType(code),
    title: known.title,
    status: known.status,
    code,
    detail: detail ?? known.detail,
    ...(errors === undefined ? {} : { errors }),
    ...extensions,
  };
};

/** A problem as an answer. */
export const problemResponse = ({ code, init }: Problem): HttpResponseInit => ({
  status: PROBLEM_TYPES[code].status,
  headers: { 'content-type': PROBLEM_MEDIA_TYPE, ...init.headers },
  body: JSON.stringify(problemBody(code, init)),
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
    .map(
      ({ index, field, detail }) =>
        `${index === undefined ? (field ?? 'the request') : `${element} ${index}`} ${detail}`,
    );
  const more = errors.length > sentences.length ? [`and ${errors.length - sentences.length} more`] : [];
  return new Problem('invalid_request', { detail: [...sentences, ...more].join('; '), errors });
};

const MAX_QUOTED = 64;

/** A name that the caller chose, safe to answer: it may be very long, or a phone number. */
export const quotable = (name: string): string => {
  const safe = name.replace(/\d{7,}/g, '…');
  if (safe === '') return '(no name)';
  return safe.length > MAX_QUOTED ? `${safe.slice(0, MAX_QUOTED)}…` : safe;
};
