import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';

import { CallingApi } from './calling-api.ts';
import { Deliveries } from './deliveries.ts';
import { EventTopic, TOPIC_PATH, type TopicMood } from './event-topic.ts';
import { type Answer, send } from './http-exchange.ts';
import { Lines, type WhenLinesAreTaken } from './lines.ts';
import type { Pace } from './simulated-call.ts';
import type { SimulatorLog } from './story.ts';
import { createTokenSigner, type TokenSigner } from './token-signer.ts';

/** How to start the simulator. */
export interface AcsSimulatorOptions {
  /** The port of 127.0.0.1 to listen on; a free one where it is not given. */
  readonly port?: number;
  /** How long things take. The default is fast, for tests. */
  readonly pace?: Partial<Pace>;
  /** How many calls there may be at a time; as many as are asked for where it is not given. ACS gives a new number two. */
  readonly lines?: number;
  /** What becomes of a request for one call more than that; a 429 without Retry-After where it is not given. */
  readonly whenLinesAreTaken?: WhenLinesAreTaken;
  /** False where a request with a repeatability id of before is carried out again; true where it is not given. */
  readonly honoursRepeatabilityIds?: boolean;
  /** How often a callback is posted that is not accepted, at most; 3 where it is not given. Microsoft does not publish it. */
  readonly deliveryAttempts?: number;
  /** Gets a line for everything that a callee hears and does. */
  readonly print?: (line: string) => void;
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
  /** When each call's last request to speak arrived, in milliseconds since 1970, with fractions; by the call's id. */
  readonly playsAt: ReadonlyMap<string, number>;
  /** While true, a request for the keys of the tokens is answered with 503. */
  keysDown: boolean;
  /** An Event Grid topic: for EVENT_TOPIC_ENDPOINT and EVENT_TOPIC_KEY, and what it does with what is published. */
  readonly topic: { readonly endpoint: string; readonly key: string; mood: TopicMood };
  /** What happened so far; `GET /log` answers the same. */
  log(): SimulatorLog;
  /** Fulfils when no callback is on its way. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const PACE: Pace = { ringMs: 30, eventMs: 10, speakMs: 60 };

/**
 * Starts a simulator of ACS Call Automation on this machine: the real SDK talks to it, and it posts the callbacks that ACS posts,
 * signed with keys of its own. It is strict: it refuses what ACS refuses and keeps a list of it, so that a test can assert that there
 * was no such request. The callee's last two digits choose what happens (scenarios.ts).
 *
 * @example
 * const acs = await startAcsSimulator();
 * const app = await startApp({ environment: (url) => testEnvironment({ ACS_CONNECTION_STRING: acs.connectionString, … }) });
 */
export const startAcsSimulator = async (options: AcsSimulatorOptions = {}): Promise<AcsSimulator> => {
  const { lines = Infinity, whenLinesAreTaken = '429', honoursRepeatabilityIds = true, deliveryAttempts = 3 } = options;
  const accessKey = randomBytes(32).toString('base64');
  const resourceId = randomUUID();
  const server = createServer();
  const port = await listen(server, options.port ?? 0);
  const url = `http://127.0.0.1:${port}`;
  const signer = await createTokenSigner(url, resourceId);
  const deliveries = new Deliveries(signer, deliveryAttempts);
  const api = new CallingApi({
    accessKey,
    pace: { ...PACE, ...options.pace },
    lines: new Lines(lines, whenLinesAreTaken),
    honoursRepeatabilityIds,
    deliveries,
    print: options.print ?? (() => undefined),
  });
  const keys = { down: false, fetches: 0 };
  const topic = new EventTopic((request, status, reason) => api.refuse(request, status, reason));
  const log = (): SimulatorLog => ({ ...api.log(), published: [...topic.published], keyFetches: keys.fetches });

  const answerOpen = (path: string): Answer | undefined => {
    if (path === '/log') return { status: 200, body: log() };
    if (path === '/calling/.well-known/acsopenidconfiguration') {
      return { status: 200, body: { issuer: url, jwks_uri: `${url}/calling/keys` } };
    }
    if (path !== '/calling/keys') return undefined;
    keys.fetches += 1;
    return keys.down ? { status: 503 } : { status: 200, body: signer.keySet };
  };
  server.on('request', (request, response) => {
    const open = request.method === 'GET' ? answerOpen(request.url ?? '') : undefined;
    if (open !== undefined) send(response, open);
    else if (request.method === 'POST' && request.url?.startsWith(TOPIC_PATH) === true) {
      void topic.handle(request, response);
    } else void api.handle(request, response);
  });
  return {
    connectionString: `endpoint=${url}/;accesskey=${accessKey}`,
    resourceId,
    issuer: url,
    keysUrl: `${url}/calling/keys`,
    url,
    signer,
    playsAt: api.playsAt,
    get keysDown() {
      return keys.down;
    },
    set keysDown(down) {
      keys.down = down;
    },
    topic: {
      endpoint: `${url}${TOPIC_PATH}`,
      key: topic.key,
      get mood() {
        return topic.mood;
      },
      set mood(mood) {
        topic.mood = mood;
      },
    },
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
};

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address.port);
      else reject(new Error('The simulator has no port.'));
    });
  });
