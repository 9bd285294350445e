import type { HttpResponseInit } from '@azure/functions';
import * as z from 'zod';

import { MASKED_NUMBER_PATTERN } from '../calls/model/phone-number.ts';
import { defaultDetail, type FaultCode, PROBLEM_TYPES, type ProblemCode, problemType } from './problem-types.ts';

const count = z.int().min(0);

const CODE_FORM = /^[a-z][a-z0-9_]*$/;

const problemError = z
  .object({
    code: z.string().regex(CODE_FORM).describe('For machines. New codes may come.'),
    field: z.string().optional().describe('The parameter, the header, or the path of members in the body.'),
    pointer: z.string().optional().describe('The place in the body: a JSON Pointer (RFC 6901).'),
    index: count
      .optional()
      .describe('The index in an array of events or recipients; recipients in waves are numbered across all waves.'),
    id: z.string().optional().describe('The id of the CloudEvent, if it can be read.'),
    event_id: z.string().optional().describe('The event that the element is about, if it can be read.'),
    camera_id: z.string().optional().describe('Its camera, if it can be read.'),
    detail: z.string(),
  })
  .meta({ id: 'ProblemError' });

/** One of several things that are wrong. */
export interface ProblemError extends Readonly<z.output<typeof problemError>> {
  readonly code: FaultCode;
}

const failedCall = z
  .object({
    recipient: z.string().regex(MASKED_NUMBER_PATTERN).describe('The number, masked.'),
    status: z.literal('failed'),
    code: z.string().regex(CODE_FORM).describe('For machines. New codes may come.'),
    reason: z.string().min(1).describe('In words.'),
  })
  .meta({ id: 'FailedCall' });

/** A recipient who cannot be called. A problem is logged and passed on, so the number is masked. */
export type FailedCall = Readonly<z.output<typeof failedCall>>;

/** The maximum number of faults in an answer: a small wrong request must not cause a large answer. */
export const MAX_ERRORS = 100;

/** A problem (RFC 9457). Members that only some codes have are optional. */
export const problemSchema = z
  .object({
    type: z.string().meta({ format: 'uri-reference' }).describe('The anchor of the code on the page of codes.'),
    title: z.string(),
    status: z.int().min(400).max(599),
    code: z.string().regex(CODE_FORM).describe('For machines; `type` leads to what it means. New codes may come.'),
    detail: z.string().describe('For a person to read and act on.'),
    errors: z.array(problemError).max(MAX_ERRORS).optional().describe(`The faults, the first ${MAX_ERRORS} of them.`),
    errors_total: count.optional().describe('How many faults there are in all, if `errors` lacks some.'),
    recorded: count.optional().describe('With `events_refused`: the events that stored something new.'),
    unchanged: count.optional().describe('With `events_refused`: the events that changed nothing.'),
    superseded: count
      .optional()
      .describe('With `events_refused`: the unchanged events with a value that was superseded.'),
    notification_id: z.string().optional().describe('With `nobody_callable`.'),
    calls: z.array(failedCall).optional().describe('Why each recipient is not called.'),
  })
  .meta({ id: 'Problem' });

/** The parts of a problem in addition to its code. */
export interface ProblemInit {
  /** For the caller to read and act on; never a stack, a key, a phone number or an SDK's message. By default the title of the code. */
  readonly detail?: string;
  /** At most {@link MAX_ERRORS}. */
  readonly errors?: readonly ProblemError[];
  /** The number of all faults; by default the length of `errors`. */
  readonly total?: number;
  /** Members that only problems of this code have, as RFC 9457 allows. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ProblemStatus = (typeof PROBLEM_TYPES)[ProblemCode]['status'];

export const PROBLEM_STATUSES: readonly ProblemStatus[] = [
  ...new Set(Object.values(PROBLEM_TYPES).map(({ status }) => status)),
].toSorted((one, other) => one - other);

/** An error with an HTTP status. Thrown anywhere in `http/`; the error edge answers it. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly init: ProblemInit;

  constructor(code: ProblemCode, init: ProblemInit = {}, options?: ErrorOptions) {
    super(init.detail ?? defaultDetail(code), options);
    this.code = code;
    this.init = init;
  }
}

export const problemBody = (
  code: ProblemCode,
  { detail = defaultDetail(code), errors, total = 0, extensions }: ProblemInit = {},
) => {
  const { title, status } = PROBLEM_TYPES[code];
  const errors_total = total > (errors?.length ?? 0) ? total : undefined;
  return { type: problemType(code), title, status, code, detail, errors, errors_total, ...extensions };
};

export const problemResponse = ({ code, init }: Problem): HttpResponseInit => ({
  status: PROBLEM_TYPES[code].status,
  headers: { 'content-type': PROBLEM_MEDIA_TYPE, ...init.headers },
  body: JSON.stringify(problemBody(code, init)),
});

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

const ERRORS_IN_DETAIL = 3;

/**
 * A 400 that names everything that is wrong, up to {@link MAX_ERRORS} faults; `detail` repeats the first few.
 *
 * @param element the noun for an element of the body's array, if errors have an index
 * @param total how many faults there are in all
 */
export const badRequest = (errors: readonly ProblemError[], element = 'element', total = errors.length): Problem => {
  const sentences = errors
    .slice(0, ERRORS_IN_DETAIL)
    .map(
      ({ index, field, detail }) =>
        `${field ?? (index === undefined ? 'the request' : `${element} ${index}`)} ${detail}`,
    );
  const more = total > sentences.length ? [`and ${total - sentences.length} more`] : [];
  const detail = [...sentences, ...more].join('; ');
  return new Problem('invalid_request', { detail, errors: errors.slice(0, MAX_ERRORS), total });
};

const MAX_QUOTED = 64;

/** A name that the caller chose, made safe for an answer: it may be very long, or a phone number. */
export const quotable = (name: string): string => {
  const safe = name.replace(/\d{7,}/g, '…');
  if (safe === '') return '(no name)';
  return safe.length > MAX_QUOTED ? `${safe.slice(0, MAX_QUOTED)}…` : safe;
};
