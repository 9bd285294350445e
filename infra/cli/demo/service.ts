import { z } from 'zod';

import { CommandError } from '../command-line.ts';
import { polled } from '../../emulators/deadline.ts';

const REQUEST_MILLISECONDS = 60_000;

/** Enough for three attempts at each callee with the pauses of a local run. */
const REACHED_MILLISECONDS = 300_000;

/**
 * Asks a service over HTTP.
 *
 * @param base of the service, without `/api` and a slash at its end
 * @param body is posted, unless it is undefined
 * @throws {CommandError} if it does not answer, or with an error
 */
export const ask = async <Schema extends z.ZodType>(
  base: string,
  path: string,
  schema: Schema,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<z.infer<Schema>> => {
  const response = await fetch(`${base}${path}`, {
    signal: AbortSignal.timeout(REQUEST_MILLISECONDS),
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    const text = `Nothing answers at ${base}. Start the service with "npm start", or give another address with --url.`;
    throw new CommandError(text, { cause });
  });
  const text = await response.text();
  if (!response.ok) throw new CommandError(`${path} was answered with ${response.status}: ${text}`);
  return schema.parse(JSON.parse(text));
};

const sentSchema = z.object({ notification_id: z.string() });

/**
 * Sends a notification by phone.
 *
 * @param idempotencyKey the service phones once for the same alert with the same key
 * @returns the notification's id
 */
export const sendAlert = async (base: string, alert: object, idempotencyKey?: string): Promise<string> => {
  const headers: Record<string, string> = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  const body = { channel: 'phone', ...alert };
  return (await ask(base, '/api/notifications', sentSchema, body, headers)).notification_id;
};

/**
 * Waits until a notification is completed.
 *
 * @returns its state
 * @throws {CommandError} if that takes minutes
 */
export const completed = async (base: string, id: string): Promise<object> => {
  const state = await polled(REACHED_MILLISECONDS, async () => {
    const now = await ask(base, `/api/notifications/${id}`, z.looseObject({ status: z.string() }));
    return now.status === 'in_progress' ? undefined : now;
  });
  if (state === undefined) throw new CommandError('The notification was not completed in time.');
  return state;
};
