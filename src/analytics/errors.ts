// What recording throws besides the errors of storage.

/** Storage cannot take all of the messages now. What was committed stays, and sending all of them again is safe. */
export class RecorderUnavailable extends Error {
  override readonly name = 'RecorderUnavailable';
}

/** A row of a snapshot has a category that the total of the snapshot lacks: another process committed between the reads. */
export class StaleSnapshot extends Error {
  override readonly name = 'StaleSnapshot';
}
