import { DamagedRow, type RowKeys } from './errors.ts';

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

/** The maximum number of operations of an entity group transaction. It also has at most 4 MiB: 0.6 MiB of them are for what the SDK adds to the body. */
export const MAX_OPERATIONS = 100;
const MAX_BYTES = 3_400_000;
const OPERATION_BYTES = 900;

/** Whether writes fit into one transaction. In the body, bytes are in Base64, and texts have JSON escapes. */
export const fitTransaction = (writes: readonly StoringWrite[]): boolean => {
  let bytes = 0;
  for (const { rowKey, properties } of writes) {
    bytes += OPERATION_BYTES + 3 * rowKey.length;
    for (const [name, value] of Object.entries(properties)) {
      bytes += name.length + 24;
      if (typeof value === 'string') bytes += Math.ceil(Buffer.byteLength(value) * 1.15);
      else if (value instanceof Uint8Array) bytes += Math.ceil(value.length * 1.34);
    }
  }
  return writes.length <= MAX_OPERATIONS && bytes <= MAX_BYTES;
};

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

/** A key, a property or bytes of a row cannot be decoded. A function that takes a stored row catches it with {@link decodingRow}. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** The decoded value. If decoding fails: undefined, and `tell` gets the error. */
export const unlessDamaged = <Value>(decode: () => Value, tell?: (damage: Error) => void): Value | undefined => {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof DamagedRow || error instanceof DecodeError)) throw error;
    tell?.(error);
    return undefined;
  }
};

/** Decodes a row, or bytes that were read from it. @throws {DamagedRow} in place of a {@link DecodeError} */
export const decodingRow = <Value>({ partitionKey, rowKey }: RowKeys, decode: () => Value): Value => {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DamagedRow(partitionKey, rowKey, error.message, { cause: error });
  }
};
