import { readSdkError } from '../../azure/sdk-error.ts';

/** A row was not as a write expected: another writer, or this one by a request whose answer was lost, had changed it. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
  /** The index of the first write of the transaction that failed; undefined where storage did not say. */
  readonly index: number | undefined;

  constructor(index?: number, options?: ErrorOptions) {
    super('a row changed', options);
    this.index = index;
  }
}

/** Storage did not take a request, or did not answer: a write may have been applied or not. Trying again may help. */
export class StorageTrouble extends Error {
  override readonly name = 'StorageTrouble';
  /** How long storage asked to wait, in milliseconds; 0 where it did not. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number, options?: ErrorOptions) {
    super('table storage did not take the request', options);
    this.retryAfterMs = retryAfterMs;
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

/** The table does not exist, and this client does not create it. */
export class TableMissing extends Error {
  override readonly name = 'TableMissing';
}

/** How long to wait after try `n` (1, 2, …) failed: exponential, with full jitter, in milliseconds. */
export const backoffMs = (tries: number, baseMs: number, mostMs: number): number =>
  Math.random() * Math.min(mostMs, baseMs * 2 ** (tries - 1));

/** Whether a request failed because there is no table. */
export const isMissingTable = (error: unknown): boolean => {
  const { status, code } = readSdkError(error);
  return status === 404 && code === 'TableNotFound';
};

/** An error of the SDK → one of the three kinds that matter here. */
export const kindOf = (error: unknown): Error => {
  const { status, retryAfterMs = 0 } = readSdkError(error);
  // Below 400: success, in an answer that cannot be read. The write may have been applied.
  if (status === undefined || status < 400) return new StorageTrouble(0, { cause: error });
  if (status === 409 || status === 412 || status === 404) {
    return new WriteConflict(failedIndex(error), { cause: error });
  }
  // 401 and 403: the app's own access is wrong. That is no fault of what is written, and it can be mended.
  if (status >= 500 || [401, 403, 408, 429].includes(status)) return new StorageTrouble(retryAfterMs, { cause: error });
  return new RequestRefused(status, { cause: error });
};

/** The message of a failed transaction starts with the index of the write that failed: `2:The update condition …`. */
const failedIndex = (error: unknown): number | undefined => {
  const index = error instanceof Error ? /^(\d{1,2}):/.exec(error.message)?.[1] : undefined;
  return index === undefined ? undefined : Number(index);
};
