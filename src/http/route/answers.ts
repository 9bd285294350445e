import * as z from 'zod';

import type { CsvRows } from '../../csv.ts';
import type { ProblemCode } from '../problem-types.ts';
import type { ProblemInit, ProblemStatus } from '../problem.ts';

/**
 * An answer of an operation that did what it was asked, as its declaration has it.
 *
 * With a `schema` alone the body is JSON; with a `mediaType` the handler gives the body as text or bytes.
 */
export interface Answer {
  readonly description: string;
  readonly headers?: z.ZodObject;
  readonly schema?: z.ZodType;
  readonly mediaType?: string;
  /** An example of the table that a caller gets who prefers `text/csv`; undefined: there is no such table. */
  readonly csv?: string;
  /** Examples of the body, by name. */
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** The answers of an operation by status; problems are not among them. */
export type Answers = Readonly<Record<number, Answer>>;

/** What a handler may give, by its operation's answers: a declared status, with the body and the headers declared for it. */
export type Given<Of extends Answers> = {
  [Status in keyof Of]: { readonly status: Status } & GivenBody<Of[Status]> &
    GivenHeaders<Of[Status]> &
    (Of[Status] extends { csv: string } ? { readonly csv: () => CsvRows } : unknown);
}[keyof Of];

type GivenBody<Of> = Of extends { mediaType: string }
  ? { readonly body: string | Uint8Array }
  : Of extends { schema: infer Schema extends z.ZodType }
    ? { readonly jsonBody: Immutable<z.input<Schema>> }
    : unknown;

type GivenHeaders<Of> = Of extends { headers: infer Headers extends z.ZodObject }
  ? { readonly headers: Immutable<z.input<Headers>> }
  : unknown;

type Immutable<Value> = Value extends object ? { readonly [Key in keyof Value]: Immutable<Value[Key]> } : Value;

/** A problem that an operation may answer, as its declaration has it: when, and an example of what it says. */
export interface ProblemAnswer extends Omit<ProblemInit, 'headers'> {
  /** Those that it may have; the example has the first. */
  readonly codes: readonly [ProblemCode, ...ProblemCode[]];
  readonly description: string;
  readonly headers?: z.ZodObject;
  /** Where the problem has members of its own; {@link problemSchema} where it is not given. */
  readonly schema?: z.ZodType;
}

/** The problems of an operation by status. */
export type ProblemAnswers = Readonly<Partial<Record<ProblemStatus, ProblemAnswer>>>;

const count = z.int().min(0);

const CODE_FORM = /^[a-z][a-z0-9_]*$/;

/** The members of every problem (RFC 9457). */
export const problemMembers = {
  type: z.string().meta({ format: 'uri-reference' }).describe('The anchor of the code on the page of codes.'),
  title: z.string(),
  status: z.int().min(400).max(599),
  code: z.string().regex(CODE_FORM).describe('For machines; all codes are on the page of `type`. New ones may come.'),
  detail: z.string().describe('For a person to read and act on.'),
  errors: z
    .array(
      z
        .strictObject({
          code: z.string().regex(CODE_FORM).describe('For machines. New ones may come.'),
          field: z
            .string()
            .optional()
            .describe('The parameter, the header, or the members on the way to what is wrong.'),
          pointer: z.string().optional().describe('Where it is in the body: a JSON Pointer (RFC 6901).'),
          index: count
            .optional()
            .describe('Of an array of events or recipients; recipients in waves are counted through.'),
          id: z.string().optional().describe('Of the CloudEvent, if it can be told.'),
          event_id: z.string().optional().describe('The event that the element is about, if it can be told.'),
          camera_id: z.string().optional().describe('Its camera, if it can be told.'),
          detail: z.string(),
        })
        .meta({ id: 'ProblemError' }),
    )
    .optional()
    .describe('Every single thing that is wrong.'),
};

/** A problem without members of its own. */
export const problemSchema = z.strictObject(problemMembers).meta({ id: 'Problem' });

/** A header of answers, described once under its name. */
export const answerHeader = <Schema extends z.ZodType>(id: string, schema: Schema, description: string): Schema =>
  schema.meta({ header: { id, description } });

/** The header that says when to try again. */
export const RETRY_AFTER = z.object({
  'Retry-After': answerHeader(
    'Retry-After',
    z.string().regex(/^\d+$/),
    'Seconds to wait before sending the same again.',
  ),
});

/** The header of each answer that names the request, as the log does. */
export const REQUEST_ID = 'X-Request-Id';

/** What the description says about it. Answers of the Functions host itself have none. */
export const requestIdHeader = {
  [REQUEST_ID]: answerHeader(
    REQUEST_ID,
    z.string().min(1).optional(),
    'Names this request, as `invocation_id` does in each log line about it.',
  ),
};

/** The header that says which methods a path takes. */
export const ALLOW = z.object({
  Allow: z.string().meta({ header: { description: 'The methods that this path takes.' } }),
});

/** What every endpoint that uses the counters may answer, see the error edge. */
export const STORAGE_PROBLEMS: ProblemAnswers = {
  500: {
    codes: ['damaged_data', 'later_format', 'unexpected'],
    description: 'Stored data is damaged, or something unforeseen went wrong. It has been logged.',
    detail: 'Stored data of 2026-11-21 is damaged. It has been logged with the command that examines it.',
  },
  503: {
    codes: ['storage_unavailable'],
    description: 'Storage cannot do this now, or did not answer in time. Send the same again.',
    headers: RETRY_AFTER,
  },
};
