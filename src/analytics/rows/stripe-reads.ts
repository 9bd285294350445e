import { TOTAL_KEY } from './keys.ts';
import { decodingRow, StorageTrouble } from '../../storage/errors.ts';
import type { StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { inStripe, parseStripe, stripesOf } from './stripe-keys.ts';
import { stateFrom, STATE_PROPERTIES } from './total-row.ts';

const PAGE_TRIES = 3;
const COLLECT_TRIES = 50;

/** The rows of one counter in all stripes, by stripe, as they were at one moment. */
export type StripeRows = ReadonlyMap<number, StoredRow>;

/**
 * Reads a counter row in all stripes at one moment. The rows are neighbours, and a page of a query is read together. Where storage
 * does not answer them in one page, they are read by their keys until two readings are the same.
 *
 * @param key the row's key in stripe 0
 * @throws {StorageTrouble | DamagedRow}
 */
export const readStripes = async (
  table: Table,
  partition: string,
  key: string,
  select?: readonly string[],
): Promise<StripeRows> => {
  for (let tries = 0; tries < PAGE_TRIES; tries += 1) {
    const { rows, continuation } = await table.page(partition, stripesOf(key), { select });
    if (continuation === undefined) {
      return new Map(rows.map((row) => [decodingRow(row, () => parseStripe(row.rowKey).stripe), row]));
    }
  }
  return collected(table, partition, key, select);
};

/**
 * Reads the rows by their keys, again and again, until two readings in a row have the same versions: then no row changed between
 * the end of the first reading and the start of the second, and the number of stripes did not either.
 */
const collected = async (
  table: Table,
  partition: string,
  key: string,
  select?: readonly string[],
): Promise<StripeRows> => {
  let before: string | undefined;
  for (let tries = 0; tries < COLLECT_TRIES; tries += 1) {
    const total = await table.get(partition, TOTAL_KEY, { select: STATE_PROPERTIES });
    const stripes = total === undefined ? 0 : stateFrom(total).stripes;
    const rows = await Promise.all(
      Array.from({ length: stripes }, async (_, stripe) => table.get(partition, inStripe(key, stripe), { select })),
    );
    const versions = rows.map((row) => row?.etag ?? '').join('\n');
    if (versions === before) {
      return new Map(rows.flatMap((row, stripe): [number, StoredRow][] => (row === undefined ? [] : [[stripe, row]])));
    }
    before = versions;
  }
  throw new StorageTrouble(0);
};
