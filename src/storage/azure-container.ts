import { randomUUID } from 'node:crypto';

import type { TokenCredential } from '@azure/identity';
import { AnonymousCredential, ContainerClient } from '@azure/storage-blob';

import { readSdkError } from '../azure/sdk-error.ts';
import type { Backup, BackupContainer } from './backup-container.ts';
import { StorageTrouble } from './errors.ts';

const BLOCK_BYTES = 4 * 1_048_576;
const REQUEST_MS = 60_000;

/**
 * Backups in a container of Azure Blob Storage, or of Azurite. Loading this module takes a good part of the time in which the app starts:
 * it has its own file, and loads at its first use.
 *
 * @param url of the container; with a shared access signature no identity is used
 * @param folder in which the backups are
 */
export const azureContainer = (url: string, folder: string, credential: TokenCredential): BackupContainer => {
  const isSigned = new URL(url).searchParams.has('sig');
  const retryOptions = { maxTries: 3, retryDelayInMs: 1_000 };
  const client = new ContainerClient(url, isSigned ? new AnonymousCredential() : credential, { retryOptions });
  return new AzureContainer(client, folder);
};

class AzureContainer implements BackupContainer {
  readonly #client: ContainerClient;
  readonly #folder: string;

  constructor(client: ContainerClient, folder: string) {
    this.#client = client;
    this.#folder = `${folder}/`;
  }

  async list(prefix = ''): Promise<ReadonlyMap<string, Backup>> {
    return asking(async () => {
      const found = new Map<string, Backup>();
      const options = { prefix: `${this.#folder}${prefix}`, includeMetadata: true };
      for await (const { name, properties, metadata = {} } of this.#client.listBlobsFlat(options)) {
        found.set(name.slice(this.#folder.length), { etag: properties.etag, facts: metadata });
      }
      return found;
    });
  }

  async write(
    name: string,
    bytes: AsyncIterable<Buffer>,
    facts: () => Backup['facts'],
    etag: string | undefined,
    stop: AbortSignal,
  ): Promise<number> {
    const blob = this.#client.getBlockBlobClient(`${this.#folder}${name}`);
    // Of this writer alone: blocks of two would be mixed.
    const writer = randomUUID();
    const ids: string[] = [];
    let size = 0;
    for await (const block of blocksOf(bytes)) {
      const id = Buffer.from(`${writer} ${String(ids.length).padStart(6, '0')}`).toString('base64');
      await asking(async () => blob.stageBlock(id, block, block.length, { abortSignal: within(stop) }));
      ids.push(id);
      size += block.length;
    }
    await asking(async () =>
      blob.commitBlockList(ids, {
        abortSignal: within(stop),
        conditions: etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: etag },
        metadata: { ...facts() },
        blobHTTPHeaders: { blobContentType: 'application/gzip' },
      }),
    );
    return size;
  }

  async delete(name: string): Promise<void> {
    await asking(async () => this.#client.getBlobClient(`${this.#folder}${name}`).deleteIfExists());
  }

  async read(name: string): Promise<AsyncIterable<Buffer>> {
    return asking(async () => {
      const { readableStreamBody } = await this.#client.getBlobClient(`${this.#folder}${name}`).download();
      if (readableStreamBody === undefined) throw new StorageTrouble(0, { reason: 'no body' });
      return chunksOf(readableStreamBody);
    });
  }
}

const within = (stop: AbortSignal): AbortSignal => AbortSignal.any([stop, AbortSignal.timeout(REQUEST_MS)]);

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
const asking = async <Answer>(request: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await request();
  } catch (error) {
    if (error instanceof StorageTrouble) throw error;
    const { status, code, unanswered } = readSdkError(error);
    throw new StorageTrouble(0, { reason: code ?? unanswered ?? String(status), cause: error });
  }
};
