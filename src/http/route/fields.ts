import type { HttpRequest } from '@azure/functions';
import * as z from 'zod';

import type { FaultCode } from '../problem-types.ts';
import { badRequest, MAX_ERRORS, Problem, quotable, type ProblemError } from '../problem.ts';
import { faultsOf, fieldOf } from './faults.ts';

/** Query parameters that belong to the Functions host: the key and its name. No endpoint refuses them. */
const HOST_PARAMETERS: ReadonlySet<string> = new Set(['code', 'clientid']);

/** A query parameter, a header or a part of the path, as it is described. */
export const parameter = <Schema extends z.ZodType>(schema: Schema, description: string, example: unknown): Schema =>
  schema.meta({ param: { description, example } });

/** A parameter that the description mentions only in words: it changes the form of the answer. */
export const hidden = <Schema extends z.ZodType>(schema: Schema): Schema => schema.meta({ isHidden: true });

/** Whether a parameter is {@link hidden}. */
export const isHidden = (schema: z.core.$ZodType): boolean => z.globalRegistry.get(schema)?.['isHidden'] === true;

/** An endpoint without query parameters. */
export const NO_QUERY = z.object({});

/**
 * When a rule about several members runs: as soon as each of them is right by itself, even if other members are wrong.
 *
 * @example z.object({ from, to, limit }).superRefine(notReversed, whenRight('from', 'to'))
 */
export const whenRight = (...names: readonly string[]) => ({
  when: ({ value, issues }: z.core.ParsePayload) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !issues.some(({ path }) => names.includes(String(path?.[0]))),
});

/**
 * The query parameters of a request, parsed by a schema that names all accepted parameters.
 *
 * @throws {Problem} 400 that names every parameter that is unknown, empty, repeated or wrong
 */
export const readQuery = <Schema extends z.ZodObject>(request: HttpRequest, schema: Schema): z.output<Schema> => {
  const errors: ProblemError[] = [];
  let total = 0;
  const refuse = (name: string, code: FaultCode, detail: string): void => {
    total += 1;
    if (errors.length < MAX_ERRORS) errors.push({ code, field: quotable(name), detail });
  };
  const given: Record<string, string> = {};
  // Not from `request.query`: the host joins repeated parameters in it, and `__proto__` is lost.
  const { search, searchParams: query } = new URL(request.url);
  const undecodable = new Set(search.slice(1).split('&').flatMap(nameIfUndecodable));
  for (const [name, pairs] of Map.groupBy(query, ([key]) => key)) {
    if (HOST_PARAMETERS.has(name.toLowerCase())) continue;
    const [[, value] = [], ...more] = pairs;
    if (!Object.hasOwn(schema.shape, name)) {
      refuse(name, 'unknown', unknownParameter(schema));
    } else if (value === undefined || value === '') refuse(name, 'empty', 'is empty');
    else if (more.length > 0) refuse(name, 'repeated', 'is given more than once');
    else if (undecodable.has(name)) refuse(name, 'invalid', 'must be percent-encoded UTF-8');
    else given[name] = value;
  }
  const parsed = schema.safeParse(given);
  const named = new Set(errors.map(({ field }) => field));
  // A parameter that is empty or repeated is not also missing.
  const ofValues = parsed.success ? [] : fieldErrors(parsed.error, given).filter(({ field }) => !named.has(field));
  if (!parsed.success || total > 0) throw badRequest([...errors, ...ofValues], undefined, total + ofValues.length);
  return parsed.data;
};

/**
 * The text in percent-encoded UTF-8. A stray percent sign stands for itself.
 *
 * @returns undefined if it encodes no UTF-8
 */
export const percentDecoded = (encoded: string): string | undefined => {
  try {
    return decodeURIComponent(encoded.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    return undefined;
  }
};

/** The name in `name=value` if that encodes no UTF-8: a parser would put U+FFFD there. */
const nameIfUndecodable = (pair: string): readonly string[] =>
  percentDecoded(pair) === undefined ? pair.split('=', 1) : [];

const unknownParameter = (schema: z.ZodObject): string => {
  const known = Object.keys(schema.shape);
  return known.length === 0
    ? 'is unknown: this path has no parameters'
    : `is unknown: the parameters are ${known.join(', ')}`;
};

const fieldErrors = (error: z.ZodError, given: unknown): readonly ProblemError[] =>
  Array.from(faultsOf(error, given), ({ code, path, detail }) => ({ code, field: fieldOf(path), detail }));

/**
 * The headers that a schema names; others are ignored.
 *
 * @throws {Problem} 400 that names every header that is missing or wrong
 */
export const readHeaders = <Schema extends z.ZodObject>(request: HttpRequest, schema: Schema): z.output<Schema> => {
  const names = Object.keys(schema.shape);
  const given = Object.fromEntries(names.map((name) => [name, request.headers.get(name) ?? undefined]));
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw badRequest(fieldErrors(parsed.error, given));
  return parsed.data;
};

/**
 * The parameters of the path.
 *
 * @throws {Problem} 404 if one is malformed: nothing has such a name
 */
export const readPath = <Schema extends z.ZodObject>(request: HttpRequest, schema: Schema): z.output<Schema> => {
  const parsed = schema.safeParse(request.params);
  if (!parsed.success) throw new Problem('not_found');
  return parsed.data;
};
