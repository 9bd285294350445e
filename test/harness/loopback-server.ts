import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';

import { listenOn } from '../../infra/emulators/free-port.ts';

/** An HTTP server on a free port of 127.0.0.1. */
export class LoopbackServer {
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async start(listener: RequestListener): Promise<LoopbackServer> {
    const server = createServer(listener);
    return new LoopbackServer(server, await listenOn(server, 0));
  }

  /** Breaks every connection, and ends. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }
}
