import * as z from 'zod';

import type { CsvRows } from '../../csv.ts';
import type { ProblemCode } from '../problem-types.ts';

/**
 * An answer of a successful operation, as declared.
 *
 * With a `schema` alone the body is JSON; with a `mediaType` the handler gives the body as text or bytes.
 */
export interface Answer {
  readonly description: string;
  readonly headers?: z.ZodObject;
  readonly schema?: z.ZodType;
  readonly mediaType?: string;
  /** True: the answer is also a table, see `withTable`. */
  readonly hasTable?: true;
}

/** The answers of an operation by status; problems are not among them. */
export type Answers = Readonly<Record<number, Answer>>;

/** A valid result of an operation's handler: a declared status, with the body and the headers declared for it. */
export type Given<Of extends Answers> = {
  [Status in keyof Of]: { readonly status: Status } & GivenBody<Of[Status]> &
    GivenHeaders<Of[Status]> &
    (Of[Status] extends { hasTable: true } ? { readonly csv: () => CsvRows } : unknown);
}[keyof Of];

type GivenBody<Of> = Of extends { mediaType: string }
  ? { readonly body: string | Uint8Array } | { readonly staticBody: StaticBody }
  : Of extends { schema: infer Schema extends z.ZodType }
    ? { readonly jsonBody: Immutable<z.input<Schema>> } | { readonly unlistedBody: unknown }
    : unknown;

type GivenHeaders<Of> = Of extends { headers: infer Headers extends z.ZodObject }
  ? { readonly headers: Immutable<z.input<Headers>> }
  : unknown;

type Immutable<Value> = Value extends object ? { readonly [Key in keyof Value]: Immutable<Value[Key]> } : Value;

/** The result of any handler. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** The body as text or bytes; it has the declared media type. */
  readonly body?: string | Uint8Array;
  /** In place of `body`, if the answer is conditional. */
  readonly staticBody?: StaticBody;
  readonly jsonBody?: unknown;
  /** In place of `jsonBody`: a body that the description mentions only in words, because a hidden parameter selects it. */
  readonly unlistedBody?: unknown;
  /** Of a conditional answer: the same as a table, for a caller who prefers `text/csv`. */
  readonly csv?: () => CsvRows;
}

/** A body that is the same for all callers while the process runs. Both forms are made once: compressing costs more than a request. */
export interface StaticBody {
  /** The strong tag of the plain body. */
  readonly etag: string;
  readonly plain: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** A count in an answer. */
export const count = z.int().min(0);

/** A header of answers, described once under its name. */
export const answerHeader = <Schema extends z.ZodType>(id: string, schema: Schema, description: string): Schema =>
  schema.meta({ header: { id, description } });

/** The header of each answer that names the request, as the log does. */
export const REQUEST_ID = 'X-Request-Id';

/** The header's description. Answers of the Functions host itself lack the header. */
export const requestIdHeader = {
  [REQUEST_ID]: answerHeader(
    REQUEST_ID,
    z.string().min(1).optional(),
    'Names this request, as `invocation_id` does in each log line about it.',
  ),
};

/** The header that lists the methods of a path. */
export const allowHeader = { Allow: answerHeader('Allow', z.string(), 'The methods that this path takes.') };

/** The problems of every endpoint that counts or answers counts, see the error edge. */
export const STORAGE_PROBLEMS = [
  'damaged_data',
  'later_format',
  'storage_unavailable',
  'day_held',
] as const satisfies readonly ProblemCode[];
