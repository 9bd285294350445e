import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

import { EventTopic } from '../acs-simulator/event-topic.ts';
import type { SimulatorLog } from '../acs-simulator/story.ts';
import { send } from '../acs-simulator/wire.ts';
import { listenOn } from '../free-port.ts';
import { Account, type AccountOptions, errorBody } from './account.ts';
import type { Pace, SimulatedCall } from './simulated-call.ts';
import { HttpWebhooks, signatureOf } from './webhooks.ts';

/** How to start the simulator. */
export interface TwilioSimulatorOptions extends Partial<Pick<AccountOptions, 'print' | 'lines' | 'callsPerSecond'>> {
  /** How long things take. The default is fast, for tests. */
  readonly pace?: Partial<Pace>;
}

/** A running simulator of Twilio Programmable Voice. */
export interface TwilioSimulator {
  /** For TWILIO_API_BASE_URL; without a slash at its end. */
  readonly url: string;
  /** For TWILIO_ACCOUNT_SID. */
  readonly accountSid: string;
  /** For TWILIO_API_KEY_SID. */
  readonly apiKeySid: string;
  /** For TWILIO_API_KEY_SECRET. */
  readonly apiKeySecret: string;
  /** For TWILIO_AUTH_TOKEN: signs what is posted. */
  readonly authToken: string;
  /** For TWILIO_SOURCE_PHONE_NUMBER. */
  readonly number: string;
  /** An Event Grid topic, and what it does with what is published. */
  readonly topic: Pick<EventTopic, 'endpoint' | 'key' | 'mood'>;
  /** What happened so far; `GET /log` answers the same. */
  log(): SimulatorLog;
  /** A call by its id. */
  find(sid: string): SimulatedCall | undefined;
  /** The signature of a form that is posted to an address. */
  sign(url: string, form: Readonly<Record<string, string>>): string;
  /** Fulfils when no callback is on its way. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const KEEP_ALIVE_MS = 130_000;
const PACE: Pace = { ringMs: 30, eventMs: 10, speakMs: 60, secondMs: 1_000 };
const TOPIC_PATH = '/topic/api/events';
const NUMBER = '+12065550199';

const sid = (prefix: string): string => `${prefix}${randomBytes(16).toString('hex')}`;

/**
 * Starts a simulator of Twilio on a free port of this machine: the service and Twilio's own client talk to it, and it asks for instructions and posts
 * callbacks as Twilio does, signed. It is strict: it refuses what Twilio refuses and keeps a list of it, so that a test can assert that there was
 * no such request. The callee's last two digits choose what happens, as in the simulator of Communication Services (scenarios.ts).
 *
 * @example
 * const twilio = await startTwilioSimulator();
 * const app = await startApp({ environment: (url) => testEnvironment({ TWILIO_API_BASE_URL: twilio.url, … }) });
 */
export const startTwilioSimulator = async ({
  pace,
  lines = Infinity,
  callsPerSecond = Infinity,
  print = () => undefined,
}: TwilioSimulatorOptions = {}): Promise<TwilioSimulator> => {
  const [accountSid, apiKeySid] = [sid('AC'), sid('SK')];
  const [apiKeySecret, authToken] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  // No client's pooled connection is closed just as it sends its next request.
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  const url = `http://127.0.0.1:${await listenOn(server, 0)}`;
  const webhooks = new HttpWebhooks(authToken);
  const account = new Account({
    accountSid,
    ownNumbers: [NUMBER],
    pace: { ...PACE, ...pace },
    lines,
    callsPerSecond,
    webhooks,
    print,
  });
  const topic = new EventTopic(`${url}${TOPIC_PATH}`);
  const log = (): SimulatorLog => ({
    calls: account.calls.map((call) => call.told()),
    refused: account.refused,
    turnedAway: account.turnedAway,
    published: [...topic.published],
    keyFetches: 0,
  });
  const logins = new Set(
    [`${apiKeySid}:${apiKeySecret}`, `${accountSid}:${authToken}`].map(
      (login) => `Basic ${Buffer.from(login).toString('base64')}`,
    ),
  );

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', headers } = request;
    const asked = new URL(request.url ?? '/', url);
    const body = await textOf(request);
    const refuse = (status: number, code: number, reason: string): void => {
      account.refuse(`${method} ${asked.pathname}`, status, reason);
      send(response, { status, body: errorBody(status, code, reason) });
    };
    if (!logins.has(headers.authorization ?? '')) return refuse(401, 20_003, 'Authenticate');
    const root = `/2010-04-01/Accounts/${accountSid}`;
    if (!asked.pathname.startsWith(`${root}/`)) return refuse(404, 20_404, 'no such resource');
    const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
    if (method === 'POST' && !isForm) return refuse(400, 20_001, 'the body is no form');
    const reply = account.reply({
      method,
      path: asked.pathname.slice(root.length),
      query: asked.searchParams,
      form: new URLSearchParams(body),
    });
    if (reply === 'hangs') return undefined;
    if (reply === 'answer lost') request.socket.destroy();
    else send(response, reply);
    return undefined;
  };
  server.on('request', (request, response) => {
    const { method, url: path = '' } = request;
    if (method === 'GET' && path === '/log') return send(response, { status: 200, body: log() });
    const handled =
      method === 'POST' && path.startsWith(TOPIC_PATH)
        ? topic.handle(request, response, (status, reason) => account.refuse(`${method} ${path}`, status, reason))
        : handle(request, response);
    // A client that gave up before the end of its request gets no answer.
    handled.catch(() => response.destroy());
  });
  return {
    url,
    accountSid,
    apiKeySid,
    apiKeySecret,
    authToken,
    number: NUMBER,
    topic,
    log,
    find: (callSid) => account.calls.find((call) => call.sid === callSid),
    sign: (address, form) => signatureOf(authToken, address, form),
    settled: () => webhooks.settled(),
    stop: async () => {
      account.stop();
      await webhooks.stop();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
};
