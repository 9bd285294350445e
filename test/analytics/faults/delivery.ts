import { wholeBetween, type Random } from '../../../infra/local/demo/random.ts';
import { toEventMessage } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';
import { dealtOut } from './messages.ts';
import type { Job } from './job.ts';
import type { Sender, Sent } from './sender.ts';

/** One sender's share. */
export interface Share {
  readonly batches: readonly (readonly PlainMessage[])[];
  readonly job: Job;
}

/** Where and how the messages are sent. */
export type Way = Pick<Job, 'connectionString' | 'table'> &
  Partial<Pick<Job, 'counterShards' | 'deadlineMs' | 'attempts'>>;

const MOST_IN_BATCH = 40;

const inBatches = (random: Random, messages: readonly PlainMessage[]): readonly (readonly PlainMessage[])[] => {
  const batches: PlainMessage[][] = [];
  for (let from = 0; from < messages.length;) {
    const length = wholeBetween(random, 1, MOST_IN_BATCH);
    batches.push(messages.slice(from, from + length));
    from += length;
  }
  return batches;
};

/** The shares of so many senders in sending these messages. */
export const sharesOf = (
  random: Random,
  messages: readonly PlainMessage[],
  senders: number,
  way: Way,
): readonly Share[] =>
  dealtOut(random, messages, senders).map((share) => {
    const batches = inBatches(random, share);
    const job = {
      counterShards: 1,
      deadlineMs: 5_000,
      attempts: 40,
      ...way,
      batches: batches.map((batch) => batch.map(toEventMessage)),
    };
    return { batches, job };
  });

/** The messages of a share that were acknowledged. */
export const acknowledgedOf = ({ batches }: Share, { acknowledged }: Sent): readonly PlainMessage[] =>
  batches.flatMap((batch, at) => (acknowledged.has(at) ? batch : []));

/**
 * Each sender sends its share, all at the same time.
 *
 * @param onAcknowledged called for each batch that was acknowledged
 * @returns the messages that were acknowledged
 */
export const sendAll = async (
  senders: readonly Sender[],
  shares: readonly Share[],
  onAcknowledged?: () => void,
): Promise<readonly PlainMessage[]> => {
  const sent = await Promise.all(
    shares.map(async (share, at) => {
      const sender = senders[at];
      if (sender === undefined) throw new Error('there are more shares than senders');
      return acknowledgedOf(share, await sender.send(share.job, onAcknowledged));
    }),
  );
  return sent.flat();
};
