import type { z } from 'zod';

import { CommandError } from './command-line.ts';
import { jsonIn } from './json.ts';

const REQUEST_MILLISECONDS = 60_000;

export interface Question {
  readonly key?: string | undefined;
  /** Posted as JSON; undefined: the request is a `GET`. */
  readonly body?: unknown;
}

/**
 * Asks a service over HTTP.
 *
 * @param base of the service, without `/api` and a slash at its end
 * @throws {CommandError} if it does not answer, or with an error
 */
export const ask = async <Schema extends z.ZodType>(
  base: string,
  path: string,
  schema: Schema,
  { key, body }: Question = {},
): Promise<z.infer<Schema>> => {
  const response = await fetch(`${base}${path}`, {
    // The key must not follow to another host.
    redirect: 'manual',
    signal: AbortSignal.timeout(REQUEST_MILLISECONDS),
    headers: { 'content-type': 'application/json', ...(key !== undefined && { 'x-functions-key': key }) },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    const text = `Nothing answers at ${base}. Start the service with "npm start", or give another address with --url.`;
    throw new CommandError(text, { cause });
  });
  const text = await response.text();
  if (!response.ok) throw new CommandError(`${path} was answered with ${response.status}: ${text}`);
  const { data } = schema.safeParse(jsonIn(text));
  if (data === undefined)
    throw new CommandError(`${path} has another answer than this service gives. Is the URL right?`);
  return data;
};
