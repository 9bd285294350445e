import pLimit from 'p-limit';

import { BEGINNING, type Batch, readBatches } from './batches.ts';
import { deliver, type Outcome } from './deliver.ts';
import { openInput, STDIN } from './input.ts';
import type { Pace } from './pace.ts';
import type { Reply } from './post-batch.ts';
import { looksOf, type Progress, writeProgress } from './progress-file.ts';
import type { RejectedFile } from './rejected-file.ts';

/** One input, and how to send it. */
export interface FileJob {
  /** Its path, or `-` for standard input. */
  readonly name: string;
  /** The service, as the progress file names it. */
  readonly url: string;
  /** What an earlier run has done of it. */
  readonly before: Progress | undefined;
  /** Where progress is kept; undefined: nowhere. */
  readonly stateFile: string | undefined;
  readonly rejected: RejectedFile;
  /** Most events in a request. */
  readonly batchSize: number;
  /** Most requests in flight. */
  readonly requests: number;
  readonly post: (events: readonly Buffer[]) => Promise<Reply>;
  readonly pace: Pace;
  /** Ends the sending: what is in flight is finished, nothing new begins. */
  readonly stop: AbortController;
  /** Is told after every step; total bytes are undefined where they are not known. */
  readonly onProgress: (progress: Progress, bytesRead: number, totalBytes: number | undefined) => void;
}

/** So many batches for each request in flight may wait for an older one to be answered; it bounds the memory. */
const WINDOW = 2;

const NOTHING_DONE: Omit<Progress, 'url'> = {
  version: 1,
  ...BEGINNING,
  recorded: 0,
  unchanged: 0,
  rejected: 0,
  rejectedBytes: 0,
};

/**
 * Sends one input. Batches are answered in any order, but they are taken as done in the order of the input: first their rejected
 * events go into the file, then the progress file says so. So whatever ends this, the progress file never says too much, and
 * an event is in the file of rejected events once.
 *
 * @returns what is done; whether all of it is says `whole`
 * @throws {SendStopped} where it cannot be sent to its end; what the progress file says is done
 */
export const sendFile = async (job: FileJob): Promise<Progress> => {
  const { name, url, rejected, stop, batchSize, requests, post, pace } = job;
  const before = job.before ?? { ...NOTHING_DONE, url };
  if (before.whole !== undefined && isSame(before.whole, await looksOf(name))) return before;

  await rejected.cutBack(before.rejectedBytes);
  const looks = name === STDIN ? undefined : await looksOf(name);
  const input = await openInput(name, stop.signal);
  const limit = pLimit(requests);
  const open: { readonly outcome: Promise<Outcome>; readonly commit: Promise<void> }[] = [];
  let progress = before;
  let committed = Promise.resolve();
  // The first failure is the one to tell: those after it come from the stop.
  const halt = (error: unknown): void => stop.abort(error);

  const commitAfter = async (previous: Promise<void>, batch: Batch, outcome: Promise<Outcome>): Promise<void> => {
    await previous;
    progress = await commit(job, progress, batch, await outcome);
    job.onProgress(progress, batch.bytesRead, input.totalBytes);
  };
  try {
    for await (const batch of readBatches(input, batchSize, before, stop.signal)) {
      const outcome = limit(async () => deliver(batch.entries, post, pace));
      committed = commitAfter(committed, batch, outcome);
      outcome.catch(halt);
      committed.catch(halt);
      open.push({ outcome, commit: committed });
      if (open.length >= requests * WINDOW) await open.shift()?.commit;
    }
    await committed;
  } catch (error) {
    halt(error);
    // Requests in flight are answered before this returns.
    await Promise.allSettled(open.map(({ outcome }) => outcome));
  }
  if (stop.signal.aborted) throw stop.signal.reason;
  progress = { ...progress, ...(looks === undefined ? {} : { whole: looks }) };
  if (job.stateFile !== undefined) await writeProgress(job.stateFile, progress);
  return progress;
};

const isSame = (left: NonNullable<Progress['whole']>, right: NonNullable<Progress['whole']>): boolean =>
  left.size === right.size && left.modifiedMs === right.modifiedMs;

const commit = async (
  { url, rejected, stateFile }: FileJob,
  before: Progress,
  batch: Batch,
  outcome: Outcome,
): Promise<Progress> => {
  const rejections = [...batch.malformed, ...outcome.rejected].sort(
    ({ item: left }, { item: right }) => left.line - right.line || (left.index ?? 0) - (right.index ?? 0),
  );
  await rejected.add(rejections);
  const progress: Progress = {
    version: 1,
    url,
    ...batch.end,
    recorded: before.recorded + outcome.recorded,
    unchanged: before.unchanged + outcome.unchanged,
    rejected: before.rejected + rejections.length,
    rejectedBytes: rejected.bytes,
  };
  if (stateFile !== undefined) await writeProgress(stateFile, progress);
  return progress;
};
