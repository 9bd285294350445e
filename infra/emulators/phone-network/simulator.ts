import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';

import { listenOn } from '../free-port.ts';
import type { Deliveries } from './deliveries.ts';
import { EventTopic } from './event-topic.ts';
import type { NetworkOptions, PhoneNetwork, SetUpFault } from './phone-network.ts';
import type { Reply } from './reply.ts';

/** How to start a simulator. */
export interface SimulatorOptions extends Omit<NetworkOptions, 'pace'> {
  /** The durations of calls. The default is fast, for tests. */
  readonly pace?: Partial<NetworkOptions['pace']>;
}

export const networkOptions = ({ pace, ...options }: SimulatorOptions): NetworkOptions => ({
  ...options,
  pace: { ringMs: 30, eventMs: 10, speakMs: 60, ...pace },
});

/** The provider that a simulator serves. */
interface Provider {
  readonly network: Pick<PhoneNetwork, 'setUpFault' | 'reply' | 'log' | 'stop'>;
  readonly deliveries: Deliveries;
  /** Carries out a request to the API. */
  readonly carryOut: (request: IncomingMessage, url: URL, body: string) => Reply;
  /** Public documents, by their paths. */
  readonly documents?: Readonly<Record<string, object>>;
}

const TOPIC_PATH = '/topic/api/events';

/** Paths that an operator posts to, to break the set-up of the app and to repair it. */
const SET_UP: Readonly<Record<string, SetUpFault | undefined>> = {
  '/set-up/401': 401,
  '/set-up/403': 403,
  '/set-up/number': 'number',
  '/set-up/right': undefined,
};

/** A simulated provider, an Event Grid topic, and the log of both, on a port of this machine. */
export class Simulator {
  /** Without a slash at its end. */
  readonly url: string;
  readonly topic: EventTopic;
  readonly #server: Server;
  readonly #provider: Provider;

  constructor([server, url]: Listening, provider: Provider) {
    this.url = url;
    this.topic = new EventTopic(`${url}${TOPIC_PATH}`);
    this.#server = server;
    this.#provider = provider;
    server.on('request', (request, response) => {
      const reply = async (): Promise<void> => {
        const replied = this.#reply(request, await text(request));
        if (replied === 'answer lost') request.socket.destroy();
        if (typeof replied === 'string') return;
        const { status, body, headers } = replied;
        response.writeHead(status, { ...(body && { 'content-type': 'application/json' }), ...headers });
        response.end(body && JSON.stringify(body));
      };
      // A client that gave up before the end of its request gets no answer.
      reply().catch(() => response.destroy());
    });
  }

  /** How the provider refuses everything; undefined: it accepts the app. */
  get setUpFault(): SetUpFault | undefined {
    return this.#provider.network.setUpFault;
  }

  set setUpFault(fault) {
    this.#provider.network.setUpFault = fault;
  }

  /** The story of every call, the mistakes of the app, and the published events, repeats included. `GET /log` answers the same. */
  log(): ReturnType<PhoneNetwork['log']> {
    return this.#provider.network.log(this.topic.published);
  }

  /** Fulfils when no callback is on its way, including callbacks after the end of a call. */
  async settled(): Promise<void> {
    return this.#provider.deliveries.settled();
  }

  async stop(): Promise<void> {
    this.#provider.network.stop();
    await this.#provider.deliveries.stop();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #reply(request: IncomingMessage, body: string): Reply {
    const { network, carryOut, documents = {} } = this.#provider;
    const url = new URL(request.url ?? '/', this.url);
    const { method = '' } = request;
    const { pathname: path } = url;
    if (method === 'GET' && path === '/log') return { status: 200, body: this.log() };
    const document = method === 'GET' ? documents[path] : undefined;
    if (document !== undefined) return { status: 200, body: document };
    if (method === 'POST' && path in SET_UP) {
      this.setUpFault = SET_UP[path];
      return { status: 204 };
    }
    const isForTopic = method === 'POST' && path === TOPIC_PATH;
    return network.reply(`${method} ${path}`, () =>
      isForTopic ? this.topic.take(request, url.searchParams, body) : carryOut(request, url, body),
    );
  }
}

type Listening = readonly [server: Server, url: string];

/** Longer than a client keeps a pooled connection: no connection is closed under a request. */
const KEEP_ALIVE_MS = 130_000;

export const listen = async (): Promise<Listening> => {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  return [server, `http://127.0.0.1:${await listenOn(server, 0)}`];
};
