// Every error of table storage that leaves this folder. The errors of the SDK stay inside: their messages and requests hold keys.

export interface RowKeys {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** A row was not as a write expected: another writer, or this writer by a request whose answer was lost, had changed it. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
  /** The index of the first write of the transaction that failed; undefined if storage did not say. */
  readonly index: number | undefined;

  constructor(index?: number, options?: ErrorOptions) {
    super('a row changed', options);
    this.index = index;
  }
}

/** Storage did not take a request, or did not answer: a write may have been applied or not. Trying again may help. */
export class StorageTrouble extends Error {
  override readonly name = 'StorageTrouble';
  /** How long storage asked to wait, in milliseconds; 0 if it did not ask. */
  readonly retryAfterMs: number;
  /** An error code, an HTTP status or a few words, for the log. */
  readonly reason: string;

  constructor(
    retryAfterMs: number,
    { reason = 'unknown', ...options }: ErrorOptions & { readonly reason?: string } = {},
  ) {
    super('table storage did not take the request', options);
    this.retryAfterMs = retryAfterMs;
    this.reason = reason;
  }
}

/** Storage refuses this request, and would refuse it again. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly status: number;

  constructor(status: number, options?: ErrorOptions) {
    super(`table storage refused the request with status ${status}`, options);
    this.status = status;
  }
}

export class TableMissing extends Error {
  override readonly name = 'TableMissing';

  constructor(options?: ErrorOptions) {
    super('the table does not exist', options);
  }
}

/** A stored row cannot be read. */
export class RowError extends Error implements RowKeys {
  readonly partitionKey: string;
  readonly rowKey: string;

  constructor({ partitionKey, rowKey }: RowKeys, problem: string, options?: ErrorOptions) {
    super(`row ${rowKey} of partition ${partitionKey} ${problem}`, options);
    this.partitionKey = partitionKey;
    this.rowKey = rowKey;
  }
}

/** A row was written by a later version of the service, in a format that this version does not know: it would be misread. */
export class LaterFormat extends RowError {
  override readonly name = 'LaterFormat';

  constructor(row: RowKeys, format: number, known: number) {
    super(row, `has format ${format}; this version knows formats up to ${known}`);
  }
}

/**
 * A stored row does not hold what this service writes: it was changed from outside, or by a bug. Every reader of rows throws only
 * this for damage, to tell it from a failure of storage and from a bug.
 */
export class DamagedRow extends RowError {
  override readonly name = 'DamagedRow';

  /** @param damage the fault of the row, in words; no values of the row */
  constructor(partitionKey: string, rowKey: string, damage: string, options?: ErrorOptions) {
    super({ partitionKey, rowKey }, `is damaged: ${damage}`, options);
  }
}
