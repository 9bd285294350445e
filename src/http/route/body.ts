import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

import type { HttpRequest } from '@azure/functions';
import type * as z from 'zod';

import { badRequest, MAX_ERRORS, Problem, type ProblemError, quotable } from '../problem.ts';
import { type Fault, faultsOf, fieldOf, listed, pointerOf, valueAt } from './faults.ts';

/** A request's body: its description, and how it is read. */
export interface RequestBody<Value> {
  /** The maximum size, in bytes. */
  readonly maxBytes: number;
  /** Media type → what such a body is; for the description alone. */
  readonly content: Readonly<Record<string, DescribedContent>>;
  /** How it is read; as JSON if it is not given. */
  readonly format?: 'form';
  /** A request may come without it: then `parse` gets undefined. */
  readonly isOptional?: boolean;
  /**
   * JSON value, or the parameters of a form (each once) → what the handler gets.
   *
   * @param headers the headers of the request
   * @throws {Problem} if the body is wrong
   */
  readonly parse: (json: unknown, headers: BodyHeaders) => Value;
}

export type BodyHeaders = Pick<HttpRequest['headers'], 'get'>;

/** The schema of a body, and examples by name. */
export interface DescribedContent {
  readonly schema: z.ZodType;
  readonly examples: Readonly<Record<string, unknown>>;
}

export interface JsonBodyOptions {
  /** The maximum size, in bytes. */
  readonly maxBytes: number;
  readonly examples: Readonly<Record<string, unknown>>;
  /** The noun for an element of an array in the body, for sentences about a fault. */
  readonly element?: string;
  /** The sentence about a member that the schema does not have. */
  readonly unknownDetail?: (name: string) => string;
}

/**
 * A JSON body that a schema checks as a whole: a 400 names everything that is wrong with it.
 *
 * @example body: jsonBody(notificationSchema, { maxBytes: 65_536, examples: { one: { channel: 'phone', … } } })
 */
export const jsonBody = <Schema extends z.ZodType>(
  schema: Schema,
  { maxBytes, examples, element, unknownDetail }: JsonBodyOptions,
): RequestBody<z.output<Schema>> => ({
  maxBytes,
  content: { 'application/json': { schema, examples } },
  parse: (json) => {
    const parsed = schema.safeParse(json);
    if (parsed.success) return parsed.data;
    const { first, total } = listed(faultsOf(parsed.error, json, unknownDetail), MAX_ERRORS);
    throw badRequest(
      first.map((one) => bodyError(one, indexIn(json, one.path))),
      element,
      total,
    );
  },
});

/** An element of an array by its index, a member of it by index and field, anything else by its field. */
const bodyError = ({ code, path, detail }: Fault, index: number | undefined): ProblemError => ({
  code,
  index,
  field: index === undefined || typeof path.at(-1) === 'string' ? fieldOf(path) || 'body' : undefined,
  pointer: pointerOf(path),
  detail,
});

/**
 * The index of the faulty element of an array; undefined if the fault is not in an element. Elements of inner arrays are numbered across all of them.
 */
const indexIn = (json: unknown, path: readonly PropertyKey[]): number | undefined => {
  const depth = path.findIndex((step) => typeof step === 'number');
  const [outer, inner] = path.slice(depth);
  const list = valueAt(json, path.slice(0, depth));
  if (typeof outer !== 'number' || !Array.isArray(list) || Array.isArray(valueAt(json, path))) return undefined;
  return list.slice(0, outer).flat().length + (typeof inner === 'number' ? inner : 0);
};

/**
 * The value in a request's body: JSON, or the parameters of a form.
 *
 * @throws {Problem} 411 if it came in chunks and did not arrive; 413 if it is larger; 415 for an encoding other than gzip. 400 if it is missing, is not
 *   UTF-8 or not JSON, and if a form parameter occurs more than once
 */
export const readBody = async (
  request: HttpRequest,
  { maxBytes, format, isOptional = false }: Pick<RequestBody<unknown>, 'maxBytes' | 'format' | 'isOptional'>,
): Promise<unknown> => {
  const text = await readText(request, maxBytes, isOptional);
  if (text === undefined) return undefined;
  return format === 'form' ? parseForm(text) : parseJson(text);
};

const tooLarge = (maxBytes: number, cause?: unknown): Problem =>
  new Problem('body_too_large', { detail: `The body is larger than ${maxBytes} bytes.` }, { cause });

/** @returns undefined if there is no body, and none is needed */
const readText = async (request: HttpRequest, maxBytes: number, isOptional: boolean): Promise<string | undefined> => {
  const isZipped = isGzip(request.headers.get('content-encoding'));
  const sent = await bytesOf(request, maxBytes);
  if (sent.byteLength === 0) {
    // Without HTTP streams the Functions host drops a body whose length is not announced: then the body is null. With them it is empty.
    if (request.body === null && request.headers.has('transfer-encoding')) throw new Problem('length_required');
    if (isOptional) return undefined;
    throw new Problem('empty_body');
  }
  return decodeUtf8(isZipped ? await unzipped(sent, maxBytes) : sent);
};

/** Without HTTP streams, the Functions host has already read the whole body. With them, the body may have any size, and may end early. */
const bytesOf = async ({ body }: HttpRequest, maxBytes: number): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      length += chunk.byteLength;
      if (length > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem('body_cut_off', {}, { cause: error });
  }
  return Buffer.concat(chunks);
};

const parseForm = (text: string): Readonly<Record<string, string>> => {
  const form = new URLSearchParams(text);
  const names = [...form.keys()];
  if (new Set(names).size < names.length)
    throw new Problem('invalid_request', { detail: 'A form parameter occurs more than once.' });
  return Object.fromEntries(form);
};

const isGzip = (encoding: string | null): boolean => {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return false;
  if (name === 'gzip' || name === 'x-gzip') return true;
  throw new Problem('unsupported_encoding', {
    detail: `The body has the Content-Encoding ${quotable(name)}; send gzip, or no encoding.`,
    headers: { 'accept-encoding': 'gzip' },
  });
};

const unzip = promisify(gunzip);

const unzipped = async (bytes: Buffer, maxBytes: number): Promise<Buffer> => {
  try {
    return await unzip(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(maxBytes, error);
    throw new Problem('not_gzip', {}, { cause: error });
  }
};

const decodeUtf8 = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Problem('not_utf8', {}, { cause: error });
  }
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem('not_json', {}, { cause: error });
  }
};
