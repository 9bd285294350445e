import { createRequire } from 'node:module';

import { ContainerClient, ContainerSASPermissions, SASProtocol, StorageSharedKeyCredential } from '@azure/storage-blob';

import { onFreePort } from '../../infra/emulators/free-port.ts';
import { ServiceProcess } from '../../infra/emulators/service-process.ts';

const ACCOUNT = 'devstoreaccount1';
const KEY = new StorageSharedKeyCredential(
  ACCOUNT,
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
);

/** A running Azurite blob service. */
export interface Blobs {
  /** A new container. @returns its URL, with a signature that is good for an hour */
  container(name: string): Promise<string>;
  stop(): void;
}

/** Starts the installed Azurite's blob service. */
export const startBlobs = async (): Promise<Blobs> => {
  let port = 0;
  const service = await onFreePort(async (free) => {
    port = free;
    return ServiceProcess.start({
      name: 'Azurite blobs',
      args: [
        createRequire(import.meta.url).resolve('azurite/dist/src/blob/main.js'),
        '--blobHost=127.0.0.1',
        `--blobPort=${free}`,
        '--silent',
        '--skipApiVersionCheck',
        '--disableTelemetry',
        '--inMemoryPersistence',
      ],
      environment: process.env,
      ready: /successfully (?:started|listen)/,
    });
  });
  return {
    container: async (name) => {
      const client = new ContainerClient(`http://127.0.0.1:${port}/${ACCOUNT}/${name}`, KEY);
      await client.create();
      return client.generateSasUrl({
        permissions: ContainerSASPermissions.parse('rcwdl'),
        expiresOn: new Date(Date.now() + 3_600_000),
        protocol: SASProtocol.HttpsAndHttp,
      });
    },
    // Nothing is kept, and connections that clients keep open would hold it up.
    stop: () => service.kill(),
  };
};
