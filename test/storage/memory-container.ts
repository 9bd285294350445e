import { gunzipSync } from 'node:zlib';

import type { Backup, BackupContainer } from '../../src/storage/azure-container.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';

/** A container of backups in memory: a backup is there when all of it is, and of two writers only one replaces a version. */
export class MemoryContainer implements BackupContainer {
  /** Runs before each request, and may throw in its place. */
  turn: (request: 'list' | 'write' | 'read', name: string) => void = () => undefined;
  readonly #backups = new Map<string, Backup & { readonly bytes: Buffer }>();
  #writes = 0;

  readonly list = async (prefix = ''): Promise<ReadonlyMap<string, Backup>> => {
    this.turn('list', prefix);
    return new Map([...this.#backups].filter(([name]) => name.startsWith(prefix)));
  };

  readonly write: BackupContainer['write'] = async (name, bytes, facts, etag) => {
    this.turn('write', name);
    if (this.#backups.get(name)?.etag !== etag) throw new StorageTrouble(0, { reason: 'ConditionNotMet' });
    this.#writes += 1;
    this.#backups.set(name, { etag: String(this.#writes), facts, bytes });
  };

  readonly read = async (name: string): Promise<Buffer> => {
    this.turn('read', name);
    const bytes = this.#backups.get(name)?.bytes;
    if (bytes === undefined) throw new StorageTrouble(0, { reason: 'BlobNotFound' });
    return bytes;
  };

  /** The names of the backups, sorted. */
  names(): readonly string[] {
    return [...this.#backups.keys()].sort();
  }

  /** The messages in a backup. */
  linesOf(name: string): readonly string[] {
    const bytes = this.#backups.get(name)?.bytes;
    return bytes === undefined ? [] : gunzipSync(bytes).toString('utf8').trim().split('\n');
  }

  /** The facts of a backup. */
  factsOf(name: string): Backup['facts'] | undefined {
    return this.#backups.get(name)?.facts;
  }
}
