// What recording throws besides the errors of storage.

import { WriteConflict } from '../storage/errors.ts';

/** Storage cannot take all of the messages now. What was committed stays, and sending all of them again is safe. */
export class RecorderUnavailable extends Error {
  override readonly name = 'RecorderUnavailable';
}

/** A row of a snapshot has a category that the total of the snapshot lacks: another process committed between the reads. */
export class StaleSnapshot extends Error {
  override readonly name = 'StaleSnapshot';
}

/** Whether an error says that another writer came first. */
export const isConflict = (error: unknown): boolean => error instanceof WriteConflict || error instanceof StaleSnapshot;
