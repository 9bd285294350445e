import { createServer, type Server } from 'node:net';

/** Makes a server listen on a port of 127.0.0.1, 0 for any, and returns the port. @throws {Error} if the port is in use */
export const listenOn = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The server has no TCP port.'));
      else resolve(address.port);
    });
  });

/** Operating systems assign higher ports to processes that ask for any port, and to outgoing connections. */
const [MIN_PORT, MAX_PORT] = [20_000, 32_767];

/** A TCP port of 127.0.0.1 that no process listens on now. Only another caller of this function can take it in the meantime. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = MIN_PORT + Math.floor(Math.random() * (MAX_PORT - MIN_PORT + 1));
    if (await portIsFree(port)) return port;
  }
};

const ATTEMPTS = 3;

/** Starts something on a free port, and tries another port if a process has taken the first in the meantime. */
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

/** Whether no process listens on this TCP port of 127.0.0.1 now. */
export const portIsFree = async (port: number): Promise<boolean> => {
  const server = createServer();
  try {
    await listenOn(server, port);
  } catch {
    return false;
  }
  await new Promise((closed) => void server.close(closed));
  return true;
};
