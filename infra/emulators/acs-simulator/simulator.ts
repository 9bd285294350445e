import { randomBytes, randomUUID } from 'node:crypto';

import { Deliveries } from '../phone-network/deliveries.ts';
import type { Answer } from '../phone-network/http-answer.ts';
import { PhoneNetwork } from '../phone-network/phone-network.ts';
import {
  networkOptions,
  serveSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../phone-network/simulator-server.ts';
import { type AcsCall, postEvents } from './acs-call.ts';
import { CallingApi } from './calling-api.ts';
import { createTokenSigner, type TokenSigner } from './token-signer.ts';

/** How to start the simulator. ACS gives a new number two lines. */
export type AcsSimulatorOptions = SimulatorOptions;

/** A running simulator of ACS Call Automation. */
export interface AcsSimulator extends Simulator {
  /** For ACS_CONNECTION_STRING. */
  readonly connectionString: string;
  /** For ACS_RESOURCE_ID: the audience of the callback tokens. */
  readonly resourceId: string;
  /** For ACS_TOKEN_ISSUER. */
  readonly issuer: string;
  /** For ACS_TOKEN_KEYS_URL. */
  readonly keysUrl: string;
  /** Signs callback tokens, valid and invalid ones. */
  readonly signer: TokenSigner;
  /** While true, a request for the keys of the tokens is answered with 503. */
  keysDown: boolean;
}

const KEYS_PATH = '/calling/keys';

/**
 * Starts a simulator of ACS Call Automation on a free port of this machine: the real SDK talks to it, and it posts the callbacks that ACS
 * posts, signed with keys of its own. It refuses what ACS refuses and keeps a list of it: a test can assert that there was no such request. The
 * callee's last two digits choose what happens (phone-network/scenarios.ts).
 *
 * @example
 * const acs = await startAcsSimulator();
 * const app = await startApp({ environment: (url) => testEnvironment({ ACS_CONNECTION_STRING: acs.connectionString, … }) });
 */
export const startAcsSimulator = async (options: AcsSimulatorOptions = {}): Promise<AcsSimulator> => {
  const accessKey = randomBytes(32).toString('base64');
  const resourceId = randomUUID();
  let keyFetches = 0;
  const { simulator, parts } = await serveSimulator(async (url) => {
    const signer = await createTokenSigner(url, resourceId);
    const deliveries = new Deliveries();
    const network = new PhoneNetwork<AcsCall>(networkOptions(options));
    const api = new CallingApi(
      network,
      accessKey,
      postEvents(deliveries, async () => signer.sign()),
    );
    return {
      signer,
      deliveries,
      network,
      reply: (request: Parameters<CallingApi['reply']>[0], body: string) => api.reply(request, body),
      open: (path: string): Answer | undefined => {
        if (path !== KEYS_PATH) return undefined;
        keyFetches += 1;
        return acs.keysDown ? { status: 503 } : { status: 200, body: signer.keySet };
      },
      keyFetches: () => keyFetches,
    };
  });
  const { url } = simulator;
  const acs: AcsSimulator = Object.assign(simulator, {
    connectionString: `endpoint=${url}/;accesskey=${accessKey}`,
    resourceId,
    issuer: url,
    keysUrl: `${url}${KEYS_PATH}`,
    signer: parts.signer,
    keysDown: false,
  });
  return acs;
};
