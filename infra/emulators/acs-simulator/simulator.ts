import { randomBytes, randomUUID } from 'node:crypto';

import type { SimulatorOptions } from '../phone-network/phone-network.ts';
import { startSimulator } from '../phone-network/simulator.ts';
import { eventPoster } from './acs-call.ts';
import { callingApi } from './calling-api.ts';
import { createTokenSigner } from './token-signer.ts';

/** A running simulator of ACS Call Automation. */
export type AcsSimulator = Awaited<ReturnType<typeof startAcsSimulator>>;

const KEYS_PATH = '/calling/keys';

/**
 * Starts a simulator of ACS Call Automation on a free port of this machine. The real SDK talks to it, and it posts the callbacks of ACS, signed
 * with its own keys. It refuses what ACS refuses and logs it: a test can assert that the app made no such request. The last two digits of the
 * callee's number choose the scenario (phone-network/scenarios.ts).
 */
export const startAcsSimulator = async (options: SimulatorOptions = {}) => {
  const accessKey = randomBytes(32).toString('base64');
  const resourceId: string = randomUUID();
  const simulator = await startSimulator();
  const { url } = simulator;
  const signer = await createTokenSigner(url, resourceId);
  const { network, carryOut } = callingApi({ ...options, post: eventPoster(simulator.deliveries, signer) }, accessKey);
  simulator.serve({
    network,
    carryOut: (request, asked, body) =>
      asked.pathname === KEYS_PATH ? { status: 200, body: signer.keySet } : carryOut(request, asked, body),
  });
  return Object.assign(simulator, {
    /** For ACS_CONNECTION_STRING. */
    connectionString: `endpoint=${url}/;accesskey=${accessKey}`,
    /** For ACS_RESOURCE_ID: the audience of the callback tokens. */
    resourceId,
    /** For ACS_TOKEN_ISSUER. */
    issuer: url,
    /** For ACS_TOKEN_KEYS_URL. */
    keysUrl: `${url}${KEYS_PATH}`,
    /** Signs callback tokens, valid and invalid tokens. */
    signer,
  });
};
