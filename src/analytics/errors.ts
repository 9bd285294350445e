// The errors of recording and reading, in addition to the errors of storage.

import { WriteConflict } from '../storage/errors.ts';

/** Storage cannot take all of the messages now. Committed messages stay, and sending all of them again is safe. */
export class RecorderUnavailable extends Error {
  override readonly name = 'RecorderUnavailable';
}

/** The counters of the day are being rebuilt: until the end of the rebuild, it accepts no events and has no answers. Ask or send again later. */
export class DayHeld extends Error {
  override readonly name = 'DayHeld';
  /** A shard of the day. */
  readonly partition: string;

  constructor(partition: string) {
    super('the counters of the day are being rebuilt');
    this.partition = partition;
  }
}

/** The day is closed: it accepts no more changes, because it could no longer recognize a repeated message. */
export class DayClosed extends Error {
  override readonly name = 'DayClosed';
}

/** Rows that were read one after the other do not fit together: another process committed between the reads. */
export class StaleSnapshot extends Error {
  override readonly name = 'StaleSnapshot';
}

/** Whether an error says that another writer came first. */
export const isConflict = (error: unknown): boolean => error instanceof WriteConflict || error instanceof StaleSnapshot;
