import type { HttpRequest } from '@azure/functions';
import * as z from 'zod';

import { badRequest, Problem, quotable, type ProblemError } from '../problem.ts';

/** Query parameters that belong to the Functions host: the key and its name. No endpoint refuses them. */
const HOST_PARAMETERS: ReadonlySet<string> = new Set(['code', 'clientid']);

/** A query parameter, a header or a part of the path, as it is described. */
export const parameter = <Schema extends z.ZodType>(schema: Schema, description: string, example: unknown): Schema =>
  schema.meta({ param: { description, example } });

/** An endpoint without query parameters. */
export const NO_QUERY = z.object({});

/**
 * The query parameters of a request, parsed by a schema whose keys are all the parameters there are.
 *
 * @throws {Problem} 400 that names every parameter that is unknown, empty, repeated or wrong
 */
export const readQuery = <Schema extends z.ZodObject>(request: HttpRequest, schema: Schema): z.output<Schema> => {
  const errors: ProblemError[] = [];
  const given: Record<string, string> = {};
  // Not from `request.query`: the host joins repeated parameters in it, and `__proto__` is lost.
  const query = new URL(request.url).searchParams;
  for (const name of new Set(query.keys())) {
    if (HOST_PARAMETERS.has(name.toLowerCase())) continue;
    const [value = '', ...more] = query.getAll(name);
    if (!Object.hasOwn(schema.shape, name)) errors.push({ field: quotable(name), detail: unknownParameter(schema) });
    else if (value === '') errors.push({ field: name, detail: 'is empty' });
    else if (more.length > 0) errors.push({ field: name, detail: 'is given more than once' });
    else given[name] = value;
  }
  const parsed = schema.safeParse(given);
  const named = new Set(errors.map((error) => ('field' in error ? error.field : '')));
  // A parameter that is empty or repeated is not also missing.
  const ofValues = parsed.success ? [] : fieldErrors(parsed.error).filter(({ field }) => !named.has(field));
  if (!parsed.success || errors.length > 0) throw badRequest([...errors, ...ofValues]);
  return parsed.data;
};

const unknownParameter = (schema: z.ZodObject): string => {
  const known = Object.keys(schema.shape);
  return known.length === 0
    ? 'is unknown: there are no parameters here'
    : `is unknown: the parameters are ${known.join(', ')}`;
};

const fieldErrors = (error: z.ZodError): readonly { readonly field: string; readonly detail: string }[] =>
  error.issues.map((issue) => ({ field: issue.path.join('.'), detail: issue.message }));

/**
 * The headers that a schema names; others are ignored.
 *
 * @throws {Problem} 400 that names every header that is missing or wrong
 */
export const readHeaders = <Schema extends z.ZodObject>(request: HttpRequest, schema: Schema): z.output<Schema> => {
  const names = Object.keys(schema.shape);
  const parsed = schema.safeParse(
    Object.fromEntries(names.map((name) => [name, request.headers.get(name) ?? undefined])),
  );
  if (!parsed.success) throw badRequest(fieldErrors(parsed.error));
  return parsed.data;
};

/**
 * The parameters of the path.
 *
 * @throws {Problem} 404 where one is malformed: nothing has such a name
 */
export const readPath = <Schema extends z.ZodObject>(request: HttpRequest, schema: Schema): z.output<Schema> => {
  const parsed = schema.safeParse(request.params);
  if (!parsed.success) throw new Problem(404, { detail: 'There is nothing of this name.' });
  return parsed.data;
};
