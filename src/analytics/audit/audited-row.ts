import { commitNumberOf } from '../rows/commit-number.ts';
import type { StoredRow } from '../../storage/row.ts';
import { parseStripe } from '../rows/stripe-keys.ts';
import { DAMAGED, decodedOr, type Stored } from './findings.ts';

/** A counter row: its number of the latest commit, and its value, of which what it keeps in bytes is not decoded yet. */
export interface AuditedRow<Value> {
  readonly commit: number;
  readonly value: Value;
}

/** A row as an audit needs it. */
export const audited = <Value>(row: StoredRow, rowFrom: (row: StoredRow) => Value): Stored<AuditedRow<Value>> =>
  decodedOr(() => ({ commit: commitNumberOf(row), value: rowFrom(row) }));

/** A row of a key range. */
export interface KeyedRow<Key, Value> {
  readonly rowKey: string;
  readonly etag: string;
  readonly stripe: number;
  readonly key: Key;
  readonly row: Stored<AuditedRow<Value>>;
}

/** Rows by their parsed keys, and the keys that cannot be parsed. */
export const keyed = <Key, Value>(
  stored: readonly StoredRow[],
  parseKey: (rowKey: string) => Key,
  rowFrom: (row: StoredRow) => Value,
): { readonly rows: readonly KeyedRow<Key, Value>[]; readonly strays: readonly string[] } => {
  const rows: KeyedRow<Key, Value>[] = [];
  const strays: string[] = [];
  for (const row of stored) {
    const parsed = decodedOr(() => {
      const { key, stripe } = parseStripe(row.rowKey);
      return { stripe, key: parseKey(key) };
    });
    if (parsed === DAMAGED) strays.push(row.rowKey);
    else rows.push({ ...parsed, rowKey: row.rowKey, etag: row.etag, row: audited(row, rowFrom) });
  }
  return { rows, strays };
};
