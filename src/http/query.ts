import type { HttpRequest } from '@azure/functions';
import type { z } from 'zod';

import { Problem, quotable, type ProblemError } from './problem.ts';

/** Query parameters that belong to the Functions host: the key and its name. Whoever checks parameters tolerates them. */
const HOST_PARAMETERS: ReadonlySet<string> = new Set(['code', 'clientid']);

/**
 * The query parameters of a request, parsed by a schema whose keys are all the parameters there are.
 *
 * @throws {Problem} 400 that names every parameter that is unknown, empty, repeated or wrong
 */
export const readQuery = <Shape extends z.ZodRawShape>(
  request: HttpRequest,
  schema: z.ZodObject<Shape>,
): z.infer<z.ZodObject<Shape>> => {
  const errors: ProblemError[] = [];
  const given: Record<string, string> = {};
  // As they were sent: in `request.query` the host has joined repeated ones with commas, which an id may have itself.
  const inUrl = new URL(request.url).searchParams;
  const sent = inUrl.size > 0 ? inUrl : request.query;
  for (const name of new Set(sent.keys())) {
    if (HOST_PARAMETERS.has(name.toLowerCase())) continue;
    const [value = '', ...more] = sent.getAll(name);
    if (!Object.hasOwn(schema.shape, name)) errors.push({ field: quotable(name), detail: unknownParameter(schema) });
    else if (value === '') errors.push({ field: name, detail: 'is empty' });
    else if (more.length > 0) errors.push({ field: name, detail: 'is given more than once' });
    else given[name] = value;
  }
  if (errors.length > 0) throw badQuery(errors);

  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    throw badQuery(parsed.error.issues.map((issue) => ({ field: issue.path.join('.'), detail: issue.message })));
  }
  return parsed.data;
};

const unknownParameter = (schema: z.ZodObject): string => {
  const known = Object.keys(schema.shape);
  return known.length === 0
    ? 'is unknown: there are no parameters here'
    : `is unknown: the parameters are ${known.join(', ')}`;
};

/** A 400 about query parameters, each named. */
export const badQuery = (errors: readonly ProblemError[]): Problem =>
  new Problem(400, {
    detail: errors.map((error) => ('field' in error ? `${error.field} ${error.detail}` : error.detail)).join('; '),
    errors,
  });
