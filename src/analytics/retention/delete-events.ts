import { WriteConflict } from '../../storage/errors.ts';
import { inTransactions, unlessDamaged } from '../../storage/row.ts';
import { type Table, untilTaken } from '../../storage/table.ts';
import { eventFrom } from '../rows/event-row.ts';
import { ALL_EVENTS } from '../rows/keys.ts';
import type { Steps } from './run.ts';

/** How often a page is tried. Storage throttles a partition from which much is deleted. */
const TRIES = 10;

/**
 * Deletes the event rows of a shard, a page at a time: the transactions of a page are sent together. Rows that cannot be decoded are kept,
 * because no backup has them.
 *
 * @param rows counts them
 * @throws {StorageTrouble | WriteConflict | LaterFormat} a later run continues with the rows that are left
 */
export async function* deleteEvents(
  table: Table,
  partition: string,
  rows: { event_rows_deleted: number; event_rows_kept: number },
): Steps {
  /** @returns where the next page begins */
  const deletePage = async (continuation: string | undefined): Promise<string | undefined> => {
    const page = await table.page(partition, ALL_EVENTS, { continuation, tries: 1 });
    const keys = page.rows.flatMap((row) => (unlessDamaged(() => eventFrom(row)) === undefined ? [] : [row.rowKey]));
    const deletions = inTransactions(keys).map(async (some) => {
      const writes = some.map((rowKey) => ({ kind: 'delete', rowKey }) as const);
      await table.transact(partition, writes);
      rows.event_rows_deleted += some.length;
    });
    const failed = (await Promise.allSettled(deletions)).find((deletion) => deletion.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    rows.event_rows_kept += page.rows.length - keys.length;
    return page.continuation;
  };
  let continuation: string | undefined;
  do {
    yield;
    const from = continuation;
    // The page is read again after a conflict, too: another process deleted some of its rows.
    continuation = await untilTaken(TRIES, WriteConflict, async () => deletePage(from));
  } while (continuation !== undefined);
}
