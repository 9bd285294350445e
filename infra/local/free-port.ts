import { createServer } from 'node:net';

/** The port that a server on 127.0.0.1 gets when it asks for `port`; 0 asks for any. Rejects where it gets none. */
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
 * A TCP port of 127.0.0.1 that nobody listens on at this moment. Somebody may take it before it is used: who listens
 * on it must be ready to try another one.
 */
export const freePort = (): Promise<number> => listenOnce(0);

/** True where nobody listens on this TCP port of 127.0.0.1 at this moment. */
export const portIsFree = (port: number): Promise<boolean> =>
  listenOnce(port).then(
    () => true,
    () => false,
  );
