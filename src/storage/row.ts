import type { RowKeys } from './errors.ts';

/** The properties of a stored row that were read, by name. */
export type Properties = Readonly<Record<string, unknown>>;

/** A row as it is stored, and its version. */
export interface StoredRow extends RowKeys {
  readonly etag: string;
  /** With `timestamp`, the time of the row's last write, if it was read. */
  readonly properties: Properties;
}

/** The values of a property. Numbers stay below 2^31, because the SDK sends them without a type. */
export type PropertyValue = string | number | boolean | Uint8Array | Date;

/** Properties to write. Undefined properties are not stored. */
export type NewProperties = Readonly<Record<string, PropertyValue | undefined>>;

export const ANY_VERSION = '*';

/**
 * One write of a transaction. An insert requires that the row does not exist. A merge or a replacement requires that it has not changed
 * since it was read. A deletion requires only that it exists, because the SDK sends no version with it.
 */
export type RowWrite =
  | { readonly kind: 'insert'; readonly rowKey: string; readonly properties: NewProperties }
  | {
      /** `merge` keeps the properties that it does not name; `replace` removes them. */
      readonly kind: 'merge' | 'replace';
      readonly rowKey: string;
      /** {@link ANY_VERSION} passes every fence: only for a merge of properties that nothing else writes. */
      readonly etag: string;
      readonly properties: NewProperties;
    }
  | { readonly kind: 'delete'; readonly rowKey: string };

/** A write after which the row is stored. */
export type StoringWrite = Exclude<RowWrite, { readonly kind: 'delete' }>;

/** Writes a row that was read at a version, or that is not stored yet (`etag` undefined: an insert). */
export const writeOf = (
  rowKey: string,
  etag: string | undefined,
  properties: NewProperties,
  kind: 'merge' | 'replace' = 'merge',
): StoringWrite => (etag === undefined ? { kind: 'insert', rowKey, properties } : { kind, rowKey, etag, properties });

export const MAX_OPERATIONS = 100;

/** Splits keys into parts, each of which fits into one transaction. */
export const inTransactions = (rowKeys: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(rowKeys.length / MAX_OPERATIONS) }, (_, index) =>
    rowKeys.slice(index * MAX_OPERATIONS, (index + 1) * MAX_OPERATIONS),
  );

/** The property of every row that says its format. Inserts and replacements write it; merges leave it as it is. */
export const FORMAT_PROPERTY = 'format';

/** A range of row keys: `from` is in it, `before` is the first key after it. */
export interface KeyRange {
  readonly from: string;
  readonly before: string;
}
