import type { Entry, Rejection } from './batches.ts';
import type { Pace } from './pace.ts';
import type { Reply } from './post-batch.ts';
import { SendStopped } from './send-error.ts';

/** What became of some events, all of which the service has answered for. */
export interface Outcome {
  readonly recorded: number;
  readonly unchanged: number;
  readonly rejected: readonly Rejection[];
}

const NOTHING: Outcome = { recorded: 0, unchanged: 0, rejected: [] };

/**
 * Sends events until the service has answered for each of them: again where it asks for that, in halves where they are too many
 * or too large for it.
 *
 * @param post sends one request
 * @throws {SendStopped} where that cannot be done: none, some or all of them may be recorded
 */
export const deliver = async (
  entries: readonly Entry[],
  post: (events: readonly Buffer[]) => Promise<Reply>,
  pace: Pace,
): Promise<Outcome> => {
  if (entries.length === 0) return NOTHING;
  let failingSince: number | undefined;
  for (;;) {
    await pace.ready();
    const reply = await post(entries.map(({ json }) => json));
    switch (reply.kind) {
      case 'taken':
        pace.succeeded();
        return {
          recorded: reply.recorded,
          unchanged: reply.unchanged,
          rejected: entries.flatMap(({ item }, index) => {
            const reason = reply.refused.get(index);
            return reason === undefined ? [] : [{ item, reason }];
          }),
        };
      case 'too large':
        pace.succeeded();
        return halves(entries, post, pace);
      case 'unavailable':
        failingSince ??= Date.now();
        pace.failed(reply.reason, reply.retryAfterMs, failingSince);
        break;
      case 'impossible':
        throw new SendStopped(reply.reason);
    }
  }
};

const halves = async (...[entries, post, pace]: Parameters<typeof deliver>): Promise<Outcome> => {
  const [only] = entries;
  if (only !== undefined && entries.length === 1) {
    return { ...NOTHING, rejected: [{ item: only.item, reason: 'is too large for the service (413)' }] };
  }
  const middle = Math.ceil(entries.length / 2);
  const first = await deliver(entries.slice(0, middle), post, pace);
  const second = await deliver(entries.slice(middle), post, pace);
  return {
    recorded: first.recorded + second.recorded,
    unchanged: first.unchanged + second.unchanged,
    rejected: [...first.rejected, ...second.rejected],
  };
};
