import type { HttpRequest } from '@azure/functions';
import type * as z from 'zod';

import { badRequest, Problem, type ProblemError } from '../problem.ts';

/** A request's body: what the description says of it, and how it is read. */
export interface RequestBody<Value> {
  /** The most it may have, in bytes. */
  readonly maxBytes: number;
  /** Media type → what such a body is; for the description alone, every body is read as JSON. */
  readonly content: Readonly<Record<string, DescribedContent>>;
  /**
   * JSON value → what the handler gets.
   *
   * @throws {Problem} where it is not what it should be
   */
  readonly parse: (json: unknown) => Value;
}

/** The schema of a body, and examples by name. */
export interface DescribedContent {
  readonly schema: z.ZodType;
  readonly examples: Readonly<Record<string, unknown>>;
}

/** What {@link jsonBody} needs besides the schema. */
export interface JsonBodyOptions {
  /** The most it may have, in bytes. */
  readonly maxBytes: number;
  readonly examples: Readonly<Record<string, unknown>>;
  /** What an array in the body holds, for sentences about one of its elements. */
  readonly element?: string;
}

/**
 * A JSON body that a schema checks as a whole: a 400 names everything that is wrong with it.
 *
 * @example body: jsonBody(notificationSchema, { maxBytes: 65_536, examples: { one: { channel: 'phone', … } } })
 */
export const jsonBody = <Schema extends z.ZodType>(
  schema: Schema,
  { maxBytes, examples, element }: JsonBodyOptions,
): RequestBody<z.output<Schema>> => ({
  maxBytes,
  content: { 'application/json': { schema, examples } },
  parse: (json) => {
    const parsed = schema.safeParse(json);
    if (!parsed.success) throw badRequest(parsed.error.issues.flatMap(bodyErrors), element);
    return parsed.data;
  },
});

/** An element of an array by its index, anything else by its field. */
const bodyErrors = (issue: z.core.$ZodIssue): readonly ProblemError[] => {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ field: fieldName(key), detail: 'is unknown' }));
  }
  const index = issue.path.find((step) => typeof step === 'number');
  if (index !== undefined) return [{ index, detail: issue.message }];
  return [{ field: issue.path.join('.') || 'body', detail: issue.message }];
};

// A field's name is the caller's own: it may be long, or a phone number.
const fieldName = (name: string): string => (/^[A-Za-z][\w.-]{0,39}$/.test(name) ? name : 'unknown field');

/** The sentence about a body that is too large. */
export const tooLargeDetail = (maxBytes: number): string => `The body is larger than ${maxBytes} bytes.`;

/**
 * The JSON value in a request's body.
 *
 * @param maxBytes the most the body may have, in bytes
 * @throws {Problem} 413 where the body is larger; 400 where it is missing, not UTF-8 or not JSON
 */
export const readJson = async (request: HttpRequest, maxBytes: number): Promise<unknown> => {
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > maxBytes) throw new Problem(413, { detail: tooLargeDetail(maxBytes) });
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.byteLength > maxBytes) throw new Problem(413, { detail: tooLargeDetail(maxBytes) });
  if (bytes.byteLength === 0) throw new Problem(400, { detail: 'The body is empty.' });
  return parseJson(decodeUtf8(bytes));
};

const decodeUtf8 = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Problem(400, { detail: 'The body is not valid UTF-8.' }, { cause: error });
  }
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem(400, { detail: 'The body is not valid JSON.' }, { cause: error });
  }
};
