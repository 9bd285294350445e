// The errors of recording and reading, in addition to the errors of storage.

import { WriteConflict } from '../storage/errors.ts';

/** Storage cannot take all of the messages now. Committed messages stay, and sending all of them again is safe. */
export class RecorderUnavailable extends Error {
  override readonly name = 'RecorderUnavailable';
}

/** A rewrite holds the day: for some seconds it takes no changes. Sending again later is safe, and closing it must wait. */
export class DayHeld extends Error {
  override readonly name = 'DayHeld';
}

/** The day is closed: it takes no more changes, because it could no longer recognize a repeated message. */
export class DayClosed extends Error {
  override readonly name = 'DayClosed';
}

/** The day was rewritten: its rows are in another generation, perhaps in another number of shards. Start over there. */
export class DayMoved extends Error {
  override readonly name = 'DayMoved';
}

/** Rows that were read one after the other do not fit together: another process committed between the reads. */
export class StaleSnapshot extends Error {
  override readonly name = 'StaleSnapshot';
}

/** Whether an error says that another writer came first. */
export const isConflict = (error: unknown): boolean => error instanceof WriteConflict || error instanceof StaleSnapshot;
