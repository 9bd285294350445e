import { createHash } from 'node:crypto';

import { copiedProperties, type RowWrite, type StoredRow } from '../../storage/row.ts';

/** A key has at most 512 characters. */
const MAX_KEY = 512;
/** So many characters of a long key are kept for the reader; the hash after them keeps long keys apart. */
const KEPT = 400;

/** The property of a row that was set aside with its whole key, where that does not fit into the new one. */
export const WHOLE_KEY = 'whole_key';

/**
 * Writes a row, which was read exactly, at the key where it is set aside: `damaged|<time>|<key>`. Rows that the service never wrote may have keys of any length up to the
 * limit: of one that would be too long the start is kept, a hash, and the whole key in {@link WHOLE_KEY}.
 *
 * @param time ISO 8601, UTC
 */
export const setAsideRow = (row: StoredRow, time: string): RowWrite => {
  const { rowKey } = row;
  const properties = copiedProperties(row);
  const prefix = `damaged|${time}|`;
  if (prefix.length + rowKey.length <= MAX_KEY) return { kind: 'insert', rowKey: `${prefix}${rowKey}`, properties };
  const hash = createHash('sha256').update(rowKey).digest('hex');
  // Half of a surrogate pair may be at the end.
  const start = rowKey.slice(0, KEPT).toWellFormed();
  return { kind: 'insert', rowKey: `${prefix}${start}|${hash}`, properties: { ...properties, [WHOLE_KEY]: rowKey } };
};
