import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';

/** An HTTP server on 127.0.0.1. */
export class LoopbackServer {
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Listens on a free port. */
  static async start(listener: RequestListener): Promise<LoopbackServer> {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    return new LoopbackServer(server, address.port);
  }

  /** Breaks every connection, and ends. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }
}
