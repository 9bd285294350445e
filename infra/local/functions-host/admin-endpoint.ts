import type { IncomingMessage } from 'node:http';

import { readText } from './http-message.ts';
import type { TimerListener } from './timer-listener.ts';

/**
 * The name of the function in `/admin/functions/{name}`; undefined for any other path.
 *
 * @param path of the request's URL, still percent-encoded
 */
export const adminFunctionName = (path: string): string | undefined =>
  /^\/admin\/functions\/([^/]+)\/?$/i.exec(path)?.[1];

/**
 * Starts a function that no HTTP request triggers, as the real host does for `POST /admin/functions/{name}`: 202 at once, whatever
 * becomes of the run; 415 where the body is not said to be JSON; 400 where it is not a JSON object; 404 for an unknown name.
 *
 * @param name in any case
 * @returns the answer's status
 */
export const startFunction = async (
  request: IncomingMessage,
  name: string,
  listeners: readonly TimerListener[],
): Promise<number> => {
  if (request.method !== 'POST') return 404;
  const body = await readText(request);
  if (!/^application\/([\w.-]+\+)?json\b/i.test(request.headers['content-type'] ?? '')) return 415;
  if (body === undefined) return 413;
  if (!isJsonObject(body)) return 400;
  const listener = listeners.find(
    ({ trigger }) => trigger.registered.metadata.name.toLowerCase() === name.toLowerCase(),
  );
  if (listener === undefined) return 404;
  listener.runNow();
  return 202;
};

const isJsonObject = (body: string): boolean => {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};
