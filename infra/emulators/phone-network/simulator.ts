import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

import { listenOn } from '../free-port.ts';
import { Deliveries } from './deliveries.ts';
import { EventTopic } from './event-topic.ts';
import type { PhoneNetwork, SetUpFault } from './phone-network.ts';
import type { Reply } from './reply.ts';

/** The provider that a simulator serves. */
interface Provider {
  readonly network: Pick<PhoneNetwork, 'setUpFault' | 'answer' | 'log' | 'stop'>;
  /** Carries out a request to the API. */
  readonly carryOut: (request: IncomingMessage, url: URL, body: string) => Reply;
}

const TOPIC_PATH = '/topic/api/events';

/** Paths that an operator posts to, to break the set-up of the app and to repair it. */
const SET_UP: Readonly<Record<string, SetUpFault | undefined>> = {
  '/set-up/401': 401,
  '/set-up/403': 403,
  '/set-up/number': 'number',
  '/set-up/right': undefined,
};

/** Longer than a client keeps a pooled connection: no connection is closed under a request. */
const KEEP_ALIVE_MS = 130_000;

/** A simulated provider, an Event Grid topic, and the log of both, on a port of this machine. */
export type Simulator = Omit<Awaited<ReturnType<typeof startSimulator>>, 'serve' | 'deliveries'>;

/** Listens on a free port. No request may come before `serve`. */
export const startSimulator = async () => {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  const url = `http://127.0.0.1:${await listenOn(server, 0)}`;
  const topic = new EventTopic(`${url}${TOPIC_PATH}`);
  const deliveries = new Deliveries();
  let provider: Provider;

  const log = () => ({ ...provider.network.log(), published: [...topic.published] });

  const replyTo = (request: IncomingMessage, body: string): Reply => {
    const { network, carryOut } = provider;
    const { method = '', url: target = '/' } = request;
    const asked = new URL(target, url);
    const { pathname: path } = asked;
    if (method === 'GET' && path === '/log') return { status: 200, body: log() };
    if (method === 'POST' && path in SET_UP) {
      network.setUpFault = SET_UP[path];
      return { status: 204 };
    }
    const isForTopic = method === 'POST' && path === TOPIC_PATH;
    return network.answer(`${method} ${path}`, () =>
      isForTopic ? topic.take(request, asked.searchParams, body) : carryOut(request, asked, body),
    );
  };

  server.on('request', (request, response) => {
    const reply = async (): Promise<void> => {
      const replied = replyTo(request, await text(request));
      if (replied === 'answer lost') request.socket.destroy();
      if (typeof replied === 'string') return;
      const { status, body, headers } = replied;
      response.writeHead(status, { ...(body && { 'content-type': 'application/json' }), ...headers });
      response.end(body && JSON.stringify(body));
    };
    // A client that gave up before the end of its request gets no answer.
    reply().catch(() => response.destroy());
  });

  return {
    /** Without a slash at its end. */
    url,
    topic,
    deliveries,
    serve: (served: Provider): void => {
      provider = served;
    },
    /** The steps of every call, the mistakes of the app, and the published events, repeats included. `GET /log` answers the same. */
    log,
    /** Fulfills when no callback is on its way, including callbacks after the end of a call. */
    settled: async () => deliveries.settled(),
    stop: async () => {
      provider.network.stop();
      await deliveries.stop();
      await new Promise((resolve) => server.close(resolve).closeAllConnections());
    },
  };
};
