// The errors of recording and reading, in addition to the errors of storage.

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
