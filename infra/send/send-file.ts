import pLimit from 'p-limit';

import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import type { Delivery, Outcome, Rejection } from './deliver.ts';
import { type Done, type RejectedFile, writeDone } from './files.ts';
import { openInput } from './input.ts';
import { type Item, itemsIn } from './items.ts';

/** One input, and how to send it. */
export interface FileJob {
  /** Its path, or `-` for standard input. */
  readonly name: string;
  /** What an earlier run has done of it. */
  readonly before: Done;
  readonly rejected: RejectedFile;
  /** Most events in a request. */
  readonly batchSize: number;
  /** Most requests in flight. */
  readonly requests: number;
  readonly delivery: Delivery;
  /** Ends the sending: what is in flight is finished, nothing new begins. */
  readonly stop: AbortController;
  /** Is told after every batch; `part` is how much of the file is done, 0 to 1, if its size is known. */
  readonly onProgress: (done: Done, part: number | undefined) => void;
}

/** So many batches for each request in flight may wait for an older one to be answered; it bounds the memory. */
const WINDOW = 2;

/**
 * Sends one input. Batches are answered in any order, but they are taken as done in the order of the input: first their rejected
 * events go into the file, then the progress file says so. So whatever ends this, the progress file never says too much, and
 * an event is in the file of rejected events once.
 *
 * @returns what is done: all of it
 * @throws {CommandError} if it cannot be sent to its end; what the progress file says is done
 */
export const sendFile = async (job: FileJob): Promise<Done> => {
  const { name, before, rejected, stop, requests, delivery } = job;
  await rejected.cutBack(before.rejectedBytes);
  const input = await openInput(name, stop.signal);
  const limit = pLimit(requests);
  const open: { readonly outcome: Promise<Outcome>; readonly commit: Promise<void> }[] = [];
  let done = before;
  let committed = Promise.resolve();
  // The first failure is the one to tell: those after it come from the stop.
  const halt = (error: unknown): void => stop.abort(error);

  const commitAfter = async (
    previous: Promise<void>,
    { items, part }: Batch,
    outcome: Promise<Outcome>,
  ): Promise<void> => {
    await previous;
    done = await commit(job, done, items, await outcome);
    job.onProgress(done, part);
  };
  try {
    for await (const batch of batchesOf(itemsIn(name, input.chunks), () => input.part(), job)) {
      const outcome = limit(async () => delivery.deliver(batch.items.filter(({ fault }) => fault === undefined)));
      committed = commitAfter(committed, batch, outcome);
      outcome.catch(halt);
      committed.catch(halt);
      open.push({ outcome, commit: committed });
      if (open.length >= requests * WINDOW) await open.shift()?.commit;
      if (stop.signal.aborted) break;
    }
    await committed;
  } catch (error) {
    halt(error);
    // Requests in flight are answered before this returns.
    await Promise.allSettled(open.map(({ outcome }) => outcome));
  }
  if (stop.signal.aborted) throw stop.signal.reason;
  return done;
};

/** Consecutive items of the input. */
interface Batch {
  readonly items: readonly Item[];
  /** How much of the input had been read when it was complete. */
  readonly part: number | undefined;
}

/** The items that are not done yet, as many in a batch as fit in a request. What was read for an unfinished batch at a stop is dropped. */
async function* batchesOf(
  items: AsyncIterable<Item>,
  part: () => number | undefined,
  { before, batchSize, stop }: FileJob,
): AsyncGenerator<Batch> {
  let passed = 0;
  let batch: Item[] = [];
  let bytes = 2;
  for await (const item of items) {
    passed += 1;
    if (passed <= before.items) continue;
    const size = item.fault === undefined ? Buffer.byteLength(item.text) + 1 : 0;
    if (batch.length >= batchSize || bytes + size > MAX_EVENTS_BYTES) {
      yield { items: batch, part: part() };
      batch = [];
      bytes = 2;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0 && !stop.signal.aborted) yield { items: batch, part: part() };
}

const commit = async (
  { name, rejected }: FileJob,
  before: Done,
  items: readonly Item[],
  outcome: Outcome,
): Promise<Done> => {
  const refused = new Map(outcome.rejected.map(({ item, reason }) => [item, reason]));
  const rejections: readonly Rejection[] = items.flatMap((item) => {
    const reason = item.fault ?? refused.get(item);
    return reason === undefined ? [] : [{ item, reason }];
  });
  await rejected.add(rejections);
  const done: Done = {
    ...before,
    items: before.items + items.length,
    recorded: before.recorded + outcome.recorded,
    unchanged: before.unchanged + outcome.unchanged,
    rejected: before.rejected + rejections.length,
    rejectedBytes: rejected.bytes,
  };
  await writeDone(name, done);
  return done;
};
