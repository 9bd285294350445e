import type { HttpRequest } from '@azure/functions';

import type { Log } from '../../log.ts';
import { quotable } from '../problem.ts';

/** The prefix of Event Grid's own headers. */
const EVENT_GRID = /^aeg-/;

/** The callback paths are public: a process logs at most one line in this time for each of them. */
const ONE_LINE_PER_MS = 60_000;

/** When this process logged the last line about an operation, by its id. */
const loggedAt = new Map<string, number>();

/**
 * Logs a body that did not arrive because it came in chunks, if the telephone service or Event Grid may have sent it. Neither can be configured to send the
 * length. Until the app runs with `HTTP_STREAMS=on`, no callee hears a message, or no event is counted. An alert reads this line.
 */
export const noteLostBody = (
  { url, headers }: HttpRequest,
  { operationId, tag }: { readonly operationId: string; readonly tag: string },
  log: Log,
): void => {
  if (tag !== 'callbacks' && ![...headers.keys()].some((name) => EVENT_GRID.test(name))) return;
  const now = performance.now();
  if (now - (loggedAt.get(operationId) ?? -Infinity) < ONE_LINE_PER_MS) return;
  loggedAt.set(operationId, now);
  const agent = headers.get('user-agent');
  log.error('body did not arrive', {
    path: quotable(new URL(url).pathname),
    user_agent: agent === null ? undefined : quotable(agent),
  });
};
