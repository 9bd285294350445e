import { randomBytes } from 'node:crypto';

import type { SimulatorOptions } from '../phone-network/phone-network.ts';
import { Refusal } from '../phone-network/reply.ts';
import { startSimulator } from '../phone-network/simulator.ts';
import { Account } from './account.ts';
import type { Form } from './twilio-call.ts';
import { signatureOf, webhookPoster } from './webhooks.ts';

/** A running simulator of Twilio Programmable Voice. Its `url` is for TWILIO_API_BASE_URL. */
export type TwilioSimulator = Awaited<ReturnType<typeof startTwilioSimulator>>;

const NUMBER = '+12065550199';

const hex = (): string => randomBytes(16).toString('hex');
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/**
 * Starts a simulator of Twilio on a free port of this machine. The service and Twilio's own client talk to it. It posts callbacks and fetches
 * instructions as Twilio does, signed. It refuses what Twilio refuses and logs it: a test can assert that the app made no such request. The last
 * two digits of the callee's number choose the scenario (phone-network/scenarios.ts).
 */
export const startTwilioSimulator = async (options: SimulatorOptions = {}) => {
  const [accountSid, apiKeySid, apiKeySecret, authToken] = [`AC${hex()}`, `SK${hex()}`, hex(), hex()];
  const simulator = await startSimulator();
  const post = webhookPoster(simulator.deliveries, authToken);
  const account = new Account({ ...options, accountSid, ownNumber: NUMBER, post });
  const root = `/2010-04-01/Accounts/${accountSid}`;
  simulator.serve({
    network: account,
    carryOut: ({ method = '', headers }, { pathname, searchParams: query }, body) => {
      const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
      const logins = [basic(apiKeySid, apiKeySecret), basic(accountSid, authToken)];
      if (!logins.includes(headers.authorization ?? '')) throw new Refusal([401, 20_003], 'Authenticate');
      if (!pathname.startsWith(`${root}/`)) throw new Refusal([404, 20_404], 'no such resource');
      if (method === 'POST' && !isForm) throw new Refusal([400, 20_001], 'the body is no form');
      return account.reply({ method, path: pathname.slice(root.length), query, form: new URLSearchParams(body) });
    },
  });
  return Object.assign(simulator, {
    /** For TWILIO_ACCOUNT_SID. */
    accountSid,
    /** For TWILIO_API_KEY_SID. */
    apiKeySid,
    /** For TWILIO_API_KEY_SECRET. */
    apiKeySecret,
    /** For TWILIO_AUTH_TOKEN: signs the webhooks. */
    authToken,
    /** For TWILIO_SOURCE_PHONE_NUMBER. */
    number: NUMBER,
    /** The signature of a form that is posted to an address. */
    sign: (address: string, form: Form) => signatureOf(authToken, address, form),
  });
};
