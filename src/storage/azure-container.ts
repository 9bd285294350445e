import { randomUUID } from 'node:crypto';

import type { TokenCredential } from '@azure/identity';
import { AnonymousCredential, ContainerClient } from '@azure/storage-blob';

import { readSdkError } from '../azure/sdk-error.ts';
import { StorageTrouble } from './errors.ts';

const BLOCK_BYTES = 4 * 1_048_576;
const REQUEST_MS = 60_000;

/** A complete backup and its properties. */
export interface Backup {
  readonly etag: string;
  /** By name; names and values are plain ASCII. */
  readonly facts: Readonly<Record<string, string>>;
}

/** Where backups are kept. All methods throw StorageTrouble if a request fails. */
export type BackupContainer = ReturnType<typeof azureContainer>;

/**
 * Backups in a container of Azure Blob Storage, or of Azurite. Loading this module takes a good part of the time in which the app starts:
 * it has its own file, and loads at its first use.
 *
 * @param url of the container; with a shared access signature no identity is used
 * @param folder in which the backups are
 */
export const azureContainer = (url: string, folder: string, credential: TokenCredential) => {
  const isSigned = new URL(url).searchParams.has('sig');
  const retryOptions = { maxTries: 3, retryDelayInMs: 1_000 };
  const client = new ContainerClient(url, isSigned ? new AnonymousCredential() : credential, { retryOptions });
  const blobOf = (name: string) => client.getBlockBlobClient(`${folder}/${name}`);
  return {
    /** All backups whose names begin with this text, by name. */
    list: async (prefix = ''): Promise<ReadonlyMap<string, Backup>> => {
      const found = new Map<string, Backup>();
      let continuationToken: string | undefined;
      do {
        // Each page has its own deadline.
        const page = await asking(async (abortSignal) => {
          const blobs = client.listBlobsFlat({ prefix: `${folder}/${prefix}`, includeMetadata: true, abortSignal });
          for await (const { segment, continuationToken: next } of blobs.byPage(
            continuationToken === undefined ? {} : { continuationToken },
          )) {
            return { blobs: segment.blobItems, next };
          }
          return { blobs: [], next: undefined };
        });
        for (const { name, properties, metadata = {} } of page.blobs) {
          found.set(name.slice(folder.length + 1), { etag: properties.etag, facts: metadata });
        }
        continuationToken = page.next === '' ? undefined : page.next;
      } while (continuationToken !== undefined);
      return found;
    },

    /**
     * Writes a backup, or replaces it. Readers see it only when it is complete; it is streamed, and not kept in memory.
     *
     * @param facts asked for when everything was read; undefined: nothing is written
     * @param etag of the replaced backup; undefined: no backup may exist. If two writers compete, one of them fails.
     * @returns its size in bytes
     */
    write: async (
      name: string,
      bytes: AsyncIterable<Buffer>,
      facts: () => Backup['facts'] | undefined,
      etag: string | undefined,
    ): Promise<number | undefined> => {
      const blob = blobOf(name);
      // The blocks have the name of their writer: the blocks of two writers must not be mixed.
      const writer = randomUUID();
      const ids: string[] = [];
      let size = 0;
      for await (const block of blocksOf(bytes)) {
        const id = Buffer.from(`${writer} ${String(ids.length).padStart(6, '0')}`).toString('base64');
        await asking(async (abortSignal) => blob.stageBlock(id, block, block.length, { abortSignal }));
        ids.push(id);
        size += block.length;
      }
      const metadata = facts();
      if (metadata === undefined) return undefined;
      await asking(async (abortSignal) =>
        blob.commitBlockList(ids, {
          abortSignal,
          conditions: etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: etag },
          metadata: { ...metadata },
          blobHTTPHeaders: { blobContentType: 'application/gzip' },
        }),
      );
      return size;
    },

    read: async (name: string): Promise<AsyncIterable<Buffer>> =>
      asking(async () => {
        const { readableStreamBody } = await blobOf(name).download();
        if (readableStreamBody === undefined) throw new StorageTrouble(0, { reason: 'no body' });
        return chunksOf(readableStreamBody);
      }),
  };
};

async function* blocksOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const part of bytes) {
    parts.push(part);
    size += part.length;
    if (size < BLOCK_BYTES) continue;
    yield Buffer.concat(parts);
    [parts, size] = [[], 0];
  }
  if (size > 0) yield Buffer.concat(parts);
}

async function* chunksOf(body: NodeJS.ReadableStream): AsyncGenerator<Buffer> {
  for await (const chunk of body) yield Buffer.from(chunk);
}

/** The messages of the SDK may hold a signature: they stay inside. */
const asking = async <Answer>(request: (abortSignal: AbortSignal) => Promise<Answer>): Promise<Answer> => {
  try {
    return await request(AbortSignal.timeout(REQUEST_MS));
  } catch (error) {
    if (error instanceof StorageTrouble) throw error;
    const { status, code, unanswered } = readSdkError(error);
    throw new StorageTrouble(0, { reason: code ?? unanswered ?? String(status), cause: error });
  }
};
