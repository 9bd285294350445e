import { syncBuiltinESMExports } from 'node:module';
import { PassThrough } from 'node:stream';
import zlib from 'node:zlib';

import type { Backup, BackupContainer } from '../../../src/storage/azure-container.ts';
import { StorageTrouble } from '../../../src/storage/errors.ts';

// Threads compress outside of virtual time: here nothing is compressed.
Object.defineProperty(zlib, 'createGzip', { value: () => new PassThrough() });
syncBuiltinESMExports();

interface Blob extends Backup {
  readonly text: string;
}

/** The backups of a world, which all its processes share. */
export class MemoryContainer {
  readonly #blobs = new Map<string, Blob>();
  #writes = 0;

  /** The container as one process reaches it. */
  reachedBy(ask: <Answer>(request: string, carryOut: () => Promise<Answer>) => Promise<Answer>): BackupContainer {
    return {
      list: async (prefix = '') =>
        ask(`list ${prefix}`, async () => new Map([...this.#blobs].filter(([name]) => name.startsWith(prefix)))),
      write: async (name, bytes, facts, etag) => {
        const parts: Buffer[] = [];
        for await (const part of bytes) parts.push(part);
        const own = facts();
        if (own === undefined) return undefined;
        const text = Buffer.concat(parts).toString();
        return ask(`back up ${name}`, async () => {
          if (this.#blobs.get(name)?.etag !== etag) throw new StorageTrouble(0, { reason: 'ConditionNotMet' });
          this.#writes += 1;
          this.#blobs.set(name, { text, etag: String(this.#writes), facts: own });
          return text.length;
        });
      },
      read: async () => {
        throw new Error('nothing of the service reads backups');
      },
    };
  }

  /** The messages in all backups: those of the newest, and those of files that have more events. */
  get lines(): readonly string[] {
    return [...this.#blobs.values()].flatMap(({ text }) => text.split('\n').filter((line) => line !== ''));
  }
}
