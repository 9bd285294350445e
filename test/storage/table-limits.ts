import { isUint8Array } from 'node:util/types';

/** The limits of Table Storage, from its documentation: "Understanding the Table service data model", "Entity group transactions". */
export const LIMITS = {
  keyCharacters: 512,
  properties: 252,
  propertyBytes: 65_536,
  rowBytes: 1_048_576,
  transactionOperations: 100,
  transactionBytes: 4 * 1_048_576,
} as const;

/** A whole row as it is stored. */
export interface WholeRow {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Bytes of a value as the service counts them: UTF-16 for text, the bytes themselves for binary. */
const propertyBytes = (value: unknown): number => {
  if (typeof value === 'string') return 4 + 2 * value.length;
  if (isUint8Array(value)) return 4 + value.length;
  return typeof value === 'boolean' ? 1 : 8;
};

/** Bytes of a row as the service counts them: 4, its keys, and of each property 8, its name and its value. */
export const rowBytes = ({ partitionKey, rowKey, properties }: WholeRow): number => {
  let bytes = 4 + 2 * (partitionKey.length + rowKey.length);
  for (const [name, value] of Object.entries(properties)) {
    if (value !== undefined) bytes += 8 + 2 * name.length + propertyBytes(value);
  }
  return bytes;
};

/** Why Table Storage would refuse a row. Azurite accepts much of this. */
export const objectionsTo = (row: WholeRow): readonly string[] => {
  const objections: string[] = [];
  for (const key of [row.partitionKey, row.rowKey]) {
    if (key.length > LIMITS.keyCharacters) objections.push(`a key of ${key.length} characters`);
    if (/[/\\#?\p{Cc}]/u.test(key)) objections.push(`a key with a forbidden character: ${key}`);
  }
  const properties = Object.entries(row.properties);
  if (properties.length > LIMITS.properties) objections.push(`${properties.length} properties`);
  for (const [name, value] of properties) {
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,254}$/.test(name)) objections.push(`a property named ${name}`);
    const bytes = propertyBytes(value);
    if (bytes > 4 + LIMITS.propertyBytes) objections.push(`${bytes} bytes in ${name}`);
  }
  const bytes = rowBytes(row);
  if (bytes > LIMITS.rowBytes) objections.push(`${bytes} bytes`);
  return objections;
};
