import { MAX_EVENTS_BYTES } from '../../../src/http/event-batch.ts';
import { Delivery, type Outcome, type Sending } from './deliver.ts';
import type { Input, Item } from './items.ts';

/** One source, and how to send it. */
export interface SourceJob extends Sending {
  readonly input: Input;
  /** How many items to pass over: an earlier run has sent them. */
  readonly skip: number;
  /** Most events in a request. */
  readonly batch: number;
  /** Most requests in flight. */
  readonly requests: number;
  /** Takes the next items, in the order of the source, once the service has answered for them. */
  readonly onAnswered: (items: readonly Item[], outcome: Outcome) => Promise<void>;
}

/**
 * Sends one source, several requests at a time. Batches are taken as answered in the order of the source, up to the first that failed. If
 * anything fails, requests in flight are finished first.
 *
 * @throws {CommandError} if it cannot be sent to its end
 */
export const sendSource = async (job: SourceJob): Promise<void> => {
  const delivery = new Delivery(job);
  const inFlight: { readonly items: readonly Item[]; readonly outcome: Promise<Outcome> }[] = [];
  const awaitOldest = async (): Promise<void> => {
    const [oldest] = inFlight;
    if (oldest === undefined) return;
    const outcome = await oldest.outcome;
    inFlight.shift();
    await job.onAnswered(oldest.items, outcome);
  };
  try {
    for await (const items of batchesOf(job.input.items, job.skip, job.batch)) {
      if (inFlight.length === job.requests) await awaitOldest();
      const outcome = delivery.deliver(items.filter(({ fault }) => fault === undefined));
      // It is awaited in its turn.
      outcome.catch(() => undefined);
      inFlight.push({ items, outcome });
    }
  } finally {
    try {
      while (inFlight.length > 0) await awaitOldest();
    } finally {
      await Promise.allSettled(inFlight.map(({ outcome }) => outcome));
    }
  }
};

/** The items that are not passed over, as many in a batch as fit in a request. */
async function* batchesOf(items: AsyncIterable<Item>, skip: number, most: number): AsyncGenerator<readonly Item[]> {
  let passed = 0;
  let batch: Item[] = [];
  let bytes = 2;
  for await (const item of items) {
    passed += 1;
    if (passed <= skip) continue;
    const size = item.fault === undefined ? Buffer.byteLength(item.text) + 1 : 0;
    if (batch.length >= most || bytes + size > MAX_EVENTS_BYTES) {
      yield batch;
      [batch, bytes] = [[], 2];
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
