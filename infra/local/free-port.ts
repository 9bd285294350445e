import { createServer } from 'node:net';

/**
 * A TCP port of 127.0.0.1 that nobody listens on at this moment. Somebody may take it before it is used: who listens
 * on it must be ready to try another one.
 */
export const freePort = async (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('No TCP port was given.'));
        else resolve(address.port);
      });
    });
  });
