import type { RowKeys } from './damaged-row.ts';
import { FORMAT, FORMAT_PROPERTY } from './format.ts';

/** The properties of a stored row, or those of them that were read, by name. */
export type Properties = Readonly<Record<string, unknown>>;

/** A row as it is stored, and its version. */
export interface StoredRow extends RowKeys {
  readonly etag: string;
  readonly properties: Properties;
}

/** What this service stores in a property. Numbers stay below 2^31, because the SDK sends them without a type. */
export type PropertyValue = string | number | boolean | Uint8Array;

/** Properties to write. */
export type NewProperties = Readonly<Record<string, PropertyValue>>;

/** The version of a row that exists, whatever its version. */
export const ANY_VERSION = '*';

/** One write of a transaction. An insert requires that the row does not exist, the others that it has not changed. */
export type RowWrite =
  | { readonly kind: 'insert'; readonly rowKey: string; readonly properties: NewProperties }
  | {
      /** `merge` keeps the properties that it does not name; `replace` removes them. */
      readonly kind: 'merge' | 'replace';
      readonly rowKey: string;
      /** {@link ANY_VERSION} passes every fence: only for a merge of properties that nothing else writes. */
      readonly etag: string;
      readonly properties: NewProperties;
    };

/** Writes a row that was read at a version, or that is not stored yet (`etag` undefined: an insert). */
export const writeOf = (
  rowKey: string,
  etag: string | undefined,
  properties: NewProperties,
  kind: 'merge' | 'replace' = 'merge',
): RowWrite => (etag === undefined ? { kind: 'insert', rowKey, properties } : { kind, rowKey, etag, properties });

/** The properties that a write sends: with the format, unless it keeps what the row has. */
export const sentProperties = ({ kind, properties }: RowWrite): NewProperties =>
  kind === 'merge' ? properties : { ...properties, [FORMAT_PROPERTY]: FORMAT };
