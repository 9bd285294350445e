import { setTimeout } from 'node:timers/promises';

import { ALL_EVENTS } from '../rows/keys.ts';
import type { Page } from '../../storage/connection.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import { type Table, backoffMs } from '../../storage/table.ts';
import { NEEDED_PROPERTIES, OverflowedSeconds } from './overflowed-seconds.ts';

/** An entity group transaction takes 100 operations. */
const MAX_OPERATIONS = 100;
/** Tries in a row without any progress. Storage throttles a partition from which much is deleted. */
const TRIES = 6;

/** What was done to the event rows of a shard. */
export interface DeletedEvents {
  /** Rows deleted in this run. */
  readonly deleted: number;
  /** Rows that stay, of those that were looked at: of overflowed seconds, and damaged ones. */
  readonly kept: number;
  /** Whether all rows were looked at. */
  readonly finished: boolean;
}

/** How event rows are deleted. */
export interface DeletingOptions {
  /** Runs requests, so many at a time. */
  readonly limit: <Result>(run: () => Promise<Result>) => Promise<Result>;
  /** Whether there is time for more. */
  readonly hasTime: () => boolean;
  /** Waits before the next try. */
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/**
 * Deletes the event rows of a shard of a closed day, except those that readers need: of seconds that have overflowed. May be
 * stopped at any point and started again, and may run in several processes at once.
 *
 * @throws {StorageTrouble | WriteConflict} after bounded tries
 */
export const deleteEvents = async (
  table: Table,
  partition: string,
  { limit, hasTime, pause = async (milliseconds) => setTimeout(milliseconds) }: DeletingOptions,
): Promise<DeletedEvents> => {
  const overflowed = new OverflowedSeconds(table, partition);
  let [deleted, kept] = [0, 0];
  let from: string | undefined;
  for (let tries = 1; hasTime();) {
    const at = from;
    try {
      const page = await limit(async () =>
        table.page(partition, ALL_EVENTS, { select: NEEDED_PROPERTIES, continuation: at }),
      );
      const keys = await unneededKeys(page, overflowed);
      await deleteAll(keys, async (some) => {
        await limit(async () => table.delete(partition, some));
        deleted += some.length;
        tries = 1;
      });
      kept += page.rows.length - keys.length;
      if (page.continuation === undefined) return { deleted, kept, finished: true };
      from = page.continuation;
      tries = 1;
    } catch (error) {
      // After a conflict the page is read again: another process deleted some of its rows.
      if (!(error instanceof StorageTrouble || error instanceof WriteConflict) || tries === TRIES) throw error;
      const asked = error instanceof StorageTrouble ? Math.min(error.retryAfterMs, 5_000) : 0;
      await pause(Math.max(asked, backoffMs(tries, 100, 5_000)));
      tries += 1;
    }
  }
  return { deleted, kept, finished: false };
};

const unneededKeys = async ({ rows }: Page, overflowed: OverflowedSeconds): Promise<readonly string[]> => {
  const unneeded: StoredRow[] = [];
  for (const row of rows) if (!(await overflowed.needs(row))) unneeded.push(row);
  return unneeded.map(({ rowKey }) => rowKey);
};

/** Deletes rows, 100 a transaction. Where some transactions fail, the others are made all the same; then the first error is thrown. */
const deleteAll = async (
  keys: readonly string[],
  deleteSome: (keys: readonly string[]) => Promise<void>,
): Promise<void> => {
  const starts = Array.from({ length: Math.ceil(keys.length / MAX_OPERATIONS) }, (_, index) => index * MAX_OPERATIONS);
  const results = await Promise.allSettled(
    starts.map(async (start) => deleteSome(keys.slice(start, start + MAX_OPERATIONS))),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
};
