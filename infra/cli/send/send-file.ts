import { MAX_EVENTS_BYTES } from '../../../src/http/event-batch.ts';
import { Delivery, type Sending } from './deliver.ts';
import type { Account } from './done.ts';
import { type Item, openInput } from './items.ts';

/** One input, and how to send it. */
export interface FileJob extends Sending {
  readonly account: Account;
  /** Most events in a request. */
  readonly batch: number;
  /** Most requests in flight. */
  readonly requests: number;
  /** Is told after every batch how much of the input is done, 0 to 1; undefined if its size is not known. */
  readonly onProgress: (part: number | undefined) => void;
}

/**
 * Sends one input, as many requests at a time as there may be. The batches of a round are answered in any order, but they are taken as
 * done in the order of the input, up to the first that failed.
 *
 * @throws {CommandError} if it cannot be sent to its end; what its account says is done
 */
export const sendFile = async (job: FileJob): Promise<void> => {
  const { account, stop, requests, onProgress, note } = job;
  const kept = await account.begin();
  if (kept !== undefined) note(`What an earlier sending rejected is kept in ${kept}.`);
  const { items, part } = await openInput(account.name, stop);
  const delivery = new Delivery(job);
  const sendRound = async (round: readonly (readonly Item[])[]): Promise<void> => {
    const read = part();
    const answers = await Promise.allSettled(
      round.map(async (batch) => delivery.deliver(batch.filter(({ fault }) => fault === undefined))),
    );
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 'rejected') throw answer.reason;
      await account.add(round[index] ?? [], answer.value);
      onProgress(read);
    }
  };
  let round: (readonly Item[])[] = [];
  for await (const batch of batchesOf(items, account.done.items, job.batch)) {
    round.push(batch);
    if (round.length < requests) continue;
    await sendRound(round);
    round = [];
  }
  await sendRound(round);
};

/** The items that are not done yet, as many in a batch as fit in a request. */
async function* batchesOf(items: AsyncIterable<Item>, done: number, most: number): AsyncGenerator<readonly Item[]> {
  let passed = 0;
  let batch: Item[] = [];
  let bytes = 2;
  for await (const item of items) {
    passed += 1;
    if (passed <= done) continue;
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
