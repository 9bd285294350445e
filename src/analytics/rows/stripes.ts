import { decodingRow, type StoredRow } from '../../storage/row.ts';
import { StorageTrouble } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { type Counter, counterKey, MAX_STRIPES, parseStripe, stripesOf } from './keys.ts';

// A counter has a row in each stripe. This file reads all of them as of one moment.

/** The stored rows of one counter, by stripe. */
export type RowsByStripe = ReadonlyMap<number, StoredRow>;

const PAGE_TRIES = 3;
const KEY_TRIES = 50;

/**
 * Reads the rows of a counter in all stripes at one moment. They are neighbors, and a page of a query is read together. If storage does
 * not answer them in one page, they are read by their keys until two readings agree.
 *
 * @param select the properties to read; all by default
 */
export const readStripes = async (
  table: Table,
  partition: string,
  counter: Counter,
  select?: readonly string[],
): Promise<RowsByStripe> => {
  for (let tries = 0; tries < PAGE_TRIES; tries += 1) {
    const { rows, continuation } = await table.page(partition, stripesOf(counter), { select });
    if (continuation === undefined) return byStripe(rows);
  }
  // If two readings in a row have the same versions, no row changed between the end of the first and the start of the second.
  let before: string | undefined;
  for (let tries = 0; tries < KEY_TRIES; tries += 1) {
    const found = await Promise.all(
      Array.from({ length: MAX_STRIPES }, async (_, stripe) =>
        table.get(partition, counterKey(counter, stripe), { select }),
      ),
    );
    const rows = found.filter((row) => row !== undefined);
    const versions = rows.map(({ rowKey, etag }) => `${rowKey} ${etag}`).join('\n');
    if (versions === before) return byStripe(rows);
    before = versions;
  }
  throw new StorageTrouble(0, { reason: 'rows change all the time' });
};

/** The rows of one counter by stripe. @throws {DamagedRow} if a key is not the key of a counter */
export const byStripe = (rows: readonly StoredRow[]): RowsByStripe =>
  new Map(rows.map((row) => [decodingRow(row, () => parseStripe(row.rowKey)), row]));

/** Whether a shard has rows: `!` comes before every character of a partition's key. */
export const hasRows = async (table: Table, partition: string): Promise<boolean> =>
  (await table.firstPartition({ from: partition, before: `${partition}!` })) !== undefined;
