import { createServer } from 'node:net';

/** Listens once on a port of 127.0.0.1, 0 for any, and gives the port. Rejects where the port is in use. */
const listenOnce = async (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('No TCP port was given.'));
        else resolve(address.port);
      });
    });
  });

/**
 * A TCP port of 127.0.0.1 that no process listens on now. Another process may take it before it is used: the caller must be ready to
 * try another one.
 */
export const freePort = (): Promise<number> => listenOnce(0);

/** True where no process listens on this TCP port of 127.0.0.1 now. */
export const portIsFree = (port: number): Promise<boolean> =>
  listenOnce(port).then(
    () => true,
    () => false,
  );
