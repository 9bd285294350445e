import type { RowKeys } from './damaged-row.ts';

/** The format of the rows that this version writes. */
export const FORMAT = 1;

/** The property of every row that says its format. It is written with the row's insert; merges leave it as it is. */
export const FORMAT_PROPERTY = 'format';

/** A row was written by a later version of the service, in a format that this one does not know: it would give wrong counts. */
export class LaterFormat extends Error implements RowKeys {
  override readonly name = 'LaterFormat';
  readonly partitionKey: string;
  readonly rowKey: string;

  constructor({ partitionKey, rowKey }: RowKeys, format: number) {
    super(
      `row ${rowKey} of partition ${partitionKey} has format ${format}; this version knows formats up to ${FORMAT}`,
    );
    this.partitionKey = partitionKey;
    this.rowKey = rowKey;
  }
}

/** Checks the format of a row. One without a format is read as damaged where it lacks what this format has. @throws {LaterFormat} */
export const checkFormat = (keys: RowKeys, properties: Readonly<Record<string, unknown>>): void => {
  const format = properties[FORMAT_PROPERTY];
  if (typeof format === 'number' && format > FORMAT) throw new LaterFormat(keys, format);
};
