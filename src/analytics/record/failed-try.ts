import { FENCE_KEY, TOTAL_KEY } from '../rows/keys.ts';
import { WriteConflict } from '../../storage/errors.ts';
import type { StoringWrite } from '../../storage/row.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import type { Batch } from './batch.ts';
import type { ShardRows } from './shard-rows.ts';
import type { ShardSnapshot } from './shard-snapshot.ts';

/** What a try relied on. */
interface Planned {
  readonly snapshot: ShardSnapshot;
  readonly plan: { readonly writes: readonly StoringWrite[] };
}

/**
 * After a failed try: finds out what was wrong, and forgets what must be read again.
 *
 * - At the `total` row of the stripe: only a mark was added, or another writer is in the stripe, and this one moves.
 * - At the fence: another stripe appeared or the day was closed, and this writer chooses a stripe again.
 * - At an event row: another instance changed the event.
 * - At any other row, or not known where: everything is read again.
 *
 * @param planned what was planned; undefined: not even the rows could be read
 * @returns the error, or the one that finding out met
 */
export const recover = async (
  rows: ShardRows,
  batch: Batch,
  error: unknown,
  planned: Planned | undefined,
): Promise<unknown> => {
  const failed =
    error instanceof WriteConflict && error.index !== undefined ? planned?.plan.writes[error.index] : undefined;
  if (failed !== undefined && planned !== undefined) {
    const { snapshot } = planned;
    try {
      if (failed.rowKey === inStripe(TOTAL_KEY, snapshot.stripe)) {
        if (!(await rows.isStillAlone(snapshot))) await rows.move();
        return error;
      }
      if (failed.rowKey === FENCE_KEY) {
        await rows.move();
        return error;
      }
    } catch (met) {
      readAgain(rows, batch);
      return met;
    }
    if (batch.some(({ eventKey }) => eventKey === failed.rowKey)) {
      rows.forgetEvents(batch.map(({ eventKey }) => eventKey));
      for (const pending of batch) pending.readFirst = true;
      return error;
    }
  }
  readAgain(rows, batch);
  return error;
};

const readAgain = (rows: ShardRows, batch: Batch): void => {
  rows.forget(batch.map(({ eventKey }) => eventKey));
  for (const pending of batch) pending.readFirst = true;
};
