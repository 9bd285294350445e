import { DayClosed } from '../rows/day-shards.ts';
import { RequestRefused, StorageTrouble } from '../../storage/errors.ts';
import { halvesOf, rejectAll, type Batch } from './batch.ts';
import { refuseClosed } from './closed-day.ts';
import type { ShardRows } from './shard-rows.ts';
import { isConflict } from './shard-snapshot.ts';
import type { TransactionWriter } from './transaction-writer.ts';

/**
 * Settles the messages of a batch that failed. An error of one message must not fail the others: its batch is halved until it is
 * alone.
 *
 * @returns one after another the parts that are to be committed like batches of their own before the next is asked for;
 *   `nothing taken` where storage took no message at all
 */
export async function* settleFailedBatch(
  writer: TransactionWriter,
  rows: ShardRows,
  batch: Batch,
  error: unknown,
): AsyncGenerator<Batch | 'nothing taken', void> {
  if (error instanceof StorageTrouble) {
    if (yield* withoutTrouble(writer, batch)) return;
    yield 'nothing taken';
    rejectAll(batch, error);
  } else if (error instanceof DayClosed) {
    for (const pending of batch) await refuseClosed(rows, pending);
  } else if (isConflict(error)) {
    rejectAll(batch, error);
  } else if (batch.length > 1) {
    yield* halvesOf(batch);
  } else if (error instanceof RequestRefused) {
    for (const pending of batch) pending.resolve({ refused: 'storage does not take the event in this form' });
  } else {
    rejectAll(batch, error);
  }
}

/**
 * Halves a batch that storage fails repeatedly, and tries each half once. Where storage takes one half, the cause is in the
 * other, which is halved in turn.
 *
 * @returns whether all messages are settled or given to the caller; false: storage took nothing
 */
async function* withoutTrouble(writer: TransactionWriter, batch: Batch): AsyncGenerator<Batch, boolean> {
  if (batch.length === 1) return false;
  const failed: { readonly half: Batch; readonly error: unknown }[] = [];
  for (const half of halvesOf(batch)) {
    const tried = await writer.try(half);
    if (tried.kind !== 'done') failed.push({ half, error: tried.kind === 'failed' ? tried.error : undefined });
  }
  if (failed.length === 2 && failed.every(({ error }) => error instanceof StorageTrouble)) return false;
  for (const { half, error } of failed) {
    if (!(error instanceof StorageTrouble)) yield half;
    else if (!(yield* withoutTrouble(writer, half))) rejectAll(half, error);
  }
  return true;
}
