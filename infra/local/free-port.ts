import { createServer, type Server } from 'node:net';

/**
 * Makes a server listen on a port of 127.0.0.1, 0 for any, and gives the port.
 *
 * @throws where the port is in use
 */
export const listenOn = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The server has no TCP port.'));
      else resolve(address.port);
    });
  });

const listenOnce = async (port: number): Promise<number> => {
  const server = createServer();
  const taken = await listenOn(server, port);
  await new Promise((closed) => void server.close(closed));
  return taken;
};

/**
 * A TCP port of 127.0.0.1 that no process listens on now. Another process may take it before it is used: the caller must be ready to
 * try another one.
 */
export const freePort = (): Promise<number> => listenOnce(0);

/** Another process may take the free port before it is used. */
const ATTEMPTS = 3;

/** Starts something on a free port, on another one if this one was taken meanwhile. */
export const onFreePort = async <Started>(start: (port: number) => Promise<Started>): Promise<Started> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      const portWasTaken = error instanceof Error && error.message.includes('EADDRINUSE');
      if (!portWasTaken || attempt === ATTEMPTS) throw error;
    }
  }
};

/** True where no process listens on this TCP port of 127.0.0.1 now. */
export const portIsFree = (port: number): Promise<boolean> =>
  listenOnce(port).then(
    () => true,
    () => false,
  );
