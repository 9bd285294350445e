import { buffer } from 'node:stream/consumers';

import type { TokenCredential } from '@azure/identity';
import { AnonymousCredential, ContainerClient } from '@azure/storage-blob';

import { readSdkError } from '../azure/sdk-error.ts';
import { StorageTrouble } from './errors.ts';

/** How long a write may take with its retries, and a list with its pages, in milliseconds. */
const REQUEST_MS = 300_000;

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
    list: async (prefix = ''): Promise<ReadonlyMap<string, Backup>> =>
      asking(async (abortSignal) => {
        const found = new Map<string, Backup>();
        const blobs = client.listBlobsFlat({ prefix: `${folder}/${prefix}`, includeMetadata: true, abortSignal });
        for await (const { name, properties, metadata = {} } of blobs) {
          found.set(name.slice(folder.length + 1), { etag: properties.etag, facts: metadata });
        }
        return found;
      }),

    /**
     * Writes a backup, or replaces it. Readers see it only when it is complete.
     *
     * @param etag of the replaced backup; undefined: no backup may exist. If two writers compete, one of them fails.
     */
    write: async (name: string, bytes: Buffer, facts: Backup['facts'], etag: string | undefined): Promise<void> => {
      await asking(async (abortSignal) =>
        blobOf(name).upload(bytes, bytes.length, {
          abortSignal,
          conditions: etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: etag },
          metadata: { ...facts },
          blobHTTPHeaders: { blobContentType: 'application/gzip' },
        }),
      );
    },

    /** Without a deadline: the connection of an operator may be slow. */
    read: async (name: string): Promise<Buffer> =>
      asking(async () => {
        const { readableStreamBody } = await blobOf(name).download();
        if (readableStreamBody === undefined) throw new StorageTrouble(0, { reason: 'no body' });
        return buffer(readableStreamBody);
      }),
  };
};

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
