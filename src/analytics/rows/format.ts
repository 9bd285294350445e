import type { RowKeys } from './damaged-row.ts';

/** The format of the rows that this version writes, and the only one that it reads. */
export const FORMAT = 1;

/** The property of every row that says its format. It is written with the row's insert; merges leave it as it is. */
export const FORMAT_PROPERTY = 'format';

/**
 * A row has a format that this version does not know: a later version of the service wrote it, or one from before rows had a
 * format. Reading it would give wrong counts.
 */
export class UnknownFormat extends Error implements RowKeys {
  override readonly name = 'UnknownFormat';
  readonly partitionKey: string;
  readonly rowKey: string;

  constructor({ partitionKey, rowKey }: RowKeys, format: unknown) {
    const stored = typeof format === 'number' ? `format ${format}` : 'no format';
    super(`row ${rowKey} of partition ${partitionKey} has ${stored}; this version reads format ${FORMAT} only`);
    this.partitionKey = partitionKey;
    this.rowKey = rowKey;
  }
}

/** Checks the format of a row. @throws {UnknownFormat} */
export const checkFormat = (keys: RowKeys, properties: Readonly<Record<string, unknown>>): void => {
  const format = properties[FORMAT_PROPERTY];
  if (format !== FORMAT) throw new UnknownFormat(keys, format);
};
