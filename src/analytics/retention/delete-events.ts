import { setTimeout } from 'node:timers/promises';

import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { inTransactions, unlessDamaged } from '../../storage/row.ts';
import { backoffMs, type Table } from '../../storage/table.ts';
import { eventFrom } from '../rows/event-row.ts';
import { ALL_EVENTS } from '../rows/keys.ts';

/** Tries in a row without any progress. Storage throttles a partition from which much is deleted. */
const TRIES = 6;

/**
 * Deletes the event rows of a shard, a page at a time: the transactions of a page are sent together. Rows that cannot be decoded are kept,
 * because no backup has them.
 *
 * @param rows counts them
 * @throws {OutOfTime | StorageTrouble | WriteConflict | LaterFormat} a later run continues with the rows that are left
 */
export const deleteEvents = async (
  table: Table,
  partition: string,
  demandTime: () => void,
  rows: { event_rows_deleted: number; event_rows_kept: number },
): Promise<void> => {
  let continuation: string | undefined;
  for (let tries = 0; ;) {
    demandTime();
    const page = await table.page(partition, ALL_EVENTS, { continuation });
    const keys = page.rows.flatMap((row) => (unlessDamaged(() => eventFrom(row)) === undefined ? [] : [row.rowKey]));
    const deletions = await Promise.allSettled(
      inTransactions(keys).map(async (some) => {
        await table.delete(partition, some);
        rows.event_rows_deleted += some.length;
        tries = 0;
      }),
    );
    const failed = deletions.find((deletion) => deletion.status === 'rejected');
    if (failed === undefined) {
      rows.event_rows_kept += page.rows.length - keys.length;
      if (page.continuation === undefined) return;
      ({ continuation } = page);
    } else {
      const error: unknown = failed.reason;
      tries += 1;
      if (!(error instanceof StorageTrouble || error instanceof WriteConflict) || tries === TRIES) throw error;
      // The page is read again. After a conflict too: another process deleted some of its rows.
      await setTimeout(backoffMs(tries, 100, 5_000));
    }
  }
};
