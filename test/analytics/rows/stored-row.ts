import type { Properties, StoredRow } from '../../../src/storage/row.ts';

/** A row as the table would answer it. */
export const storedRow = (rowKey: string, properties: Properties): StoredRow => ({
  partitionKey: '2026-11-21_00',
  rowKey,
  etag: 'e',
  properties,
});
