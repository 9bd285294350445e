import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { Deliveries } from '../phone-network/deliveries.ts';
import type { Reply } from '../phone-network/http-answer.ts';
import {
  networkOptions,
  serveSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../phone-network/simulator-server.ts';
import { Account, type AccountOptions, errorBody } from './account.ts';
import type { TwilioCall } from './twilio-call.ts';
import { HttpWebhooks, signatureOf } from './webhooks.ts';

/** How to start the simulator. */
export interface TwilioSimulatorOptions extends SimulatorOptions, Partial<Pick<AccountOptions, 'callsPerSecond'>> {}

/** A running simulator of Twilio Programmable Voice. Its `url` is for TWILIO_API_BASE_URL. */
export interface TwilioSimulator extends Simulator {
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
  /** A call by its id. */
  find(sid: string): TwilioCall | undefined;
  /** The signature of a form that is posted to an address. */
  sign(url: string, form: Readonly<Record<string, string>>): string;
}

const NUMBER = '+12065550199';

const sid = (prefix: string): string => `${prefix}${randomBytes(16).toString('hex')}`;

/**
 * Starts a simulator of Twilio on a free port of this machine: the service and Twilio's own client talk to it, and it posts callbacks and fetches
 * instructions as Twilio does, signed. It refuses what Twilio refuses and keeps a list of it: a test can assert that there was no such request. The
 * callee's last two digits choose what happens (phone-network/scenarios.ts).
 *
 * @example
 * const twilio = await startTwilioSimulator();
 * const app = await startApp({ environment: (url) => testEnvironment({ TWILIO_API_BASE_URL: twilio.url, … }) });
 */
export const startTwilioSimulator = async ({
  callsPerSecond = Infinity,
  ...options
}: TwilioSimulatorOptions = {}): Promise<TwilioSimulator> => {
  const [accountSid, apiKeySid] = [sid('AC'), sid('SK')];
  const [apiKeySecret, authToken] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  const deliveries = new Deliveries();
  const account = new Account({
    ...networkOptions(options),
    accountSid,
    ownNumbers: [NUMBER],
    callsPerSecond,
    webhooks: new HttpWebhooks(deliveries, authToken),
  });
  const { network } = account;
  const logins = new Set(
    [`${apiKeySid}:${apiKeySecret}`, `${accountSid}:${authToken}`].map(
      (login) => `Basic ${Buffer.from(login).toString('base64')}`,
    ),
  );
  const reply = ({ method = '', url = '/', headers }: IncomingMessage, body: string): Reply => {
    const { pathname, searchParams: query } = new URL(url, 'http://simulator');
    const refuse = (status: number, code: number, reason: string): Reply => {
      network.complain(`${method} ${pathname}`, status, reason);
      return { status, body: errorBody(status, code, reason) };
    };
    const root = `/2010-04-01/Accounts/${accountSid}`;
    const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
    if (!logins.has(headers.authorization ?? '')) return refuse(401, 20_003, 'Authenticate');
    if (!pathname.startsWith(`${root}/`)) return refuse(404, 20_404, 'no such resource');
    if (method === 'POST' && !isForm) return refuse(400, 20_001, 'the body is no form');
    return account.reply({ method, path: pathname.slice(root.length), query, form: new URLSearchParams(body) });
  };
  const { simulator } = await serveSimulator(async () => Promise.resolve({ network, deliveries, reply }));
  return Object.assign(simulator, {
    accountSid,
    apiKeySid,
    apiKeySecret,
    authToken,
    number: NUMBER,
    find: (callSid: string) => network.find(callSid),
    sign: (address: string, form: Readonly<Record<string, string>>) => signatureOf(authToken, address, form),
  });
};
