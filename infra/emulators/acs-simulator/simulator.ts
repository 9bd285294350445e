import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { listenOn } from '../free-port.ts';
import { CallingApi, type CallingApiOptions } from './calling-api.ts';
import { Deliveries } from './deliveries.ts';
import { EventTopic } from './event-topic.ts';
import type { Pace } from './simulated-call.ts';
import type { SimulatorLog } from './story.ts';
import { createTokenSigner, type TokenSigner } from './token-signer.ts';
import { type Answer, send } from './wire.ts';

/** How to start the simulator. */
export interface AcsSimulatorOptions extends Partial<Pick<CallingApiOptions, 'print'>> {
  /** How long things take. The default is fast, for tests. */
  readonly pace?: Partial<Pace>;
  /** How many calls there may be at a time; as many as are asked for where it is not given. ACS gives a new number two. */
  readonly lines?: number;
}

/** A running simulator of ACS Call Automation. */
export interface AcsSimulator {
  /** For ACS_CONNECTION_STRING. */
  readonly connectionString: string;
  /** For ACS_RESOURCE_ID: the audience of the callback tokens. */
  readonly resourceId: string;
  /** For ACS_TOKEN_ISSUER. */
  readonly issuer: string;
  /** For ACS_TOKEN_KEYS_URL. */
  readonly keysUrl: string;
  /** Without a slash at its end. */
  readonly url: string;
  /** Signs callback tokens, valid and invalid ones. */
  readonly signer: TokenSigner;
  /** While true, a request for the keys of the tokens is answered with 503. */
  keysDown: boolean;
  /** An Event Grid topic, and what it does with what is published. */
  readonly topic: Pick<EventTopic, 'endpoint' | 'key' | 'mood'>;
  /** What happened so far; `GET /log` answers the same. */
  log(): SimulatorLog;
  /** Fulfils when no callback is on its way, nor one that follows the end of a call. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const KEEP_ALIVE_MS = 130_000;
const PACE: Pace = { ringMs: 30, eventMs: 10, speakMs: 60 };
const TOPIC_PATH = '/topic/api/events';
const KEYS_PATH = '/calling/keys';

/**
 * Starts a simulator of ACS Call Automation on a free port of this machine: the real SDK talks to it, and it posts the callbacks that ACS
 * posts, signed with keys of its own. It is strict: it refuses what ACS refuses and keeps a list of it, so that a test can assert that
 * there was no such request. The callee's last two digits choose what happens (scenarios.ts).
 *
 * @example
 * const acs = await startAcsSimulator();
 * const app = await startApp({ environment: (url) => testEnvironment({ ACS_CONNECTION_STRING: acs.connectionString, … }) });
 */
export const startAcsSimulator = async ({
  pace,
  lines = Infinity,
  print = () => undefined,
}: AcsSimulatorOptions = {}): Promise<AcsSimulator> => {
  const accessKey = randomBytes(32).toString('base64');
  const resourceId = randomUUID();
  // No client's pooled connection is closed just as it sends its next request.
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  const url = `http://127.0.0.1:${await listenOn(server, 0)}`;
  const signer = await createTokenSigner(url, resourceId);
  const deliveries = new Deliveries(signer);
  const calls = { accessKey, pace: { ...PACE, ...pace }, lines, deliveries, print };
  const api = new CallingApi(calls);
  const topic = new EventTopic(`${url}${TOPIC_PATH}`);
  let keyFetches = 0;
  const log = (): SimulatorLog => ({ ...api.log(), published: [...topic.published], keyFetches });

  const acs: AcsSimulator = {
    connectionString: `endpoint=${url}/;accesskey=${accessKey}`,
    resourceId,
    issuer: url,
    keysUrl: `${url}${KEYS_PATH}`,
    url,
    signer,
    keysDown: false,
    topic,
    log,
    settled: () => deliveries.settled(),
    stop: async () => {
      api.stop();
      await deliveries.stop();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
  const answerOpen = (path: string): Answer | undefined => {
    if (path === '/log') return { status: 200, body: log() };
    if (path === '/calling/.well-known/acsopenidconfiguration') {
      return { status: 200, body: { issuer: url, jwks_uri: acs.keysUrl } };
    }
    if (path !== KEYS_PATH) return undefined;
    keyFetches += 1;
    return acs.keysDown ? { status: 503 } : { status: 200, body: signer.keySet };
  };
  server.on('request', (request, response) => {
    const { method, url: path = '' } = request;
    const open = method === 'GET' ? answerOpen(path) : undefined;
    if (open !== undefined) return send(response, open);
    const handled =
      method === 'POST' && path.startsWith(TOPIC_PATH)
        ? topic.handle(request, response, (status, reason) => api.refuse(request, status, reason))
        : api.handle(request, response);
    // A client that gave up before the end of its request gets no answer.
    handled.catch(() => response.destroy());
  });
  return acs;
};
