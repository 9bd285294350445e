/**
 * A stored row does not hold what this service writes: it was changed from outside, or by a bug. Every reader of rows throws this
 * and nothing else for damage, so that recording, reading and auditing tell it apart from a failure of storage and from a bug.
 */
export class DamagedRow extends Error {
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
