import { createRequire } from 'node:module';

import { ContainerClient, ContainerSASPermissions, SASProtocol } from '@azure/storage-blob';
import { inject } from 'vitest';

import { onFreePort } from '../../infra/emulators/free-port.ts';
import { ServiceProcess } from '../../infra/emulators/service-process.ts';

/** Starts the blob service of the installed Azurite. */
export const startBlobs = async () =>
  onFreePort(async (port) => {
    const server = createRequire(import.meta.url).resolve('azurite/dist/src/blob/main.js');
    const options = ['--silent', '--skipApiVersionCheck', '--disableTelemetry', '--inMemoryPersistence'];
    const service = await ServiceProcess.start({
      name: 'Azurite blobs',
      args: [server, '--blobHost=127.0.0.1', `--blobPort=${port}`, ...options],
      environment: process.env,
      ready: /successfully (?:started|listen)/,
    });
    // Every Azurite has the same account.
    const account = `${inject('tablesConnectionString')};BlobEndpoint=http://127.0.0.1:${port}/devstoreaccount1`;
    return {
      /** A new container. @returns its URL, with a signature that is good for an hour */
      container: async (name: string): Promise<string> => {
        const client = new ContainerClient(account, name);
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
  });

/** A running Azurite blob service. */
export type Blobs = Awaited<ReturnType<typeof startBlobs>>;
