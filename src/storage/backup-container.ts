/** A complete backup and its properties. */
export interface Backup {
  readonly etag: string;
  /** By name; names and values are plain ASCII. */
  readonly facts: Readonly<Record<string, string>>;
}

/** Where backups are kept: a container of Blob Storage. All methods throw StorageTrouble if they cannot do what they are asked. */
export interface BackupContainer {
  /** All backups whose names begin so, by name. */
  list(prefix?: string): Promise<ReadonlyMap<string, Backup>>;

  /**
   * Writes a backup, or replaces it. It is there when all of it is, and not before; nothing of it is kept in memory.
   *
   * @param facts asked for when everything was read
   * @param etag of the replaced backup; undefined: no backup may exist. Of two writers only one is successful.
   * @returns its size in bytes
   */
  write(
    name: string,
    bytes: AsyncIterable<Buffer>,
    facts: () => Backup['facts'],
    etag: string | undefined,
    stop: AbortSignal,
  ): Promise<number>;

  /** Deletes a backup, if it exists. */
  delete(name: string): Promise<void>;

  /** The bytes of a backup. */
  read(name: string): Promise<AsyncIterable<Buffer>>;
}
