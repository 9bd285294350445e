import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import type { Delivery, Outcome } from './deliver.ts';
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
  readonly stop: AbortSignal;
  /** Is told after every batch; `part` is how much of the file is done, 0 to 1, if its size is known. */
  readonly onProgress: (done: Done, part: number | undefined) => void;
}

/**
 * Sends one input, as many requests at a time as there may be. The batches of a round are answered in any order, but they are taken as
 * done in the order of the input, up to the first that failed: first their rejected events go into the file, then the progress file says
 * so. So whatever ends this, the progress file never says too much, and an event is in the file of rejected events once.
 *
 * @returns what is done: all of it
 * @throws {CommandError} if it cannot be sent to its end; what the progress file says is done
 */
export const sendFile = async (job: FileJob): Promise<Done> => {
  const { name, before, rejected, stop, requests, delivery } = job;
  await rejected.cutBack(before.rejectedBytes);
  const input = await openInput(name, stop);
  let done = before;
  const sendRound = async (round: readonly (readonly Item[])[]): Promise<void> => {
    // The rest of what was being read at a stop may be half an item.
    stop.throwIfAborted();
    const part = input.part();
    const answers = await Promise.allSettled(
      round.map(async (items) => delivery.deliver(items.filter(({ fault }) => fault === undefined))),
    );
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 'rejected') throw answer.reason;
      done = await commit(job, done, round[index] ?? [], answer.value);
      job.onProgress(done, part);
    }
  };
  let round: (readonly Item[])[] = [];
  for await (const items of batchesOf(itemsIn(name, input.chunks), job)) {
    round.push(items);
    if (round.length < requests) continue;
    await sendRound(round);
    round = [];
  }
  await sendRound(round);
  return done;
};

/** The items that are not done yet, as many in a batch as fit in a request. */
async function* batchesOf(items: AsyncIterable<Item>, { before, batchSize }: FileJob): AsyncGenerator<readonly Item[]> {
  let passed = 0;
  let batch: Item[] = [];
  let bytes = 2;
  for await (const item of items) {
    passed += 1;
    if (passed <= before.items) continue;
    const size = item.fault === undefined ? Buffer.byteLength(item.text) + 1 : 0;
    if (batch.length >= batchSize || bytes + size > MAX_EVENTS_BYTES) {
      yield batch;
      batch = [];
      bytes = 2;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

const commit = async (
  { name, rejected }: FileJob,
  before: Done,
  items: readonly Item[],
  outcome: Outcome,
): Promise<Done> => {
  const refused = new Map(outcome.rejected.map(({ item, reason }) => [item, reason]));
  const rejections = items.flatMap((item) => {
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
