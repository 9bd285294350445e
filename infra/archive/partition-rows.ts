import { odata, type TableClient } from '@azure/data-tables';

import { readSdkError } from '../../src/azure/sdk-error.ts';
import { type ArchivedRow, archivedRow } from './archived-row.ts';

/** Which version of a row the storage has. */
export interface RowVersion {
  readonly rowKey: string;
  readonly etag: string;
}

const PAGE_ROWS = 1_000;

/** The most a request may take, its retries included. */
const REQUEST_MS = 120_000;

/** The day's partition, and those whose names go on with `_`: the character after it ends the range. */
const rangeOfDay = (day: string): readonly [from: string, before: string] => [day, `${day}\u0060`];

/** The partitions of a day that have rows, in order. Nothing but their names is read. */
export const partitionsOf = async (table: TableClient, day: string): Promise<readonly string[]> => {
  const [from, before] = rangeOfDay(day);
  const partitions: string[] = [];
  for (;;) {
    const last = partitions.at(-1);
    const after = last === undefined ? odata`PartitionKey ge ${from}` : odata`PartitionKey gt ${last}`;
    const first = await firstPartition(table, `${after} and ${odata`PartitionKey lt ${before}`}`);
    if (first === undefined) return partitions;
    partitions.push(first);
  }
};

const firstPartition = async (table: TableClient, filter: string): Promise<string | undefined> => {
  for await (const page of pagesOf(table, filter, ['PartitionKey'], 1)) {
    for (const { partitionKey } of page) if (typeof partitionKey === 'string') return partitionKey;
  }
  return undefined;
};

const pagesOf = (
  table: TableClient,
  filter: string,
  select?: readonly string[],
  rows = PAGE_ROWS,
): AsyncIterable<readonly Readonly<Record<string, unknown>>[]> =>
  table
    .listEntities({
      disableTypeConversion: true,
      queryOptions: { filter, ...(select && { select: [...select] }) },
    })
    .byPage({ maxPageSize: rows });

/** Storage gave rows in another order than that of their keys' UTF-16 units, on which comparing two readings of a partition rests. */
export class UnexpectedOrder extends Error {
  override readonly name = 'UnexpectedOrder';
}

const inOrder = (rows: readonly RowVersion[], after: string | undefined): void => {
  let last = after;
  for (const { rowKey } of rows) {
    if (last !== undefined && !(last < rowKey))
      throw new UnexpectedOrder('the rows are not in the order of their keys');
    last = rowKey;
  }
};

/** The rows of a partition after a key, in the order of their keys, page by page, with everything they hold. */
export async function* rowPages(
  table: TableClient,
  partition: string,
  after?: string,
): AsyncGenerator<readonly ArchivedRow[]> {
  let last = after;
  for await (const page of pagesOf(table, partitionFilter(partition, after))) {
    const rows = page.map(archivedRow);
    inOrder(rows, last);
    last = rows.at(-1)?.rowKey ?? last;
    yield rows;
  }
}

/** Which rows a partition has, in the order of their keys, page by page. */
export async function* versionPages(table: TableClient, partition: string): AsyncGenerator<readonly RowVersion[]> {
  let last: string | undefined;
  for await (const page of pagesOf(table, partitionFilter(partition), ['PartitionKey', 'RowKey'])) {
    const versions = page.map(({ rowKey, etag }) => {
      if (typeof rowKey !== 'string' || typeof etag !== 'string') throw new TypeError('a row without key or ETag');
      return { rowKey, etag };
    });
    inOrder(versions, last);
    last = versions.at(-1)?.rowKey ?? last;
    yield versions;
  }
}

const partitionFilter = (partition: string, after?: string): string =>
  after === undefined
    ? odata`PartitionKey eq ${partition}`
    : odata`PartitionKey eq ${partition} and RowKey gt ${after}`;

/** One row; undefined where there is none. */
export const rowAt = async (
  table: TableClient,
  partition: string,
  rowKey: string,
): Promise<ArchivedRow | undefined> => {
  try {
    return archivedRow(
      await table.getEntity(partition, rowKey, {
        disableTypeConversion: true,
        abortSignal: AbortSignal.timeout(REQUEST_MS),
      }),
    );
  } catch (error) {
    if (readSdkError(error).status === 404) return undefined;
    throw error;
  }
};
