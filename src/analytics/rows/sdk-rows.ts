import type { TransactionAction } from '@azure/data-tables';

import { checkFormat, FORMAT_PROPERTY } from './format.ts';
import { sentProperties, type RowWrite, type StoredRow } from './row.ts';
import { StorageTrouble } from './storage-errors.ts';

// Between the entities of the SDK and rows.

/** A row as it is stored, each property with its type, in the form of the SDK. */
export interface TypedRow {
  readonly rowKey: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

const SYSTEM_PROPERTIES: ReadonlySet<string> = new Set(['partitionKey', 'rowKey', 'timestamp', 'etag']);

/** An answered entity as a row. @throws {StorageTrouble | LaterFormat} */
export const storedRow = (partitionKey: string, entity: Readonly<Record<string, unknown>>): StoredRow => {
  const { rowKey, etag } = entity;
  // Every answer has both: one without is an answer that cannot be read.
  if (typeof rowKey !== 'string' || typeof etag !== 'string') throw new StorageTrouble(0);
  // Table Storage answers null for each selected property that a row lacks; Azurite leaves it out.
  const properties = Object.fromEntries(Object.entries(entity).filter(([, value]) => value !== null));
  checkFormat({ partitionKey, rowKey }, properties);
  return { partitionKey, rowKey, etag, properties };
};

/** An entity that was read without conversion of types as a row that can be copied. */
export const typedRow = (rowKey: string, entity: Readonly<Record<string, unknown>>): TypedRow => {
  const own = Object.entries(entity).filter(([name]) => !SYSTEM_PROPERTIES.has(name) && !name.startsWith('odata.'));
  return { rowKey, properties: Object.fromEntries(own) };
};

/** A write as an operation of a transaction. */
export const actionOf = (partitionKey: string, write: RowWrite): TransactionAction => {
  const entity = { partitionKey, rowKey: write.rowKey, ...sentProperties(write) };
  if (write.kind === 'insert') return ['create', entity];
  // Without the ETag the SDK sends If-Match: * and a stale write would win silently.
  return ['update', entity, write.kind === 'merge' ? 'Merge' : 'Replace', { etag: write.etag }];
};

/** Operations that move a row to another key with other properties, or copy it where it stays. */
export const moveActions = (partitionKey: string, from: string, to: TypedRow, stays: boolean): TransactionAction[] => {
  const copied: TransactionAction = ['create', { ...to.properties, partitionKey, rowKey: to.rowKey }];
  return stays ? [copied] : [copied, ['delete', { partitionKey, rowKey: from }]];
};

/** The names to select for some properties. */
export const selectOf = (select: readonly string[]): string[] => ['RowKey', FORMAT_PROPERTY, ...select];
