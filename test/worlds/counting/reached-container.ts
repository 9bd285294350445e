import { syncBuiltinESMExports } from 'node:module';
import { Transform } from 'node:stream';
import zlib from 'node:zlib';

import type { BackupContainer } from '../../../src/storage/azure-container.ts';

/** Compresses as Node does, but not in a thread: threads work outside of virtual time. */
const createGzip = (): Transform => {
  const chunks: Buffer[] = [];
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      chunks.push(chunk);
      done();
    },
    flush: (done) => done(null, zlib.gzipSync(Buffer.concat(chunks))),
  });
};

/** From now on this process compresses without threads. */
export const compressWithoutThreads = (): void => {
  Object.defineProperty(zlib, 'createGzip', { value: createGzip });
  syncBuiltinESMExports();
};

/** A container as one process reaches it: `ask` sends its requests. */
export const reachedContainer = (
  container: BackupContainer,
  ask: <Answer>(request: string, carryOut: () => Promise<Answer>) => Promise<Answer>,
): BackupContainer => ({
  list: async (prefix) => ask(`list ${prefix}`, async () => container.list(prefix)),
  write: async (name, chunks, facts, etag) => {
    const read = await Array.fromAsync(chunks);
    async function* all() {
      yield* read;
    }
    return ask(`back up ${name}`, async () => container.write(name, all(), facts, etag));
  },
  read: async (name) => ask(`read ${name}`, async () => container.read(name)),
});
