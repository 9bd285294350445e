import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

import { listenOn } from '../free-port.ts';
import type { Deliveries } from './deliveries.ts';
import { EventTopic } from './event-topic.ts';
import { type Answer, type Reply, send } from './http-answer.ts';
import type { PhoneCall } from './phone-call.ts';
import type { NetworkOptions, PhoneNetwork, SetUpFault } from './phone-network.ts';
import type { SimulatorLog } from './story.ts';

/** What every simulator can be told when it starts. */
export interface SimulatorOptions extends Partial<Omit<NetworkOptions, 'pace'>> {
  /** How long things take. The default is fast, for tests. */
  readonly pace?: Partial<NetworkOptions['pace']>;
}

/** What every running simulator has. */
export interface Simulator {
  /** Without a slash at its end. */
  readonly url: string;
  /** An Event Grid topic, and what it does with what is published. */
  readonly topic: Pick<EventTopic, 'endpoint' | 'key' | 'mood'>;
  /** How the provider refuses everything, the check of the provider too; undefined: it does not. */
  setUpFault: SetUpFault | undefined;
  /** What happened so far; `GET /log` answers the same. */
  log(): SimulatorLog;
  /** Fulfils when no callback is on its way, nor one that follows the end of a call. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const KEEP_ALIVE_MS = 130_000;
const TOPIC_PATH = '/topic/api/events';

/** By hand: what sets the app's set-up wrong, and right again. */
const SET_UP: Readonly<Record<string, SetUpFault | undefined>> = {
  '/set-up/401': 401,
  '/set-up/403': 403,
  '/set-up/number': 'number',
  '/set-up/right': undefined,
};

/** The options of a network, with the defaults of tests: fast, and with as many lines as are asked for. */
export const networkOptions = ({ pace, ...options }: SimulatorOptions): NetworkOptions => ({
  lines: Infinity,
  whenFull: 'refuses',
  print: () => undefined,
  ...options,
  pace: { ringMs: 30, eventMs: 10, speakMs: 60, ...pace },
});

/** What a simulator serves beside its log and its topic. */
export interface Served<Call extends PhoneCall> {
  readonly network: PhoneNetwork<Call>;
  readonly deliveries: Deliveries;
  /** A request of the provider's API. */
  readonly reply: (request: IncomingMessage, body: string) => Reply;
  /** What anybody may get; undefined: nothing. */
  readonly open?: (path: string) => Answer | undefined;
  readonly keyFetches?: () => number;
}

/** Serves a simulated telephone network on a free port of this machine. @param make gets the URL */
export const serveSimulator = async <Call extends PhoneCall, Parts extends Served<Call>>(
  make: (url: string) => Promise<Parts>,
): Promise<{ readonly simulator: Simulator; readonly parts: Parts }> => {
  // No client's pooled connection is closed just as it sends its next request.
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  const url = `http://127.0.0.1:${await listenOn(server, 0)}`;
  const parts = await make(url);
  const { network, deliveries, reply, open, keyFetches } = parts;
  const topic = new EventTopic(`${url}${TOPIC_PATH}`);
  const log = (): SimulatorLog => network.log(topic, keyFetches?.());
  server.on('request', (request, response) => {
    const { method = '', url: path = '' } = request;
    const found = method === 'GET' ? (path === '/log' ? { status: 200, body: log() } : open?.(path)) : undefined;
    if (found !== undefined) return send(response, found);
    if (method === 'POST' && path in SET_UP) {
      network.setUpFault = SET_UP[path];
      return send(response, { status: 204 });
    }
    const handled =
      method === 'POST' && path.startsWith(TOPIC_PATH)
        ? topic.handle(request, response, (status, reason) => network.complain(`${method} ${path}`, status, reason))
        : text(request).then((body) => {
            const answer = reply(request, body);
            if (answer === 'answer lost') request.socket.destroy();
            else if (answer !== 'hangs') send(response, answer);
          });
    // A client that gave up before the end of its request gets no answer.
    handled.catch(() => response.destroy());
    return undefined;
  });
  const simulator: Simulator = {
    url,
    topic,
    get setUpFault() {
      return network.setUpFault;
    },
    set setUpFault(fault) {
      network.setUpFault = fault;
    },
    log,
    settled: async () => deliveries.settled(),
    stop: async () => {
      network.stop();
      await deliveries.stop();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
  return { simulator, parts };
};
