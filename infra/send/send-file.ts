import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { Delivery, type Outcome, type Sending } from './deliver.ts';
import { addRejected, cutRejected, type Done, writeDone } from './done.ts';
import { type Item, openInput } from './items.ts';

/** One input, and how to send it. */
export interface FileJob extends Sending {
  /** Its path, or `-` for standard input. */
  readonly name: string;
  /** What an earlier run has done of it. */
  readonly before: Done;
  /** The path of the file of rejected events. */
  readonly rejected: string;
  /** Most events in a request. */
  readonly batch: number;
  /** Most requests in flight. */
  readonly requests: number;
  /** Is told after every batch; `part` is how much of the file is done, 0 to 1, if its size is known. */
  readonly onProgress: (done: Done, part: number | undefined) => void;
}

/**
 * Sends one input, as many requests at a time as there may be. The batches of a round are answered in any order, but they are taken as
 * done in the order of the input, up to the first that failed: first their rejected events go into the file, then the progress file says
 * so. So whatever ends this, the progress file never says too much, and an event is in the file of rejected events once.
 *
 * @throws {CommandError} if it cannot be sent to its end; what the progress file says is done
 */
export const sendFile = async (job: FileJob): Promise<void> => {
  const { name, before, rejected, stop, requests } = job;
  await cutRejected(rejected, before.rejectedBytes);
  const { items, part } = await openInput(name, stop);
  const delivery = new Delivery(job);
  let done = before;
  const sendRound = async (round: readonly (readonly Item[])[]): Promise<void> => {
    const read = part();
    const answers = await Promise.allSettled(
      round.map(async (batch) => delivery.deliver(batch.filter(({ fault }) => fault === undefined))),
    );
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 'rejected') throw answer.reason;
      done = await commit(job, done, round[index] ?? [], answer.value);
      job.onProgress(done, read);
    }
  };
  let round: (readonly Item[])[] = [];
  for await (const batch of batchesOf(items, job)) {
    round.push(batch);
    if (round.length < requests) continue;
    await sendRound(round);
    round = [];
  }
  await sendRound(round);
};

/** The items that are not done yet, as many in a batch as fit in a request. */
async function* batchesOf(items: AsyncIterable<Item>, job: FileJob): AsyncGenerator<readonly Item[]> {
  let passed = 0;
  let batch: Item[] = [];
  let bytes = 2;
  for await (const item of items) {
    passed += 1;
    if (passed <= job.before.items) continue;
    const size = item.fault === undefined ? Buffer.byteLength(item.text) + 1 : 0;
    if (batch.length >= job.batch || bytes + size > MAX_EVENTS_BYTES) {
      yield batch;
      batch = [];
      bytes = 2;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

const commit = async (job: FileJob, before: Done, items: readonly Item[], outcome: Outcome): Promise<Done> => {
  const { recorded, unchanged, refused } = outcome;
  const rejections = items.flatMap((item) => {
    const reason = item.fault ?? refused.get(item);
    return reason === undefined ? [] : [{ item, reason }];
  });
  const done: Done = {
    ...before,
    items: before.items + items.length,
    recorded: before.recorded + recorded,
    unchanged: before.unchanged + unchanged,
    rejected: before.rejected + rejections.length,
    ...(rejections.length > 0 && { rejectedBytes: await addRejected(job.rejected, job.name, rejections) }),
  };
  await writeDone(job.name, done);
  return done;
};
