/** The keys of a row. */
export interface RowKeys {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/**
 * A stored row does not hold what this service writes: it was changed from outside, or by a bug. Every reader of rows throws this
 * and nothing else for damage, so that recording, reading and auditing tell it apart from a failure of storage and from a bug.
 */
export class DamagedRow extends Error implements RowKeys {
  override readonly name = 'DamagedRow';
  readonly partitionKey: string;
  readonly rowKey: string;

  /** @param damage what is wrong with the row, in words; no values of the row */
  constructor(partitionKey: string, rowKey: string, damage: string, options?: ErrorOptions) {
    super(`row ${rowKey} of partition ${partitionKey} is damaged: ${damage}`, options);
    this.partitionKey = partitionKey;
    this.rowKey = rowKey;
  }
}

/**
 * A key, a property or bytes of a row cannot be decoded. Functions that take a stored row catch it with {@link decodingRow}; callers
 * of a function that takes a key, properties or bytes do so themselves.
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/**
 * Decodes a row, or bytes that were read from it.
 *
 * @throws {DamagedRow} in place of a {@link DecodeError}
 */
export const decodingRow = <Value>({ partitionKey, rowKey }: RowKeys, decode: () => Value): Value => {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DamagedRow(partitionKey, rowKey, error.message, { cause: error });
  }
};
